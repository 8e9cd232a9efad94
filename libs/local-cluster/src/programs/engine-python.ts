import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from './binaries.ts';

/** The pinned Python packages of the engines. */
export const ENGINE_REQUIREMENTS = join(import.meta.dirname, '../../../../engines/requirements.txt');

/** Where set-up puts the Python environment of the engines. Other requirements are another place. */
export function enginePythonDirectory(): string {
  const hash = createHash('sha256').update(readFileSync(ENGINE_REQUIREMENTS)).digest('hex').slice(0, 12);
  return join(cacheDirectory(), `python-${hash}`);
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
