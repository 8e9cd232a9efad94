/** What others say of a save: `coxswain checkpoint`, and the library that loads it. */
import { findEnginePython, lookUpUpstreamPython, torchExtensionsDirectory } from '@coxswain/local-cluster';
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { DamagedEngine } from './engines.ts';

const ROOT = join(import.meta.dirname, '../..');
const CLI = join(ROOT, 'apps/cli/bin/coxswain.mjs');
const run = promisify(execFile);

/** What `coxswain checkpoint show` or `verify` prints as JSON, as much as is read. */
export interface SaidByCli {
  readonly exitCode: number;
  readonly format?: string;
  readonly verdict: string;
  readonly findings: readonly { readonly level: string; readonly kind: string; readonly sentence: string }[];
  readonly state?: {
    readonly tensors: readonly { readonly key: string; readonly dtype: string; readonly shape: readonly number[] }[];
    readonly facts?: { readonly step?: number; readonly worldSize?: number };
  };
}

/** Runs the command as a user does. */
export async function checkpointCommand(args: readonly string[]): Promise<SaidByCli> {
  const command = [CLI, 'checkpoint', ...args, '--output', 'json'];
  try {
    const { stdout } = await run(process.execPath, command, { maxBuffer: 64 << 20 });
    return { exitCode: 0, ...(JSON.parse(stdout) as Omit<SaidByCli, 'exitCode'>) };
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: number; stdout?: string; stderr?: string };
    if (stdout === undefined || stdout === '') throw new Error(`${command.join(' ')}: ${stderr ?? String(error)}`);
    return { exitCode: code ?? 1, ...(JSON.parse(stdout) as Omit<SaidByCli, 'exitCode'>) };
  }
}

/** What the library found; `error` if it refused the save. */
export interface Loaded {
  readonly directory: string;
  readonly error?: string;
  readonly format?: string;
  readonly tensors?: number;
  readonly bytes?: number;
  readonly dtypes?: Readonly<Record<string, number>>;
  readonly sum?: number;
  readonly objects?: number;
  readonly step?: number;
  readonly worldSize?: number;
  readonly release?: string;
  readonly moments?: number;
}

/** Loads the saves one after the other, in one process. */
export async function loadSaves(
  { library }: Pick<DamagedEngine, 'library'>,
  directories: readonly string[],
): Promise<readonly Loaded[]> {
  const python = library === 'dcp' ? findEnginePython() : (lookUpUpstreamPython() ?? findEnginePython());
  const program = join(ROOT, 'engines/judges/saves/load_saves.py');
  const { stdout } = await run(python, [program, library, ...directories], {
    maxBuffer: 16 << 20,
    env: {
      ...process.env,
      PATH: `${dirname(python)}:${process.env['PATH'] ?? ''}`,
      OMP_NUM_THREADS: '1',
      DS_ACCELERATOR: 'cpu',
      TORCH_EXTENSIONS_DIR: torchExtensionsDirectory(),
      HF_HUB_OFFLINE: '1',
    },
  });
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{"directory"'))
    .map((line) => JSON.parse(line) as Loaded);
}
