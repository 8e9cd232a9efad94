/** Runs an engine on CPU ranks, and the launcher's conversion between two runs. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConversionAnswer, type ConversionOrder } from '@coxswain/api-types';

const ROOT = join(import.meta.dirname, '../..');
const LIMIT_MS = 600_000;
const TAIL_CHARACTERS = 4000;

/** How a program ended, and what it printed. */
export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a program to its end. All its processes end by SIGKILL once its output matches `killAt`. */
export async function runProgram(
  command: readonly string[],
  environment: NodeJS.ProcessEnv,
  killAt?: RegExp,
): Promise<Ended> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LIMIT_MS,
    detached: killAt !== undefined,
    env: { ...process.env, OMP_NUM_THREADS: '1', ...environment },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (killAt?.test(output) === true && child.pid !== undefined && !child.killed) {
        child.kill('SIGKILL');
        process.kill(-child.pid, 'SIGKILL');
      }
    });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

/** What the engine runs with. */
export interface Training {
  readonly python: string;
  readonly ranks: number;
  /** Program and arguments, or `-m` and a module. */
  readonly program: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** Output after which all ranks are killed. Absent: the program ends itself. */
  readonly killAt?: RegExp;
}

/** Losses by step. The engine has to end well, or, if it kills itself, in any other way. */
export async function train(
  { python, ranks, program, environment, killAt }: Training,
  { isKilled = false } = {},
): Promise<ReadonlyMap<number, number>> {
  const rendezvous = ['--rdzv-backend', 'c10d', '--rdzv-endpoint', 'localhost:0'];
  const torchrun = [python, '-m', 'torch.distributed.run', '--nproc-per-node', String(ranks), ...rendezvous];
  const { code, output } = await runProgram([...torchrun, ...program], environment, killAt);
  if ((code === 0) === isKilled)
    throw new Error(`${program.join(' ')} ended with code ${String(code)}:\n${output.slice(-TAIL_CHARACTERS)}`);
  return lossesIn(output);
}

/** `{"step": 3, "loss": 5.1}` of DeepSpeed's program; `step 3/12  loss 5.1000` of the reference engine; `step:  3  loss:  5.1` of TorchTitan. */
const LOSS_LINES = [
  /"step": (\d+), "loss": ([\d.e-]+)/g,
  /^step (\d+)\/\d+ {2}loss ([\d.]+)/gm,
  /step: +(\d+) +loss: +([\d.]+)/g,
];

/** Losses by step, of the lines that ranks printed. */
export function lossesIn(output: string): ReadonlyMap<number, number> {
  const lines = LOSS_LINES.flatMap((pattern) => [...output.matchAll(pattern)]);
  return new Map(lines.map(([, step, loss]) => [Number(step), Number(loss)]));
}

/** Converts as the pod of a conversion does. `python3` of the conversion is that of `pythonFolder`. */
export async function convert(order: ConversionOrder, pythonFolder: string): Promise<ConversionAnswer> {
  mkdirSync(join(order.target, '..'), { recursive: true });
  const log = `${order.target}.answer`;
  const { code, output } = await runProgram(
    [process.execPath, join(ROOT, 'apps/launcher/src/main.ts'), 'convert-checkpoint'],
    {
      PATH: `${pythonFolder}:${process.env['PATH'] ?? ''}`,
      COXSWAIN_CONVERSION: JSON.stringify(order),
      COXSWAIN_TERMINATION_LOG: log,
    },
  );
  if (code !== 0) throw new Error(output.slice(-TAIL_CHARACTERS));
  return ConversionAnswer.parse(JSON.parse(readFileSync(log, 'utf8')));
}
