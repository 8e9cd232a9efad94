import { readFileSync, statSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { CliError } from '../cli-error.ts';
import { fileError } from './file-error.ts';

/** The longest request or layout that means something is a few hundred kilobytes; the parser takes seconds and gigabytes for what is longer. */
const MAX_DOCUMENT_BYTES = 2 * 2 ** 20;
const STANDARD_INPUT = 0;

/** The one document of a YAML or JSON file; `-` is standard input. Longer ones than 2 MiB are refused before they are parsed. */
export function readDocument(path: string): unknown {
  let text: string;
  try {
    text = readShort(path);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw fileError('read', path, error);
  }
  const documents = parseAllDocuments(text);
  const [document] = documents;
  if (document === undefined || !('errors' in document)) throw new CliError(`${path} is empty.`);
  if (documents.length > 1) throw new CliError(`${path} holds ${documents.length} documents; give one.`);
  const [wrong] = document.errors;
  if (wrong !== undefined) throw new CliError(`${path} is neither YAML nor JSON: ${wrong.message}`);
  try {
    return document.toJS();
  } catch (error) {
    // Aliases that expand without end, and those of an anchor that is not there.
    throw new CliError(
      `${path} cannot be read: ${(error as Error).message}. Replace its YAML aliases by their values.`,
    );
  }
}

/** Of a file the length is known before it is read; what comes from elsewhere is weighed afterwards. */
function readShort(path: string): string {
  if (path !== '-') refuseLong(path, statSync(path).size);
  const bytes = readFileSync(path === '-' ? STANDARD_INPUT : path);
  refuseLong(path, bytes.length);
  return bytes.toString('utf8');
}

function refuseLong(path: string, bytes: number): void {
  if (bytes <= MAX_DOCUMENT_BYTES) return;
  throw new CliError(
    `${path} has ${(bytes / 2 ** 20).toFixed(1)} MiB; the maximum is ${MAX_DOCUMENT_BYTES / 2 ** 20} MiB. Give only the request or the layout.`,
  );
}
