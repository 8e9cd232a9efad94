/** How does the hook come into ranks whose image knows nothing of it? */
import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import generated from './hook-files.generated.json' with { type: 'json' };

/** Where Python looks for modules before its own places. */
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

/** `folder` before what the image or the job has there. An empty path there would stand for the working directory, and none is added. */
export function withHook(
  environment: Readonly<Record<string, string | undefined>>,
  folder: string | undefined,
): Readonly<Record<string, string>> {
  if (folder === undefined) return {};
  const own = environment[PYTHON_PATH] ?? '';
  return { [PYTHON_PATH]: own === '' ? folder : `${folder}${delimiter}${own}` };
}
