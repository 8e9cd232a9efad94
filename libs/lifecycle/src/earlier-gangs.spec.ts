import { decide } from './decide.ts';
import type { Observed } from './observed.ts';
import { aPlacement, aPod, observe } from './testing/index.ts';
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
    expect(settled(stopping('2026-01-01T00:19:30Z')).status.attempts?.at(-1)?.stage).toBe('Ended');
  });

  it('that was given up does not hold up the next one', () => {
    const job = aJob({ status: aStatus({ attempts: [anAttempt({ epoch: 2, stage: 'Creating' })] }) });
    const givenUp = aPod(job, { epoch: 1, deletionTimestamp: EARLIER });
    const seen = { job, pods: [givenUp], placements: [aPlacement(job, { epoch: 2, nodes: ['node-b', 'node-c'] })] };
    const decision = settled(observe({ ...seen, nodeStates: new Map([['node-a', 'gone']]) }));
    expect(kinds(decision.actions)).toEqual(['createPod', 'createPod']);
  });

  it('of a lost status is not forgotten: the newest Placement tells how far the job had come', () => {
    const job = aJob();
    const placements = [1, 2, 3].map((epoch) => aPlacement(job, { epoch }));
    expect(decide(observe({ job, placements }), NOW).status).toMatchObject({ epoch: 3, attempts: [{ epoch: 3 }] });
  });

  it('suspended before its first pod uses up its epoch, so that another layout gets a new one', () => {
    const job = aJob({ spec: { suspend: true } });
    const { status, actions } = settled(observe({ job, placements: [aPlacement(job)] }));
    expect(status).toMatchObject({
      epoch: 1,
      state: 'Suspended',
      attempts: [{ stage: 'Ended', outcome: 'Suspended' }],
    });
    expect(actions).toEqual([]);
  });
});
