import { rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  cacheDirectory,
  describeExit,
  lastLines,
  startProcess,
  type ProcessHandle,
  type ProcessSpec,
} from '@coxswain/local-cluster';

/** A command that set-up waits for. */
export interface SetupCommand extends Pick<ProcessSpec, 'command' | 'args' | 'env' | 'cwd'> {
  readonly name: string;
}

const running = new Set<ProcessHandle>();

/**
 * Runs a command to its end; nothing of it survives this process. Its log lies in the cache, under the command's name.
 * Rejects with the last lines of that log when the command fails.
 */
export async function runCommand(command: SetupCommand): Promise<void> {
  const logPath = join(cacheDirectory(), 'logs', `${command.name.replaceAll(/\W+/g, '-')}.log`);
  rmSync(logPath, { force: true });
  const started = await startProcess({ ...command, logPath });
  running.add(started);
  const exit = await started.exited;
  running.delete(started);
  if (exit.code !== 0) {
    throw new Error(`${command.name} failed (${describeExit(exit)}); the end of ${logPath}:\n${lastLines(logPath)}`);
  }
}

/** Stops every running command; waits for one of them reject. */
export async function stopCommands(): Promise<void> {
  await Promise.all([...running].map((command) => command.stop({ graceMs: 2_000 })));
}
