/**
 * `npm run health:bench [-- --seeds N]`: detectors on labelled traces that are generated from a model of a step, beside NVRx's rule on the same traces and
 * what others published; then time and memory at 16,384 ranks. The last line is one JSON object. Thresholds are the sourced ones of `settings.ts`.
 */
import { parseArgs } from 'node:util';
import { generateTrace } from '../src/testing/generate-trace.ts';
import { HOSTILE, type Scenario, SCENARIOS } from '../src/testing/scenario.ts';
import { largeJob } from './large-job.ts';
import { largeStop } from './large-stop.ts';
import { type Score, scoreTrace } from './score.ts';

const { values } = parseArgs({ options: { seeds: { type: 'string', default: '5' }, only: { type: 'string' } } });
const SEEDS = Number(values.seeds);

interface Row {
  readonly scenario: string;
  readonly runs: number;
  readonly recall: number | null;
  readonly precision: number | null;
  readonly medianDelaySec: number | null;
  readonly worstDelaySec: number | null;
  readonly falseAlarms: number;
  readonly falseAlarmsPerDay: number;
  readonly nvrxRecall: number | null;
  readonly nvrxFalseAlarms: number;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const sum = (scores: readonly Score[], of: (score: Score) => number): number =>
  scores.reduce((total, score) => total + of(score), 0);
const ratio = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);

function rowOf(scenario: Scenario): Row {
  const scores = Array.from({ length: SEEDS }, (_, seed) => scoreTrace(scenario, generateTrace(scenario, seed + 1)));
  const delays = scores.flatMap(({ delaysMs }) => delaysMs).sort((a, b) => a - b);
  const wrong = sum(scores, (score) => score.wrong.length);
  const right = sum(scores, ({ right: ofOne }) => ofOne);
  const slowFaults = scenario.faults.filter(({ kind }) => kind === 'slowCompute').length * SEEDS;
  for (const verdict of scores.flatMap((score) => score.wrong).slice(0, 2)) {
    say(`  ! ${scenario.name}: ${verdict.kind} at ${Math.round(verdict.atMs / 1000)} s: ${verdict.message}`);
  }
  const seconds = (ms: number | undefined): number | null => (ms === undefined ? null : Math.round(ms / 1000));
  return {
    scenario: scenario.name,
    runs: SEEDS,
    recall: ratio(
      sum(scores, ({ found }) => found),
      sum(scores, ({ faults }) => faults),
    ),
    precision: ratio(right, right + wrong),
    medianDelaySec: seconds(delays[delays.length >> 1]),
    worstDelaySec: seconds(delays.at(-1)),
    falseAlarms: wrong,
    falseAlarmsPerDay: (24 * wrong) / sum(scores, ({ hours }) => hours),
    nvrxRecall: ratio(
      sum(scores, ({ nvrxFound }) => nvrxFound),
      slowFaults,
    ),
    nvrxFalseAlarms: sum(scores, ({ nvrxWrong }) => nvrxWrong),
  };
}

const cell = (value: number | null, digits = 2): string => (value === null ? '-' : value.toFixed(digits));
function print(title: string, scenarios: readonly Scenario[]): readonly Row[] {
  const chosen = scenarios.filter(({ name }) => values.only === undefined || name.includes(values.only));
  say(`\n${title.padEnd(40)} recall precision  delay s (worst)  false  a day  NVRx recall  NVRx false`);
  return chosen.map((scenario) => {
    const row = rowOf(scenario);
    const delay = `${cell(row.medianDelaySec, 0)} (${cell(row.worstDelaySec, 0)})`;
    say(
      `${row.scenario.padEnd(40)} ${cell(row.recall).padStart(6)} ${cell(row.precision).padStart(9)} ${delay.padStart(16)} ${String(row.falseAlarms).padStart(6)} ${cell(row.falseAlarmsPerDay, 1).padStart(6)} ${cell(row.nvrxRecall).padStart(12)} ${String(row.nvrxFalseAlarms).padStart(11)}`,
    );
    return row;
  });
}

say(`128 ranks on 16 nodes, 30 minutes, ${SEEDS} seeds; the fault begins after 12 minutes.`);
const usual = print('as they come', SCENARIOS);
const hostile = print('made harder', HOSTILE);
const all = [...usual, ...hostile];
const named = all.filter(({ recall }) => recall !== null);
const total = {
  recall: named.reduce((rest, { recall }) => rest + (recall ?? 0), 0) / Math.max(1, named.length),
  falseAlarms: all.reduce((rest, { falseAlarms }) => rest + falseAlarms, 0),
};
say(`
Published (reliability of others' detectors, on their own faults; not the same traces):
  Minder        precision 0.904, recall 0.883; 4 minutes of continuity   NSDI'25, arXiv 2411.01791 (digest)
  Holmes        97.2 % at 2,048 GPUs, 88.2 % at 8,192; 15.5-30.3 s       NSDI'25 (digest)
  GREYHOUND     no false alarm of compute; misses 2.3 % of slow links    ATC'25, arXiv 2410.12588 (digest)
  504 B200      0.84 false alarms a day on 63 nodes                      arXiv 2605.09370 (digest)
NVRx: GPU score of its rule, below 0.75 every 300 s, on these traces; it looks for slow ranks alone.`);
const large = values.only === undefined ? largeJob() : undefined;
if (large !== undefined) {
  say(
    `\n${large.ranks} ranks: ${large.msPerWindow.toFixed(0)} ms a window of 60 s (${large.records} records in all), longest call ${large.longestObserveMs.toFixed(0)} ms, ${large.heapMiB.toFixed(0)} MiB, ${large.verdicts} verdicts on a clean job`,
  );
}
const stops = values.only === undefined || values.only === 'large' ? [undefined, 777].map((one) => largeStop(one)) : [];
for (const { ranks, longestSecondMs, msPerStandingSecond, verdicts } of stops) {
  say(
    `${ranks} ranks that stand in all that they have called: ${msPerStandingSecond.toFixed(0)} ms of processor time a second, ${longestSecondMs.toFixed(0)} at most; ${JSON.stringify(verdicts)}`,
  );
}
say(JSON.stringify({ bench: 'health', seeds: SEEDS, total, large, stops, usual, hostile }));
