import type { QueueJob } from '../load/queue-job.ts';
import { aQueueJob, runToEnd, startsOf } from '../testing/queue-jobs.ts';
import { QUEUE_RULE_NAMES, QUEUE_RULES, type QueueRuleName } from './rule-names.ts';

/** Three of four nodes are busy until 4 h. A gang of all four waits from 1 h on; small jobs come after it. */
const HEAD_WAITS: readonly QueueJob[] = [
  aQueueJob({ uid: 'busy', pods: 3, submit: 0, run: 4 }),
  aQueueJob({ uid: 'gang', pods: 4, submit: 1, run: 1 }),
  aQueueJob({ uid: 'long', pods: 1, submit: 2, run: 9 }),
  aQueueJob({ uid: 'short', namespace: 'other', pods: 1, submit: 3, run: 1 }),
];
const OVERTAKEN = { busy: 0, long: 2, short: 4, gang: 11 };
const BACKFILLED = { busy: 0, short: 3, gang: 4, long: 5 };

const STARTS: readonly (readonly [rule: QueueRuleName, sentence: string, starts: Readonly<Record<string, number>>])[] =
  [
    ['first-fit', 'starts the long job, and the gang waits for it', OVERTAKEN],
    ['fifo', 'lets the gang block both others', { busy: 0, gang: 4, long: 5, short: 5 }],
    ['easy-exact', 'starts the short job, which ends before the gang starts', BACKFILLED],
    ['easy-predicted', 'does the same with stated ends', BACKFILLED],
    ['kueue-best-effort', 'sets the gang aside and starts the long job', OVERTAKEN],
    ['kueue-strict', 'blocks the long job in the queue of the gang, and starts the short one in another', BACKFILLED],
  ];

describe('a gang of all nodes in front of small jobs', () => {
  it.each(STARTS)('%s %s', (rule, _sentence, starts) => {
    const run = runToEnd(QUEUE_RULES[rule].make({ nodes: 4, gpusPerNode: 8 }), HEAD_WAITS);
    expect(startsOf(run)).toEqual(starts);
  });
});

describe('EASY backfill', () => {
  const jobs = [
    aQueueJob({ uid: 'busy', pods: 2, submit: 0, run: 4 }),
    aQueueJob({ uid: 'gang', pods: 3, submit: 1, run: 1 }),
  ];

  it.each<[string, Partial<QueueJob>, number]>([
    ['starts a job without a known end on nodes that are not reserved', { pods: 1 }, 2],
    ['does not start it on reserved nodes', { pods: 2 }, 5],
  ])('%s', (_sentence, about, start) => {
    const { predicted: _unknown, ...unknown } = aQueueJob({ uid: 'late', pods: 1, submit: 2, run: 9 });
    const run = runToEnd(QUEUE_RULES['easy-predicted'].make({ nodes: 4, gpusPerNode: 8 }), [
      ...jobs,
      { ...unknown, ...about },
    ]);
    expect(startsOf(run)['late']).toBe(start);
  });
});

it.each(QUEUE_RULE_NAMES)('%s starts two jobs of half a node on one node', (name) => {
  const jobs = ['one', 'two', 'three'].map((uid) => aQueueJob({ uid, pods: 1, gpusPerPod: 4, submit: 0, run: 1 }));
  const run = runToEnd(QUEUE_RULES[name].make({ nodes: 1, gpusPerNode: 8 }), jobs, {
    cluster: { nodes: 1, gpusPerNode: 8 },
  });
  expect([startsOf(run), run.audit.counts.nodeGivenTwice]).toEqual([{ one: 0, two: 0, three: 1 }, 0]);
});

it.each(QUEUE_RULE_NAMES)('%s ends the run although a job is too large for the cluster', (name) => {
  const jobs = [
    aQueueJob({ uid: 'small', pods: 1, submit: 0, run: 1 }),
    aQueueJob({ uid: 'huge', pods: 5, submit: 1, run: 1 }),
  ];
  expect(startsOf(runToEnd(QUEUE_RULES[name].make({ nodes: 4, gpusPerNode: 8 }), jobs))).toEqual({
    small: 0,
    huge: null,
  });
});
