import { decide } from './decide.ts';
import type { Observed } from './observed.ts';
import { aCheckpoint, aPlacement, aPod, observe } from './testing/index.ts';
import { aJob, anAttempt, aRunningJob, aStatus, EARLIER, kinds, NOW, settled } from './testing/jobs.ts';

describe('an earlier gang', () => {
  const stopping = (deletionTimestamp: string): Observed =>
    aRunningJob({
      status: {
        attempts: [
          anAttempt({ stage: 'Stopping', outcome: 'Failed', reason: 'NodeLost', charged: false, answer: 'Restart' }),
        ],
      },
      pods: (job) => [aPod(job, { deletionTimestamp })],
      observed: {
        nodeStates: new Map([['node-a', 'notReady']]),
      },
    });

  it('is waited for while its node may still run it', () => {
    const decision = settled(stopping('2026-01-01T00:19:50Z'));
    expect(decision.status.attempts?.at(-1)?.stage).toBe('Stopping');
    expect(decision.requeueAfterMs).toBe(20_000);
  });

  it('counts as fenced 30 s after its deletion was due on a node that does not answer', () => {
    expect(settled(stopping('2026-01-01T00:19:30Z')).status.attempts?.[0]?.stage).toBe('Ended');
  });

  it('that was given up does not hold up the next one', () => {
    const job = aJob({ status: aStatus({ attempts: [anAttempt({ epoch: 2, stage: 'Creating' })] }) });
    const givenUp = aPod(job, { epoch: 1, deletionTimestamp: EARLIER });
    const seen = { job, pods: [givenUp], placements: [aPlacement(job, { epoch: 2, nodes: ['node-b', 'node-c'] })] };
    const decision = settled(observe({ ...seen, nodeStates: new Map([['node-a', 'gone']]) }));
    expect(kinds(decision.actions)).toEqual(['createPod', 'createPod']);
  });

  it('of a lost status is not forgotten: its pods go, and their epoch is not used again', () => {
    const job = aJob();
    const lost = { job, pods: [aPod(job, { epoch: 3 })], placements: [aPlacement(job, { epoch: 3 })] };
    const going = settled(observe(lost));
    expect(going.status).toMatchObject({ epoch: 3, summary: 'Pods of an earlier epoch are still going away.' });
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
});
