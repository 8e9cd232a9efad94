/**
 * `npm run schedule:bench [-- --seed N]` (`--help` has more): a month of jobs on 512 nodes under the scheduler of the operator and under rules of
 * others. Progress goes to standard error; standard output is one JSON object. Exits with 1 if the auditor found a violation of the scheduler.
 */
import { parseArgs } from 'node:util';
import { generateMonth } from '../src/queue/load/generate-month.ts';
import { QUEUE_RULE_NAMES, QUEUE_RULES, type QueueRuleName } from '../src/queue/rules/rule-names.ts';
import { barsOf } from '../src/queue/run/bars.ts';
import { measureRun, type QueueMeasures } from '../src/queue/run/queue-measures.ts';
import { simulateQueue } from '../src/queue/run/simulate-queue.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    nodes: { type: 'string', default: '512' },
    days: { type: 'string', default: '30' },
    load: { type: 'string', default: '0.8' },
    liars: { type: 'string', default: '0' },
    low: { type: 'string', default: '0' },
    'no-room': { type: 'boolean', default: false },
    'starvation-hours': { type: 'string', default: '168' },
    rules: { type: 'string', default: QUEUE_RULE_NAMES.join(',') },
    help: { type: 'boolean' },
  },
});
if (values.help === true) {
  process.stdout.write(`npm run schedule:bench [-- OPTIONS]
  --seed N              seed of the jobs; 1 unless said. Tune rules on seeds 1 to 3 and judge them on others.
  --nodes N             nodes of 8 GPUs; 512 unless said
  --days N              days of submissions; 30 unless said. The run goes on until the last job has ended.
  --load SHARE          node time that jobs ask for, as a share; 0.8 unless said
  --liars SHARE         share of jobs that state a tenth of their steps; 0 unless said
  --low SHARE           share of jobs of lower priority, which go on with a quarter of their pods if they must; 0 unless said
  --no-room             no job makes room for one of higher priority
  --starvation-hours N  a job that waits longer must not be overtaken by a smaller, younger one; 168 unless said
  --rules A,B           rules to run; all unless said:
${QUEUE_RULE_NAMES.map((name) => `    ${name.padEnd(18)}  ${QUEUE_RULES[name].title}`).join('\n')}
`);
  process.exit();
}
const seed = numberOf('seed', { least: 0, isWhole: true });
const cluster = { nodes: numberOf('nodes', { least: 8, isWhole: true }), gpusPerNode: 8 };
const days = numberOf('days', { least: 1, isWhole: true });
const load = numberOf('load', { least: 0.01 });
const liars = numberOf('liars', { least: 0 });
const low = numberOf('low', { least: 0 });
const starvationMs = numberOf('starvation-hours', { least: 0 }) * 3_600_000;
const rules = values.rules.split(',').map((name) => {
  const known = QUEUE_RULE_NAMES.find((one) => one === name);
  if (known === undefined) throw new Error(`--rules names "${name}"; the rules are ${QUEUE_RULE_NAMES.join(', ')}`);
  return known;
});

const jobs = generateMonth({ ...cluster, days, seed, load, liars, low });
process.stderr.write(`${jobs.length} jobs of ${days} days on ${cluster.nodes} nodes, seed ${seed}\n`);
const measured: Partial<Record<QueueRuleName, QueueMeasures & { readonly seconds: number }>> = {};
for (const name of rules) measured[name] = measure(name);
const bars = barsOf(measured);
for (const { bar, wanted, measured: found, state } of bars)
  process.stderr.write(`${state.padEnd(12)} ${bar}: ${found} (wanted: ${wanted})\n`);
process.stdout.write(
  `${JSON.stringify({ seed, ...cluster, days, load, liars, low, rules: measured, bars }, null, 2)}\n`,
);
process.exitCode = bars.some(({ bar, state }) => bar === 'violations' && state === 'missed') ? 1 : 0;

function measure(name: QueueRuleName): QueueMeasures & { readonly seconds: number } {
  const beganMs = performance.now();
  const rule = QUEUE_RULES[name].make(cluster, { makesRoom: !values['no-room'] });
  const run = simulateQueue({ cluster, jobs, rule, starvationMs, stopwatch: () => performance.now() });
  let reportedMs = beganMs;
  for (let step = run.next(); ; step = run.next()) {
    const nowMs = performance.now();
    if (step.done === true) {
      const measures = measureRun(step.value, { cluster, windowMs: days * 86_400_000 });
      const seconds = Math.round((nowMs - beganMs) / 100) / 10;
      process.stderr.write(`${lineOf(name, measures)}, ${seconds} s\n`);
      return { ...measures, seconds };
    }
    if (nowMs - reportedMs < 5_000) continue;
    reportedMs = nowMs;
    process.stderr.write(`${name}: ${Math.round(step.value * 100)} % of the jobs ended\n`);
  }
}

function lineOf(
  name: string,
  { utilisation, largest, oneNode, meanDecisionMs, violations, madeRoom }: QueueMeasures,
): string {
  const hours = (value: number | null): string => (value === null ? '-' : value.toFixed(2));
  const broken = Object.values(violations).reduce((sum, count) => sum + count, 0);
  return (
    `${name.padEnd(18)} utilisation ${utilisation.toFixed(3)}, wait of the largest ${hours(largest.meanHours)} h (longest ${hours(largest.longestHours)}), ` +
    `of one node ${hours(oneNode.meanHours)} h, ${meanDecisionMs.toFixed(2)} ms a decision, ${broken} violations` +
    (madeRoom === null
      ? ''
      : `, ${madeRoom.stops} made room, ${(100 * madeRoom.lostShare).toFixed(2)} % of GPU time lost`)
  );
}

function numberOf(
  option: 'seed' | 'nodes' | 'days' | 'load' | 'liars' | 'low' | 'starvation-hours',
  { least, isWhole = false }: { readonly least: number; readonly isWhole?: boolean },
): number {
  const value = Number(values[option]);
  if (value >= least && (!isWhole || Number.isSafeInteger(value))) return value;
  throw new Error(`--${option} ${values[option]} is not a ${isWhole ? 'whole ' : ''}number of at least ${least}`);
}
