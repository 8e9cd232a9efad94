import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const SOURCE = 'engines/torchtitan/coxswain_torchtitan.py';

/** The Python module that configures TorchTitan as a string: it is written beside the settings of each job. */
export function generateTorchTitanProgram(): ReadonlyMap<string, string> {
  const program = readFileSync(resolve(import.meta.dirname, '../..', SOURCE), 'utf8');
  const text = `${JSON.stringify({ source: SOURCE, program })}\n`;
  return new Map([['libs/engines/src/adapters/torchtitan/module.generated.json', text]]);
}
