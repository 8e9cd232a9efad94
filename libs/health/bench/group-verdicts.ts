/**
 * `npm run health:group-verdicts [-- --seeds N]`: what if the nodes of a group were replaced that stands still as a whole, and of which no member is behind? On the
 * labelled traces, with the hang detector alone: how often such a verdict would have ended a gang (its wait has lasted for as long as a rank's that is
 * evicted), where that was right, and how many of the gang's nodes would have gone. A link that heals by itself is a false alarm. The last line is one JSON object.
 */
import { parseArgs } from 'node:util';
import { gangOf } from '../src/gang/gang.ts';
import { HangDetector } from '../src/hang/hang-detector.ts';
import { HEALTH_SETTINGS } from '../src/settings.ts';
import { generateTrace } from '../src/testing/generate-trace.ts';
import { HOSTILE, type Scenario, SCENARIOS } from '../src/testing/scenario.ts';

const { values } = parseArgs({ options: { seeds: { type: 'string', default: '3' } } });
const SEEDS = Number(values.seeds);
const HOUR_MS = 3_600_000;

interface Outcome {
  readonly hours: number;
  /** Seconds after the fault, and how many nodes the group has; one for each verdict that would have ended the gang. */
  readonly acted: readonly { readonly afterSec: number; readonly nodes: number }[];
  readonly nodes: number;
}

function outcomeOf(scenario: Scenario, seed: number): Outcome {
  const { header, records, truth } = generateTrace(scenario, seed);
  const gang = gangOf(header);
  const detector = new HangDetector(gang, HEALTH_SETTINGS);
  const acted: Outcome['acted'][number][] = [];
  let endMs = 0;
  for (const record of records) {
    if (record.kind === 'group') {
      gang.declare(record);
      continue;
    }
    endMs = record.atMs;
    for (const { kind, atMs, evidence } of detector.observe(record)) {
      if (kind !== 'networkHang' || Number(evidence['waitedForMs']) <= Number(evidence['actAfterMs'])) continue;
      acted.push({ afterSec: Math.round((atMs - truth.onsetMs) / 1_000), nodes: Number(evidence['groupNodes']) });
    }
  }
  return { hours: endMs / HOUR_MS, acted, nodes: header.nodes.length };
}

function rowOf(scenario: Scenario) {
  const outcomes = Array.from({ length: SEEDS }, (_, seed) => outcomeOf(scenario, seed + 1));
  const isRight = scenario.faults.some(({ kind }) => kind === 'deadLink');
  const acted = outcomes.flatMap((outcome) => outcome.acted);
  const mean = (numbers: readonly number[]): number | null =>
    numbers.length === 0 ? null : numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
  return {
    scenario: scenario.name,
    hours: outcomes.reduce((sum, { hours }) => sum + hours, 0),
    right: isRight ? acted.length : 0,
    falseAlarms: isRight ? 0 : acted.length,
    afterSec: mean(acted.map(({ afterSec }) => afterSec)),
    shareOfNodes: mean(acted.map(({ nodes }) => nodes / (outcomes[0]?.nodes ?? 1))),
  };
}

const rows = [...SCENARIOS, ...HOSTILE].map((scenario) => {
  const row = rowOf(scenario);
  if (row.right + row.falseAlarms > 0) process.stdout.write(`${JSON.stringify(row)}\n`);
  return row;
});
const heals = (scenario: string): boolean => scenario.includes('heals');
const others = rows.filter(({ scenario }) => !heals(scenario));
const hours = others.reduce((sum, row) => sum + row.hours, 0);
const falseAlarms = others.reduce((sum, row) => sum + row.falseAlarms, 0);
// Of none in so many hours at most three are expected, at 95 % (Poisson).
const upperPerDay = falseAlarms === 0 ? (3 * 24) / hours : null;
process.stdout.write(
  `${JSON.stringify({ bench: 'health-group-verdicts', seeds: SEEDS, ranks: 128, hours, falseAlarms, upperPerDay })}\n`,
);
