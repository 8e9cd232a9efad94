import { existsSync, writeFileSync } from 'node:fs';
import { CliError } from '../cli-error.ts';
import { fileError } from './file-error.ts';

/** Fails if the output file exists, before the user answers questions. `-` is standard output. */
export function refuseExisting(path: string): void {
  if (path !== '-' && existsSync(path)) throw thereAlready(path);
}

/** Writes a file of the user's. Throws a {@link CliError} where there is one already, unless it may be replaced. */
export function writeNewFile(path: string, text: string, { force = false }: { readonly force?: boolean } = {}): void {
  try {
    writeFileSync(path, text, { flag: force ? 'w' : 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw thereAlready(path);
    throw fileError('write', path, error);
  }
}

/** Writes a file that the command line names for what it draws, whatever was there. */
export function replaceFile(path: string, text: string): void {
  writeNewFile(path, text, { force: true });
}

function thereAlready(path: string): CliError {
  return new CliError(
    `${path} already exists and was not changed; choose another --out, or overwrite it with --force.`,
  );
}
