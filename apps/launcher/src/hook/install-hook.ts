/** Installs the hook for ranks, in any image. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import generated from './hook-files.generated.json' with { type: 'json' };

/** Variable with folders in which Python searches for modules first. */
export const PYTHON_PATH = 'PYTHONPATH';

/** Writes the hook that this launcher carries into `directory`, which belongs to it alone, and gives the folder that is to be first on Python's path. */
export function installHook(directory: string): string {
  const folder = join(directory, 'hook');
  for (const [name, text] of Object.entries(generated.files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return folder;
}

/**
 * The hook before what the image or the job has there, and files that were rendered for the engine behind it: a program of the job's own finds modules of ours,
 * and none hides one of its own. An empty path there would stand for the working directory, and none is added.
 */
export function withPythonPath(
  environment: Readonly<Record<string, string | undefined>>,
  { hook, files }: { readonly hook: string | undefined; readonly files: string | undefined },
): Readonly<Record<string, string>> {
  const folders = [hook, environment[PYTHON_PATH], files].filter((one) => one !== undefined && one !== '');
  return hook === undefined && files === undefined ? {} : { [PYTHON_PATH]: folders.join(delimiter) };
}
