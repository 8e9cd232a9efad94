/** Runs a converter of an engine as a process of its own: bounded in time, and ended with all processes that it started. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** What to run, where, and how long. */
export interface ConverterRun {
  readonly command: readonly string[];
  /** Working directory, which also holds what the converter writes for itself. */
  readonly directory: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly limitMs: number;
  readonly signal: AbortSignal;
  /** Called every {@link PROGRESS_MS}. */
  readonly onTick: () => void;
}

const PROGRESS_MS = 10_000;
/** Its last output, for the error. */
const TAIL_CHARACTERS = 4096;
const MAX_REASON_CHARACTERS = 300;

/** Variables of a rank. A converter is no rank, and needs no GPU. */
const LEFT_OUT = new Set(['RANK', 'LOCAL_RANK', 'WORLD_SIZE', 'LOCAL_WORLD_SIZE', 'MASTER_ADDR', 'MASTER_PORT']);

/**
 * Settles when the converter has ended well.
 * @throws Error with the reason that its output gives.
 */
export async function runConverter(run: ConverterRun): Promise<void> {
  const { command, directory, limitMs, signal, onTick } = run;
  signal.throwIfAborted();
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    cwd: directory,
    env: environmentOf(run),
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own: its workers end with it.
    detached: true,
  });
  let tail = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (tail = (tail + text).slice(-TAIL_CHARACTERS)));
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), limitMs);
  const ticks = setInterval(onTick, PROGRESS_MS);
  const end = (): void => endGroup(child.pid);
  for (const one of [signal, late.signal]) one.addEventListener('abort', end);
  try {
    const [code, killedBy] = (await once(child, 'close').catch((error: unknown) => {
      throw new Error(`${program} cannot be started in this image: ${String(error)}`, { cause: error });
    })) as [number | null, NodeJS.Signals | null];
    signal.throwIfAborted();
    if (late.signal.aborted)
      throw new Error(`The converter took longer than ${String(Math.ceil(limitMs / 60_000))} min.`);
    if (code !== 0)
      throw new Error(`The converter ended with ${killedBy ?? `code ${String(code)}`}: ${reasonIn(tail)}`);
  } finally {
    clearTimeout(timer);
    clearInterval(ticks);
    signal.removeEventListener('abort', end);
    end();
  }
}

function environmentOf({ environment, directory }: ConverterRun): NodeJS.ProcessEnv {
  const kept = Object.entries(environment).filter(([name]) => !LEFT_OUT.has(name) && !name.startsWith('COXSWAIN_'));
  return {
    ...Object.fromEntries(kept),
    DS_ACCELERATOR: 'cpu',
    CUDA_VISIBLE_DEVICES: '',
    OMP_NUM_THREADS: '1',
    PYTHONUNBUFFERED: '1',
    TMPDIR: directory,
    TRITON_CACHE_DIR: `${directory}/triton`,
  };
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}

/** Python prints its error last; the lines above it are the stack. */
function reasonIn(tail: string): string {
  const lines = tail.split(/[\r\n]+/).filter((line) => line.trim() !== '');
  const error = lines.findLast((line) => /^[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Pool)\b/.test(line));
  return (error ?? lines.at(-1) ?? 'it printed nothing').trim().slice(0, MAX_REASON_CHARACTERS);
}
