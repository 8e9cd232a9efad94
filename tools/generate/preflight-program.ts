import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const SOURCE = 'engines/preflight/coxswain_preflight.py';

/** The preflight program as a string: the launcher is one file, and carries it. */
export function generatePreflightProgram(): ReadonlyMap<string, string> {
  const program = readFileSync(resolve(import.meta.dirname, '../..', SOURCE), 'utf8');
  const text = `${JSON.stringify({ source: SOURCE, program })}\n`;
  return new Map([['apps/launcher/src/preflight/program.generated.json', text]]);
}
