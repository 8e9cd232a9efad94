import { createReadStream } from 'node:fs';
import { CliError } from '../cli-error.ts';
import { fileError } from '../files/file-error.ts';

/** A line of a file and its number, from 1. */
export interface NumberedLine {
  readonly number: number;
  readonly text: string;
}

/** The lines of a file (`-`: of standard input) one after the other; never more of it in memory than the longest line that is allowed. */
export async function* linesOf(file: string, mostCharacters: number): AsyncGenerator<NumberedLine> {
  const input: AsyncIterable<unknown> =
    file === '-' ? process.stdin.setEncoding('utf8') : createReadStream(file, 'utf8');
  let rest = '';
  let number = 0;
  try {
    for await (const chunk of input) {
      const parts = (rest + String(chunk)).split('\n');
      rest = parts.pop() ?? '';
      for (const text of parts) yield { number: (number += 1), text };
      if (rest.length > mostCharacters)
        throw new CliError(`${file}, line ${number + 1}: the line has more than ${mostCharacters} characters.`);
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw fileError('read', file, error);
  }
  if (rest !== '') yield { number: number + 1, text: rest };
}
