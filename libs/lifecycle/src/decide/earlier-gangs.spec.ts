import type { TrainingJob } from '@coxswain/api-types';
import { decide } from './decide.ts';
import type { NodeState, Observed, ObservedPod } from '../observation/observed.ts';
import { aCapacity, aCheckpoint, anExit, aNode, aPlacement, aPod, observe } from '../testing/index.ts';
import { aJob, anAttempt, aRunningJob, aStatus, EARLIER, kinds, NOW, settled } from '../testing/jobs.ts';

describe('an earlier gang', () => {
  const deleted = { uid: 'u', deletionTimestamp: EARLIER, deletionGracePeriodSeconds: 1 };
  const seenFor = (ms: number): ReadonlyMap<string, number> => new Map([['deleted/u/1', ms]]);
  const stopping = (seenForMs: number, state: NodeState): Observed =>
    aRunningJob({
      status: {
        attempts: [
          anAttempt({ stage: 'Stopping', outcome: 'Failed', reason: 'NodeLost', charged: false, answer: 'Restart' }),
        ],
      },
      pods: (job) => [aPod(job, deleted)],
      observed: {
        nodeStates: new Map([['node-a', state]]),
        elapsedMs: seenFor(seenForMs),
        capacity: () => aCapacity(['node-a', 'node-b', 'node-c'].map((name) => aNode({ name }))),
      },
    });

  it.each<[NodeState, number, number]>([
    ['notReady', 11_000, 20_000],
    ['gone', 11_000, 20_000],
    ['ready', 11_000, 110_000],
  ])('is waited for while its node (%s) may still run it', (state, seenForMs, wantMs) => {
    const decision = settled(stopping(seenForMs, state));
    expect(decision.status.attempts?.at(-1)?.stage).toBe('Stopping');
    expect(decision.requeueAfterMs).toBe(wantMs);
  });

  it('counts as fenced 30 s after its deletion was due on a node that does not answer', () => {
    expect(settled(stopping(31_000, 'notReady')).status.attempts?.[0]?.stage).toBe('Ended');
  });

  it('that hangs on a node that answers is fenced after two minutes, and its node avoided as long as it hangs', () => {
    const { status, actions } = settled(stopping(121_000, 'ready'));
    expect(status).toMatchObject({
      attempts: [{ stage: 'Ended' }, { epoch: 2, stage: 'Creating' }],
      avoidedNodes: [{ node: 'node-a', reason: 'NotStopped', epoch: 1 }],
    });
    expect(actions).toMatchObject([{ kind: 'createPlacement', spec: { epoch: 2, nodes: ['node-c', 'node-b'] } }]);
    const later = new Map([...seenFor(9_000_000), [`avoided/node-a/${NOW.toISOString()}`, 9_000_000] as const]);
    const hangs = stopping(0, 'ready');
    const again = settled({ ...hangs, job: { ...hangs.job, status }, elapsedMs: later });
    expect(again.status.avoidedNodes).toHaveLength(1);
    const ended = settled({ ...hangs, job: { ...hangs.job, status }, pods: [], elapsedMs: later });
    expect(ended.status.avoidedNodes).toBeUndefined();
  });

  it.each([-1, 0, 1])(
    'is judged by how long it was seen, wherever the server’s clock stands (%i h from ours)',
    (hours) => {
      const deletionTimestamp = new Date(NOW.getTime() + hours * 3_600_000).toISOString();
      const seen = stopping(30_000, 'notReady');
      const pods = seen.pods.map((pod) => ({ ...pod, deletionTimestamp }));
      expect(settled({ ...seen, pods }).status.attempts?.at(-1)?.stage).toBe('Stopping');
      expect(settled({ ...seen, pods, elapsedMs: seenFor(31_000) }).status.attempts?.[0]?.stage).toBe('Ended');
    },
  );

  it('that was given up does not hold up the next one', () => {
    const job = aJob({ status: aStatus({ attempts: [anAttempt({ epoch: 2, stage: 'Creating' })] }) });
    const givenUp = aPod(job, { epoch: 1, ...deleted });
    const seen = { job, pods: [givenUp], placements: [aPlacement(job, { epoch: 2, nodes: ['node-b', 'node-c'] })] };
    const elapsedMs = seenFor(31_000);
    const decision = settled(observe({ ...seen, elapsedMs, nodeStates: new Map([['node-a', 'gone']]) }));
    expect(kinds(decision.actions)).toEqual(['createPod', 'createPod']);
  });

  it('of a lost status is not forgotten: its pods go, and their epoch is not used again', () => {
    const job = aJob();
    const lost = { job, pods: [aPod(job, { epoch: 3 })], placements: [aPlacement(job, { epoch: 3 })] };
    const going = settled(observe(lost));
    expect(going.status).toMatchObject({ epoch: 3, summary: 'Pods of an earlier attempt are still terminating.' });
    expect(going.actions).toMatchObject([{ kind: 'deletePods', pods: [{ name: 'tiny-gpt-3f1c2b9e-e3-0' }] }]);
    const status = settled(observe({ ...lost, job: { ...job, status: going.status }, pods: [] })).status;
    expect(status).toMatchObject({ epoch: 4, attempts: [{ epoch: 4 }] });
  });

  it.each([
    ['that was placed', { placements: [aPlacement(aJob(), { epoch: 3 })] }, 4],
    ['that saved', { checkpoints: [aCheckpoint(aJob(), { spec: { epoch: 5 } })] }, 6],
    ['of a number that nobody reaches', { placements: [aPlacement(aJob(), { epoch: 2 ** 53 - 1 })] }, 1],
  ])('of a lost status %s is not begun again', (_sentence, left, epoch) => {
    expect(decide(observe(left), NOW).status).toMatchObject({ epoch, attempts: [{ epoch }] });
  });

  it('suspended before its first pod uses up its epoch, so that another layout gets a new one', () => {
    const job = aJob({ spec: { suspend: true }, status: aStatus({ attempts: [anAttempt({ stage: 'Creating' })] }) });
    const { status, actions } = settled(observe({ job, placements: [aPlacement(job)] }));
    expect(status).toMatchObject({
      epoch: 1,
      state: 'Suspended',
      attempts: [{ stage: 'Ended', outcome: 'Suspended' }],
    });
    expect(actions).toEqual([]);
  });

  it('suspended when its pods are made and before they may start is never released', () => {
    const status = aStatus({ attempts: [anAttempt({ stage: 'Creating' })] });
    const job = aJob({ spec: { suspend: true }, status });
    const pods = [0, 1].map((podIndex) => aPod(job, { podIndex, gated: true, phase: 'Pending', running: false }));
    const { status: decided } = decide(observe({ job, pods, placements: [aPlacement(job)] }), NOW);
    expect(decided.attempts).toMatchObject([{ stage: 'Stopping', outcome: 'Suspended' }]);
    expect(decided.attempts?.[0]?.releasedAt).toBe(status.attempts?.[0]?.releasedAt);
  });

  it('a pod of a later epoch beside a gang that lives was made by somebody else: it goes, and the gang stays', () => {
    const forged = (job: TrainingJob, epoch: number): ObservedPod => aPod(job, { epoch });
    const { status, actions } = settled(
      aRunningJob({ pods: (job) => [aPod(job), aPod(job, { podIndex: 1 }), forged(job, 2), forged(job, 999_999_999)] }),
    );
    expect(status).toMatchObject({ epoch: 1, attempts: [{ epoch: 1, stage: 'Released' }] });
    const deleted = actions.flatMap((action) =>
      action.kind === 'deletePods' ? action.pods.map(({ name }) => name) : [],
    );
    expect(deleted.map((name) => name.replace(/^.*-e/, 'e'))).toEqual(['e2-0', 'e999999999-0']);
  });

  it('a pod whose name is not that of its place is nobody’s word about the job', () => {
    const named = (job: TrainingJob): ObservedPod => ({
      ...aPod(job, { phase: 'Failed', exit: anExit({ exitCode: 93 }, { kind: 'doNotRestart' }) }),
      name: 'whatever',
    });
    const { status, actions } = settled(
      aRunningJob({ pods: (job) => [aPod(job), aPod(job, { podIndex: 1 }), named(job)] }),
    );
    expect([status.attempts?.at(-1)?.stage, actions]).toEqual(['Released', []]);
  });
});
