/** `npm run planner:bench`: how fast is the search for a layout, and how much memory does it take? */
import { spawnSync } from 'node:child_process';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { tableLines } from '../score/text-table.ts';
import { SEARCH_CASES } from './search-cases.ts';

interface Timed {
  readonly name: string;
  readonly cpuS: number;
  readonly wallS: number;
  readonly evaluated: number;
  readonly perSecond: number;
  readonly peakMemoryMiB: number;
  readonly stepTimeS: number | null;
  readonly atMostS: number | null;
}

const WORKER = fileURLToPath(new URL('time-search.ts', import.meta.url));

const timed = SEARCH_CASES.map(({ name }, index): Timed => {
  process.stderr.write(`${name} ...\n`);
  const { stdout, stderr, status } = spawnSync(process.execPath, [WORKER, String(index)], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${name}: ${stderr}`);
  return JSON.parse(stdout) as Timed;
});

const rows = timed.map(({ name, cpuS, atMostS, evaluated, perSecond, peakMemoryMiB, stepTimeS }) => [
  name,
  cpuS.toFixed(2),
  atMostS === null ? '' : atMostS.toFixed(0),
  evaluated.toLocaleString('en'),
  Math.round(perSecond).toLocaleString('en'),
  peakMemoryMiB.toFixed(0),
  stepTimeS?.toFixed(2) ?? 'none fits',
]);
process.stdout.write(
  [
    `One core of ${cpus()[0]?.model ?? 'an unknown CPU'}, Node.js ${process.version}. A layout counts as evaluated when its time and memory are`,
    'known, or a bound computed for it shows that it cannot be among the answers. Seconds are CPU time of the search.',
    '',
    ...tableLines(['search', 'CPU s', 'bar', 'layouts', 'per second', 'MiB', 'best step s'], rows),
    '',
    JSON.stringify({ searches: timed }),
    '',
  ].join('\n'),
);
