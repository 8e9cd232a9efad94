/** Engines of others (TorchTitan, DeepSpeed, Hugging Face, ft_launcher), for the tests that run them on CPU ranks. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import {
  ENGINE_PYTHON_COMPLETE,
  enginePythonDirectory,
  findEnginePython,
  lookUpUpstreamPython,
  onPath,
  torchExtensionsDirectory,
  UPSTREAM_LOCK,
  upstreamPythonDirectory,
  withLock,
} from '@coxswain/local-cluster';
import type { Task } from './estimate.ts';
import type { Progress } from './progress.ts';
import { ensureEnginePython, pip, refuseFullDisk } from './python.ts';
import { runCommand } from './run-command.ts';

const NEEDED_BYTES = 2e9;
/** Beside the index: DeepSpeed is released as sources alone, which are built with what the layer below has. */
const BUILT_HERE = 'deepspeed';

/** Makes their Python environment: a layer above the engines' own, so that PyTorch is there once. */
export async function ensureUpstreamEngines(progress: Progress): Promise<void> {
  await ensureEnginePython(progress);
  if (lookUpUpstreamPython() !== undefined) return;
  await withLock('upstream-engines', () => make(progress), {
    onWait: (pid) => progress.say(`  process ${pid} is installing TorchTitan, DeepSpeed and others; waiting for it`),
  });
}

/** What {@link ensureUpstreamEngines} will have to do beside the environment below. */
export function upstreamTasks(): Task[] {
  if (lookUpUpstreamPython() !== undefined) return [];
  const title = 'TorchTitan, DeepSpeed, Transformers, ft_launcher (0.7 GB)';
  return [{ lane: 'python', parallel: 1, title, cpuSeconds: 90, waitSeconds: 15 }];
}

async function make(progress: Progress): Promise<void> {
  if (lookUpUpstreamPython() !== undefined) return; // The process that held the lock before has made it.
  requireCompiler();
  const directory = upstreamPythonDirectory();
  rmSync(directory, { recursive: true, force: true }); // What somebody left who was killed: it lacks its last file.
  mkdirSync(dirname(directory), { recursive: true });
  refuseFullDisk(dirname(directory), NEEDED_BYTES);
  const python = join(directory, 'bin/python');
  await progress.step('install TorchTitan, DeepSpeed, Transformers and ft_launcher', async () => {
    await runCommand({ name: 'python venv', command: findEnginePython(), args: ['-m', 'venv', directory] });
    writeFileSync(join(packagesOf(directory), 'coxswain-engines.pth'), `${packagesOf(enginePythonDirectory())}\n`);
    // Python before 3.12 seeds environments with a setuptools that builds no wheels; the locked one below it does.
    await runCommand({
      name: 'pip uninstall',
      command: python,
      args: ['-m', 'pip', 'uninstall', '--yes', 'setuptools'],
    });
    await pip(python, [
      '--require-hashes',
      '--no-build-isolation',
      '--only-binary=:all:',
      `--no-binary=${BUILT_HERE}`,
      ...['--requirement', UPSTREAM_LOCK],
    ]);
  });
  await progress.step('compile what DeepSpeed’s ranks meet through', () => compileMeeting(directory));
  writeFileSync(join(directory, ENGINE_PYTHON_COMPLETE), '');
}

/** By its own builder, once: every first run would do it else, for three minutes where ranks share two cores. */
function compileMeeting(directory: string): Promise<void> {
  const build = 'get_accelerator().create_op_builder("ShareMemCommBuilder").load()';
  return runCommand({
    name: 'deepspeed build',
    command: join(directory, 'bin/python'),
    args: ['-c', `from deepspeed.accelerator import get_accelerator; ${build}`],
    env: {
      ...process.env,
      DS_ACCELERATOR: 'cpu',
      TORCH_EXTENSIONS_DIR: torchExtensionsDirectory(),
      // Where its own ninja is.
      PATH: [join(directory, 'bin'), process.env['PATH'] ?? ''].join(delimiter),
    },
  });
}

function packagesOf(environment: string): string {
  const lib = join(environment, 'lib');
  const [version] = readdirSync(lib).filter((name) => name.startsWith('python3.'));
  if (version === undefined) throw new Error(`${lib} holds no Python; remove ${environment} and run "npm run setup"`);
  return join(lib, version, 'site-packages');
}

function requireCompiler(): void {
  if (onPath('g++') !== undefined) return;
  throw new Error(
    'DeepSpeed compiles a part of itself and there is no g++ on PATH; install one (Debian, Ubuntu: apt install g++)',
  );
}
