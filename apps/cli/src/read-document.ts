import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { CliError } from './cli-error.ts';

/** The one document of a YAML or JSON file; `-` is standard input. */
export function readDocument(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw new CliError(`Cannot read ${path}: ${(error as Error).message}`);
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
    throw new CliError(`${path} cannot be read: ${(error as Error).message}. Write out what its aliases stand for.`);
  }
}
