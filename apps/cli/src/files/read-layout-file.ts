import { readLayout } from '@coxswain/layout';
import { CliError } from '../cli-error.ts';
import { readDocument } from './read-document.ts';

/** A layout file that was read: a document of one role, or a job of several. */
export type WellRead = Exclude<ReturnType<typeof readLayout>, { kind: 'wrong' }>;

/** The layout in a YAML or JSON file; `-` is standard input. Throws a {@link CliError} that lists what is wrong. */
export function readLayoutFile(path: string): WellRead {
  const read = readLayout(readDocument(path));
  if (read.kind !== 'wrong') return read;
  const lines = read.problems.map(({ path: at, message }) => `  ${at === '' ? '' : `${at}: `}${message}`);
  throw new CliError(`${path} is not a valid layout:\n${lines.join('\n')}`);
}
