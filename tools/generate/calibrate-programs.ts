import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';

const SOURCES = [
  'engines/calibrate/coxswain_calibrate.py',
  'engines/calibrate/coxswain_calibrate_model.py',
  'engines/preflight/coxswain_preflight.py',
];

/** What measures a cluster, with the probes that it shares with the preflight, as strings: the command line is one file, and carries them. */
export function generateCalibratePrograms(): ReadonlyMap<string, string> {
  const files = SOURCES.map((source) => ({
    name: basename(source),
    text: readFileSync(resolve(import.meta.dirname, '../..', source), 'utf8'),
  }));
  return new Map([['apps/cli/src/calibrate/programs.generated.json', `${JSON.stringify({ files })}\n`]]);
}
