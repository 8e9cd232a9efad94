import { decide } from './decide.ts';
import type { Observed } from '../observation/observed.ts';
import { aPlacement, aPod, anExit, observe } from '../testing/index.ts';
import { aJob, anAttempt, aRunningJob, aStatus, EARLIER, kinds, NOW, settled } from '../testing/jobs.ts';

/** The same, but seen in a cache. */
const seen = (observed: Observed): Observed => ({ ...observed, isProven: false });
const stopping = anAttempt({ stage: 'Stopping', outcome: 'Suspended', reason: 'SuspendRequested', charged: false });

describe('what is not done on a cache’s word', () => {
  const cases: readonly { readonly name: string; readonly observed: Observed }[] = [
    {
      name: 'to fail a gang because a pod has failed',
      observed: aRunningJob({
        pods: (job) => [aPod(job), aPod(job, { podIndex: 1, phase: 'Failed', exit: anExit() })],
      }),
    },
    {
      name: 'to fail a gang because a node does not answer',
      observed: aRunningJob({ observed: { nodeStates: new Map([['node-b', 'gone']]) } }),
    },
    { name: 'to take a pod that is not seen for gone', observed: aRunningJob({ pods: (job) => [aPod(job)] }) },
    {
      name: 'to delete the pods of a gang that is told to stop',
      observed: aRunningJob({ spec: { spec: { suspend: true } }, status: { attempts: [stopping] } }),
    },
    {
      name: 'to say that a stopping gang is over',
      observed: aRunningJob({ spec: { spec: { suspend: true } }, status: { attempts: [stopping] }, pods: () => [] }),
    },
    {
      name: 'to delete pods of a later epoch than the job is seen in',
      observed: aRunningJob({ pods: (job) => [aPod(job), aPod(job, { podIndex: 1 }), aPod(job, { epoch: 2 })] }),
    },
    {
      name: 'to begin an epoch after one of which no end is recorded, because status was lost',
      observed: observe({ job: aJob({ status: aStatus({ epoch: 1, attempts: [] }) }), areCheckpointsProven: true }),
    },
    {
      name: 'to let a deleted job go',
      observed: observe({
        job: aJob({ metadata: { deletionTimestamp: EARLIER }, spec: {} }),
      }),
    },
    {
      name: 'to make the pods that a gang lacks, where somebody else recorded the gang',
      observed: observe({ ...creating(), isStatusProven: false }),
    },
  ];

  it.each(cases)('$name: it is read live first, and nothing is recorded', ({ observed }) => {
    const recorded = { ...observed.job, status: settledAsFarAsSeen(observed) };
    const decision = decide(seen({ ...observed, job: recorded }), NOW);
    expect(kinds(decision.actions)).toEqual(['readLive']);
    expect([decision.status, decision.events]).toEqual([recorded.status, []]);
  });

  it.each(cases)('$name: but it is done once it is proven', ({ observed }) => {
    const before = { ...observed.job, status: settledAsFarAsSeen(observed) };
    const decision = decide({ ...observed, job: before, isStatusProven: true }, NOW);
    const changes = JSON.stringify(decision.status) !== JSON.stringify(before.status) || decision.actions.length > 0;
    expect([changes, kinds(decision.actions).includes('readLive')]).toEqual([true, false]);
  });

  /** What a cache’s view alone leads to be recorded. */
  function settledAsFarAsSeen(observed: Observed): NonNullable<Observed['job']['status']> {
    return settled(seen(observed)).status;
  }

  function creating(): Observed {
    const job = aJob({ status: aStatus({ attempts: [anAttempt({ stage: 'Creating' })] }) });
    return observe({ job, placements: [aPlacement(job)] });
  }
});

describe('what needs no proof', () => {
  it.each<readonly [string, Observed]>([
    ['a gang that runs', aRunningJob({})],
    [
      'a gang whose every pod is seen to have succeeded',
      aRunningJob({ pods: (job) => [0, 1].map((podIndex) => aPod(job, { podIndex, phase: 'Succeeded' })) }),
    ],
    ['a job that waits for its first gang', observe({ job: aJob() })],
    [
      'the word that a gang is to stop, which stands on the job alone',
      aRunningJob({ spec: { spec: { suspend: true } } }),
    ],
  ])('%s', (_what, observed) => {
    expect(kinds(decide(seen(observed), NOW).actions)).not.toContain('readLive');
  });
});

it('asks for the names of missing pods, of which one may be taken, and for nodes that seem lost', () => {
  const observed = aRunningJob({
    pods: () => [],
    observed: {
      nodeStates: new Map([
        ['node-a', 'ready'],
        ['node-b', 'notReady'],
      ]),
    },
  });
  const { actions } = decide(
    seen({ ...observed, job: { ...observed.job, status: settled(seen(observed)).status } }),
    NOW,
  );
  const podNames = ['tiny-gpt-3f1c2b9e-e1-0', 'tiny-gpt-3f1c2b9e-e1-1'];
  expect(actions).toEqual([{ kind: 'readLive', podNames, nodes: ['node-b'] }]);
});
