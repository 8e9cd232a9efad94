import type { QueueJob } from '../load/queue-job.ts';
import { aQueueJob, FOUR_NODES, runToEnd, startsOf } from '../testing/queue-jobs.ts';
import { ClusterSchedulerRule } from './cluster-scheduler-rule.ts';

const HOUR_MS = 3_600_000;

/** A job whose steps take as long as it states. */
function aMeasuredJob(about: Parameters<typeof aQueueJob>[0]): QueueJob {
  return { ...aQueueJob(about), statedMs: about.run * HOUR_MS };
}

function withoutEnd({ predicted: _unknown, ...job }: QueueJob): QueueJob {
  return job;
}

/** Three of four nodes are busy until 4 h. A gang of all four nodes waits from 1 h on. */
const BUSY = aMeasuredJob({ uid: 'busy', pods: 3, submit: 0, run: 4 });
const GANG = aMeasuredJob({ uid: 'gang', pods: 4, submit: 1, run: 1 });

describe('under the scheduler of the operator, a job that runs on half of its pods', () => {
  /** Starts on two of its four pods, because another job has two nodes until then. */
  function runsOf(about: { readonly others?: readonly QueueJob[]; readonly hours: number }): unknown {
    const busy = aMeasuredJob({ uid: 'busy', pods: 2, submit: 0, run: 2 });
    const small = aMeasuredJob({ uid: 'small', pods: 4, submit: 0.1, run: about.hours, minPods: 2 });
    const { outcomes } = runToEnd(new ClusterSchedulerRule(FOUR_NODES), [busy, small, ...(about.others ?? [])]);
    const runs = outcomes.find(({ job }) => job.uid === 'small')?.runs ?? [];
    return runs.map(({ pods }) => pods);
  }

  it.each<[string, Parameters<typeof runsOf>[0], readonly number[]]>([
    ['takes all of them when they are free and it goes on for long', { hours: 10 }, [2, 4]],
    ['keeps its pods if it ends within minutes of that', { hours: 1.02 }, [2]],
    [
      'leaves the nodes to a job that waits',
      { hours: 10, others: [aMeasuredJob({ uid: 'other', pods: 2, submit: 1, run: 100 })] },
      [2],
    ],
  ])('%s', (_sentence, about, expected) => {
    expect(runsOf(about)).toEqual(expected);
  });
});

describe('under the scheduler of the operator, a gang of all nodes', () => {
  it.each<[string, QueueJob, Readonly<Record<string, number>>]>([
    [
      'starts before a younger job that would still run',
      aMeasuredJob({ uid: 'other', namespace: 'other', pods: 1, submit: 2, run: 9 }),
      { gang: 4, other: 5 },
    ],
    [
      'lets a younger job start that ends before',
      aMeasuredJob({ uid: 'other', namespace: 'other', pods: 1, submit: 2, run: 1.5 }),
      { gang: 4, other: 2 },
    ],
    [
      'starts before a younger job without a known end',
      withoutEnd(aQueueJob({ uid: 'other', pods: 1, submit: 2, run: 0.5 })),
      { gang: 4, other: 5 },
    ],
  ])('%s, at the promised time', (_sentence, other, starts) => {
    const run = runToEnd(new ClusterSchedulerRule(FOUR_NODES), [BUSY, GANG, other]);
    expect(startsOf(run)).toEqual({ busy: 0, ...starts });
    expect(run.audit.examples).toEqual([]);
    const promised = { jobUid: 'gang', promisedAtMs: HOUR_MS, promisedStartMs: 4 * HOUR_MS, startMs: 4 * HOUR_MS };
    expect(run.audit.promises).toContainEqual(promised);
  });

  it('is promised a start by measured steps, not by their prediction', () => {
    const predicted = { runMs: 6 * HOUR_MS, latestMs: 8 * HOUR_MS };
    const { audit } = runToEnd(new ClusterSchedulerRule(FOUR_NODES), [{ ...BUSY, predicted }, GANG]);
    expect(audit.promises.map(({ promisedStartMs }) => promisedStartMs / HOUR_MS)).toEqual([4]);
  });

  it('starts earlier than promised where a job ends early', () => {
    const { audit } = runToEnd(new ClusterSchedulerRule(FOUR_NODES), [{ ...BUSY, runMs: 2 * HOUR_MS }, GANG]);
    const [{ promisedStartMs, startMs } = { promisedStartMs: 0, startMs: 0 }] = audit.promises;
    expect([promisedStartMs, startMs].map((ms) => ms / HOUR_MS)).toEqual([4, 2]);
  });
});
