/** Installs the hook for ranks, in any image. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import generated from './hook-files.generated.json' with { type: 'json' };

/** Variable with folders in which Python searches for modules first. */
export const PYTHON_PATH = 'PYTHONPATH';

/** The file of it that Python loads at its start, within the directory of {@link installHook}. */
export const HOOK_ENTRY = 'hook/sitecustomize.py';

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
 * PYTHONPATH with the hook before the entries of the image or the job, and rendered files of the engine after them. So the job's program finds our
 * modules, and they hide none of its own. Empty entries would mean the working directory, so none is added.
 */
export function withPythonPath(
  environment: Readonly<Record<string, string | undefined>>,
  { hook, files }: { readonly hook: string | undefined; readonly files: string | undefined },
): Readonly<Record<string, string>> {
  const folders = [hook, environment[PYTHON_PATH], files].filter((one) => one !== undefined && one !== '');
  return hook === undefined && files === undefined ? {} : { [PYTHON_PATH]: folders.join(delimiter) };
}
