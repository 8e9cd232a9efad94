import type { QueuePromise } from '../load/queue-job.ts';
import type { QueueRule } from '../rules/queue-rule.ts';
import { QUEUE_RULES } from '../rules/rule-names.ts';
import { aQueueJob, FOUR_NODES, runToEnd } from '../testing/queue-jobs.ts';
import { QueueAuditor, type Violation } from './queue-auditor.ts';

const HOUR_MS = 3_600_000;
const anAuditor = (): QueueAuditor => new QueueAuditor({ cluster: FOUR_NODES, starvationMs: HOUR_MS });
const aPromise = (about: Partial<QueuePromise> = {}): QueuePromise => {
  return { jobUid: 'gang', startMs: 4 * HOUR_MS, nodes: [2, 3], ...about };
};
const small = aQueueJob({ uid: 'small', pods: 1, submit: 0, run: 1 });
const slow = { ...small, predicted: { runMs: HOUR_MS, latestMs: 1.4 * HOUR_MS } };

describe('the auditor finds', () => {
  it.each<[string, (auditor: QueueAuditor) => void, Partial<Record<Violation, number>>]>([
    ['nothing if nothing is wrong', (auditor) => auditor.started({ job: small, nodes: [0] }, 0), {}],
    [
      'a node that two jobs hold',
      (auditor) => {
        auditor.started({ job: small, nodes: [0] }, 0);
        auditor.started({ job: { ...small, uid: 'other' }, nodes: [0] }, 0);
      },
      { nodeGivenTwice: 1 },
    ],
    ['a node that does not exist', (auditor) => auditor.started({ job: small, nodes: [4] }, 0), { nodeGivenTwice: 1 }],
    [
      'a node that was given back as free',
      (auditor) => {
        auditor.started({ job: small, nodes: [0] }, 0);
        auditor.ended({ job: small, nodes: [0] });
        auditor.started({ job: small, nodes: [0] }, 0);
      },
      {},
    ],
    [
      'a gang with two pods on one node',
      (auditor) => auditor.started({ job: { ...small, pods: 2, gpusPerPod: 1 }, nodes: [0, 0] }, 0),
      { nodeGivenTwice: 1 },
    ],
    [
      'a node that is promised to two jobs',
      (auditor) => auditor.observe([aPromise(), aPromise({ jobUid: 'other', nodes: [3] })], 0),
      { promisedTwice: 1 },
    ],
    [
      'a start on promised nodes that may end too late',
      (auditor) => {
        auditor.observe([aPromise()], 0);
        auditor.started({ job: small, nodes: [2] }, 3.5 * HOUR_MS);
      },
      { promiseBroken: 1 },
    ],
    [
      'a start on half of the pods that may end too late if its steps take as long as at most predicted',
      (auditor) => {
        auditor.observe([aPromise()], 0);
        auditor.started({ job: slow, nodes: [2] }, 2 * HOUR_MS, { delayMs: 0, share: 2, hasTrained: false });
      },
      { promiseBroken: 1 },
    ],
    [
      'no fault in the same start of a job whose steps were measured',
      (auditor) => {
        auditor.observe([aPromise()], 0);
        auditor.started({ job: slow, nodes: [2] }, 2 * HOUR_MS, { delayMs: 0, share: 2, hasTrained: true });
      },
      {},
    ],
    [
      'no fault in a start on promised nodes that ends in time',
      (auditor) => {
        auditor.observe([aPromise()], 0);
        auditor.started({ job: small, nodes: [2] }, 3 * HOUR_MS);
      },
      {},
    ],
    [
      'a start without a known end on promised nodes',
      (auditor) => {
        const { predicted: _unknown, ...unknown } = small;
        auditor.observe([aPromise()], 0);
        auditor.started({ job: unknown, nodes: [2] }, 0);
      },
      { promiseBroken: 1 },
    ],
    [
      'a promise that the start of another job moves later',
      (auditor) => {
        auditor.observe([aPromise()], 0);
        auditor.observeAfterStart([aPromise({ startMs: 5 * HOUR_MS })], { by: small, nowMs: 0 });
      },
      { promiseMovedLater: 1 },
    ],
    [
      'no fault in a promise that moves for another cause',
      (auditor) => {
        auditor.observe([aPromise()], 0);
        auditor.observe([aPromise({ startMs: 5 * HOUR_MS })], 0);
      },
      {},
    ],
  ])('%s', (_sentence, act, want) => {
    const auditor = anAuditor();
    act(auditor);
    const { counts, examples } = auditor.report([]);
    expect(Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))).toEqual(want);
    expect(examples).toHaveLength(Object.keys(want).length);
  });
});

describe('a gang that waits two hours beyond a bound of one', () => {
  const gang = { job: aQueueJob({ uid: 'gang', pods: 3, submit: 0, run: 1 }), startMs: 3 * HOUR_MS };
  it.each<[string, Parameters<typeof aQueueJob>[0], number, number]>([
    ['starves if a smaller, younger job starts meanwhile', { uid: 'other', pods: 1, submit: 1, run: 1 }, 2, 1],
    ['does not starve if that started before the bound', { uid: 'other', pods: 1, submit: 0.5, run: 1 }, 0.5, 0],
    ['does not starve if an older job starts', { uid: 'other', pods: 1, submit: -1, run: 1 }, 2, 0],
    ['does not starve if a job as large starts', { uid: 'other', pods: 3, submit: 1, run: 1 }, 2, 0],
    [
      'does not starve if a job of higher priority starts',
      { uid: 'other', pods: 1, submit: 1, run: 1, priority: 1 },
      2,
      0,
    ],
  ])('%s', (_sentence, about, start, starved) => {
    const other = { job: aQueueJob(about), startMs: start * HOUR_MS };
    expect(anAuditor().report([gang, other]).counts.starved).toBe(starved);
  });
});

it('a rule that gives nodes twice is caught in a run, and its promises are compared with the starts', () => {
  const real = QUEUE_RULES.fifo.make(FOUR_NODES);
  const planted: QueueRule = {
    submitted: (job) => real.submitted(job),
    ended: (started) => real.ended(started),
    pass: (ports) =>
      real.pass({ ...ports, started: ({ job, nodes }) => ports.started({ job, nodes: nodes.map(() => 0) }) }),
    promisesOf: () => [aPromise({ jobUid: 'two', startMs: HOUR_MS, nodes: [1] })],
  };
  const jobs = [
    aQueueJob({ uid: 'one', pods: 4, submit: 0, run: 2 }),
    aQueueJob({ uid: 'two', pods: 1, submit: 0, run: 1 }),
  ];
  const { audit } = runToEnd(planted, jobs);
  expect(audit.counts.nodeGivenTwice).toBeGreaterThan(0);
  expect(audit.promises).toEqual([{ jobUid: 'two', promisedAtMs: 0, promisedStartMs: HOUR_MS, startMs: 2 * HOUR_MS }]);
});

it.each<[string, { readonly before: number; readonly after: number }, number]>([
  ['a promise that moves later before a start is not blamed on it', { before: HOUR_MS, after: 0 }, 0],
  ['a promise that moves later with a start is blamed on it', { before: 0, after: HOUR_MS }, 1],
])('%s', (_sentence, { before, after }, blamed) => {
  const real = QUEUE_RULES.fifo.make(FOUR_NODES);
  let startMs = 0;
  const planted: QueueRule = {
    submitted: (job) => real.submitted(job),
    ended: (started) => real.ended(started),
    pass: (ports) => {
      startMs += before;
      ports.promised();
      real.pass({
        ...ports,
        started: (started) => {
          startMs += after;
          ports.started(started);
          startMs -= after;
        },
      });
    },
    promisesOf: () => [aPromise({ jobUid: 'gang', startMs, nodes: [3] })],
  };
  const report = runToEnd(planted, [aQueueJob({ uid: 'one', pods: 1, submit: 0, run: 2 })]).audit;
  expect(report.counts.promiseMovedLater).toBe(blamed);
});
