import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from './binaries.ts';

const ENGINES = join(import.meta.dirname, '../../../../engines');

/** The Python packages that the engines ask for. */
export const ENGINE_REQUIREMENTS = join(ENGINES, 'requirements.txt');
/** Those and all that they need in turn, each with the SHA-256 of its files. */
export const ENGINE_LOCK = join(ENGINES, 'requirements.lock');
/** The same without PyTorch and the CUDA libraries that its general build needs. */
export const ENGINE_CPU_LOCK = join(ENGINES, 'requirements-cpu.lock');

/** The packages of other projects' engines that tests run. */
export const UPSTREAM_REQUIREMENTS = join(ENGINES, 'upstream/requirements.txt');
/** Those and all that they need beside {@link ENGINE_LOCK}, each with the SHA-256 of its files. */
export const UPSTREAM_LOCK = join(ENGINES, 'upstream/requirements.lock');

/** Where set-up puts the Python environment of the engines. Other packages are another place. */
export function enginePythonDirectory(): string {
  const hash = createHash('sha256').update(readFileSync(ENGINE_LOCK)).update(readFileSync(ENGINE_CPU_LOCK));
  return join(cacheDirectory(), `python-${hash.digest('hex').slice(0, 12)}`);
}

/** The file that set-up writes last into that directory. */
export const ENGINE_PYTHON_COMPLETE = 'complete';

/** The Python that has PyTorch; undefined when set-up has yet to make it. */
export function lookUpEnginePython(): string | undefined {
  const directory = enginePythonDirectory();
  const python = join(directory, 'bin/python');
  return existsSync(join(directory, ENGINE_PYTHON_COMPLETE)) && existsSync(python) ? python : undefined;
}

/** Like {@link lookUpEnginePython}, but its absence is an error. */
export function findEnginePython(): string {
  const python = lookUpEnginePython();
  if (python === undefined) {
    throw new Error(`the engines' Python environment is not here yet; run "npm run setup" once`);
  }
  return python;
}

/** Where set-up puts the engines of others: a layer above {@link enginePythonDirectory}, whose PyTorch it uses. */
export function upstreamPythonDirectory(): string {
  const hash = createHash('sha256').update(enginePythonDirectory()).update(readFileSync(UPSTREAM_LOCK));
  return join(cacheDirectory(), `upstream-engines-${hash.digest('hex').slice(0, 12)}`);
}

/** What DeepSpeed compiles, once. */
export function torchExtensionsDirectory(): string {
  return join(upstreamPythonDirectory(), 'torch_extensions');
}

/** The Python that has the engines of others; undefined when set-up has yet to make it. */
export function lookUpUpstreamPython(): string | undefined {
  const directory = upstreamPythonDirectory();
  const python = join(directory, 'bin/python');
  return existsSync(join(directory, ENGINE_PYTHON_COMPLETE)) && existsSync(python) ? python : undefined;
}
