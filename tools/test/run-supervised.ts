import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startProcess, type ProcessExit, type ProcessHandle } from '@coxswain/local-cluster';

/** The root of the repository. */
export const ROOT = join(import.meta.dirname, '../..');

/** A command of the test run; what it prints goes to standard error. */
export interface TestCommand {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** A file that the command writes when it is done; it must end soon after. */
  readonly report?: string;
  /** Others come first: it takes the time of the cores that they leave. */
  readonly yields?: boolean;
}

/**
 * Where Linux groups processes by session for its scheduler, niceness counts within a group alone, and the group has
 * one of its own; elsewhere the first half does nothing.
 */
const YIELD = 'echo 5 >/proc/self/autogroup 2>/dev/null; exec nice -n 5 "$@"';

/** On a machine with many busy programs, pytest needed more than a minute to end its last children. */
const LINGER_MS = 240_000;
const running = new Set<ProcessHandle>();

/**
 * Runs a command to its end and gives how it ended; undefined when it wrote its report but something kept it alive, and
 * it had to be killed. Its process tree ends with it, and with this process.
 */
export async function runSupervised(command: TestCommand): Promise<ProcessExit | undefined> {
  const env = { ...process.env, ...command.env };
  const yielding = { command: 'sh', args: ['-c', YIELD, 'sh', command.command, ...command.args] };
  const started = await startProcess({ ...command, ...(command.yields === true && yielding), env, cwd: ROOT });
  running.add(started);
  try {
    return command.report === undefined ? await started.exited : await endsAfterReport(started, command.report);
  } finally {
    running.delete(started);
  }
}

async function endsAfterReport(started: ProcessHandle, report: string): Promise<ProcessExit | undefined> {
  const watch = new AbortController();
  const lingering = (async () => {
    while (!existsSync(report)) {
      await delay(500, undefined, { signal: watch.signal });
    }
    await delay(LINGER_MS, undefined, { signal: watch.signal });
  })();
  const exit = await Promise.race([started.exited, lingering.catch(() => undefined)]);
  watch.abort();
  if (exit === undefined) {
    await started.stop({ graceMs: 2_000 });
  }
  return exit ?? undefined;
}

/** Ends whatever runs, politely. */
export async function stopRunning(): Promise<void> {
  await Promise.all([...running].map((handle) => handle.stop({ graceMs: 5_000 })));
}
