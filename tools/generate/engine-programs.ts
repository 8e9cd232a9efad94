import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** Where each is written, and where it goes. */
const PROGRAMS = [
  ['engines/torchtitan/coxswain_torchtitan.py', 'torchtitan/module.generated.json'],
  ['engines/megatron_bridge/coxswain_megatron_bridge.py', 'megatron-bridge/program.generated.json'],
] as const;

/** The Python modules that configure engines as strings: they are written beside the settings of each job. */
export function generateEnginePrograms(): ReadonlyMap<string, string> {
  return new Map(
    PROGRAMS.map(([source, path]) => {
      const program = readFileSync(resolve(import.meta.dirname, '../..', source), 'utf8');
      return [`libs/engines/src/adapters/${path}`, `${JSON.stringify({ source, program })}\n`];
    }),
  );
}
