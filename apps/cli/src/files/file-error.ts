import { resolve } from 'node:path';
import { getSystemErrorMessage } from 'node:util';
import { CliError } from '../cli-error.ts';

const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'errno' in error && typeof error.errno === 'number';

/** `Cannot read job.yaml: there is no such file or directory in /home/ada.` What the system said, as a person says it, and what to do. */
export function fileError(doing: 'read' | 'write', shown: string, error: unknown, path = shown): CliError {
  return new CliError(`Cannot ${doing} ${shown}: ${reasonOf(error, { doing, path })}.`);
}

function reasonOf(error: unknown, { doing, path }: { readonly doing: string; readonly path: string }): string {
  if (!isSystemError(error)) return error instanceof Error ? error.message : String(error);
  switch (error.code) {
    case 'ENOENT':
      return path.startsWith('/')
        ? 'there is no such file or directory'
        : `there is no such file or directory in ${resolve('.')}`;
    case 'EISDIR':
      return 'it is a directory; give a file';
    case 'EACCES':
    case 'EPERM':
      return `you have no right to ${doing} it`;
    default:
      return getSystemErrorMessage(error.errno ?? 0);
  }
}
