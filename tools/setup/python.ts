import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import {
  ENGINE_PYTHON_COMPLETE,
  ENGINE_CPU_LOCK,
  ENGINE_LOCK,
  ENGINE_REQUIREMENTS,
  enginePythonDirectory,
  lookUpEnginePython,
  onPath,
  withLock,
} from '@coxswain/local-cluster';
import type { Task } from './estimate.ts';
import type { Progress } from './progress.ts';
import { runCommand } from './run-command.ts';

const LOWEST_PYTHON = [3, 11] as const;
const CANDIDATES = ['python3', 'python3.13', 'python3.12', 'python3.11', 'python3.14'];
/** The build without CUDA: a seventh of the size. */
const CPU_INDEX = 'https://download.pytorch.org/whl/cpu';
const CONNECT_MS = 4_000;
const NEEDED_BYTES = 9e9;

/** Makes the engines' Python environment: a venv of its own with what engines/requirements.txt pins. */
export async function ensureEnginePython(progress: Progress): Promise<void> {
  if (lookUpEnginePython() === undefined) {
    await withLock('engine-python', () => make(progress), {
      onWait: (pid) => progress.say(`  process ${pid} is making the Python environment; waiting for it`),
    });
  }
}

/** What {@link ensureEnginePython} will have to do. Asks which of the two builds of PyTorch is in reach. */
export async function pythonTasks(): Promise<Task[]> {
  if (lookUpEnginePython() !== undefined) {
    return [];
  }
  const task = { lane: 'python', parallel: 1 };
  return (await isReachable(`${CPU_INDEX}/torch/`))
    ? [{ ...task, title: 'PyTorch for CPUs (under 1 GB)', cpuSeconds: 45, waitSeconds: 30 }]
    : [{ ...task, title: 'PyTorch with its CUDA libraries (5.4 GB)', cpuSeconds: 90, waitSeconds: 90 }];
}

async function make(progress: Progress): Promise<void> {
  if (lookUpEnginePython() !== undefined) {
    return; // The process that held the lock before has made it.
  }
  const directory = enginePythonDirectory();
  rmSync(directory, { recursive: true, force: true }); // What somebody left who was killed: it lacks its last file.
  mkdirSync(dirname(directory), { recursive: true });
  refuseFullDisk(dirname(directory), NEEDED_BYTES);
  const base = await findPython();
  await progress.step('create the Python environment', () =>
    runCommand({ name: 'python venv', command: base, args: ['-m', 'venv', directory] }),
  );
  await progress.step('install PyTorch', async (note) => {
    const python = join(directory, 'bin/python');
    const isForCpus = await torchForCpus(python, note);
    await pip(python, [
      '--require-hashes',
      '--only-binary=:all:',
      '--requirement',
      isForCpus ? ENGINE_CPU_LOCK : ENGINE_LOCK,
    ]);
  });
  writeFileSync(join(directory, ENGINE_PYTHON_COMPLETE), '');
}

/**
 * PyTorch's build for CPUs, from its own index. Its bytes alone stand on the word of that index and TLS: they are not those of the package index,
 * and the lock names only these. False where that index is out of reach: the general build follows.
 */
async function torchForCpus(python: string, note: (text: string) => void): Promise<boolean> {
  if (!(await isReachable(`${CPU_INDEX}/torch/`))) {
    note('from the Python package index, with its CUDA libraries: 5.4 GB');
    return false;
  }
  note('the build for CPUs, from its own index');
  try {
    await pip(python, [
      'torch',
      '--constraint',
      ENGINE_REQUIREMENTS,
      '--no-deps',
      '--only-binary=:all:',
      '--index-url',
      CPU_INDEX,
    ]);
    return true;
  } catch {
    note('that index failed; the general build follows');
    return false;
  }
}

/** Installs into the environment of that Python. */
export function pip(python: string, args: readonly string[]): Promise<void> {
  const quiet = ['--disable-pip-version-check', '--no-input', '--progress-bar=off'];
  return runCommand({ name: 'pip install', command: python, args: ['-m', 'pip', 'install', ...quiet, ...args] });
}

/** Throws where less than that is free. */
export function refuseFullDisk(directory: string, neededBytes: number): void {
  const { bavail, bsize } = statfsSync(directory);
  if (bavail * bsize < neededBytes) {
    const free = (bavail * bsize) / 1e9;
    throw new Error(
      `${directory} has ${free.toFixed(1)} GB free and the engines need ${neededBytes / 1e9} GB at most; free some, or set XDG_CACHE_HOME to a larger disk`,
    );
  }
}

async function findPython(): Promise<string> {
  let problem = 'there is no python3 on PATH';
  for (const path of CANDIDATES.map(onPath)) {
    if (path !== undefined) {
      const why = await whyUnfit(path);
      if (why === undefined) {
        return path;
      }
      problem = `${path} ${why}`;
    }
  }
  throw new Error(
    `${problem}; install Python ${LOWEST_PYTHON.join('.')} or later with venv (Debian, Ubuntu: apt install python3 python3-venv)`,
  );
}

async function whyUnfit(python: string): Promise<string | undefined> {
  const question = 'import sys, venv, ensurepip; print(sys.version_info[0], sys.version_info[1])';
  try {
    const { stdout } = await promisify(execFile)(python, ['-c', question]);
    const [major = 0, minor = 0] = stdout.trim().split(' ').map(Number);
    const enough = major > LOWEST_PYTHON[0] || minor >= LOWEST_PYTHON[1];
    return enough ? undefined : `is Python ${major}.${minor}`;
  } catch {
    return 'has no venv module';
  }
}

async function isReachable(url: string): Promise<boolean> {
  try {
    const answer = await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(CONNECT_MS) });
    return answer.ok;
  } catch {
    return false;
  }
}
