import { generateMonth } from '../load/generate-month.ts';
import { QUEUE_RULE_NAMES, QUEUE_RULES } from '../rules/rule-names.ts';
import { aQueueJob, runToEnd } from '../testing/queue-jobs.ts';
import { barsOf } from './bars.ts';
import { measureRun } from './queue-measures.ts';

const cluster = { nodes: 32, gpusPerNode: 8 };
const windowMs = 86_400_000;
const jobs = generateMonth({ ...cluster, days: 1, seed: 3 });

describe('a day on 32 nodes', () => {
  it.each(QUEUE_RULE_NAMES)('under %s starts every job, and gives no node twice', (name) => {
    const run = runToEnd(QUEUE_RULES[name].make(cluster), jobs, { cluster });
    const measures = measureRun(run, { cluster, windowMs });
    expect([measures.jobs, measures.neverStarted, measures.examples]).toEqual([jobs.length, 0, []]);
    expect(measures.utilisation).toBeGreaterThan(0.3);
    expect(measures.byPods.map(({ upToPods }) => upToPods)).toEqual([1, 4, 8, 16]);
  });

  it('tells the waits of the largest jobs by their priority', () => {
    const pods = cluster.nodes / 4;
    const [low, high] = [
      { ...aQueueJob({ uid: 'low', pods, submit: 0, run: 1 }), priority: -1 },
      aQueueJob({ uid: 'high', pods, submit: 0, run: 1 }),
    ];
    const run = runToEnd(QUEUE_RULES.fifo.make(cluster), [low, high], { cluster });
    const { largestByPriority } = measureRun(run, { cluster, windowMs });
    expect(largestByPriority.map(({ priority, jobs: count }) => [priority, count])).toEqual([
      [0, 1],
      [-1, 1],
    ]);
  });

  it('is judged against EASY with exact ends, and its promises by the starts', () => {
    const measured = (name: 'coxswain' | 'easy-exact') =>
      measureRun(runToEnd(QUEUE_RULES[name].make(cluster), jobs, { cluster }), { cluster, windowMs });
    const bars = barsOf({ coxswain: measured('coxswain'), 'easy-exact': measured('easy-exact') });
    expect(bars.map(({ bar, state }) => [bar, state === 'notMeasured'])).toEqual([
      ['mean wait of the largest jobs, h', false],
      ['mean wait of one-node jobs, h', false],
      ['utilisation', false],
      ['p90 of the error of promises', false],
      ['violations', false],
      ['p99 of a decision, ms', false],
    ]);
  });
});
