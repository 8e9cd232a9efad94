import type { Attempt } from '@coxswain/api-types';
import { aTrainingJob, anAttempt } from '@coxswain/api-types/testing';
import { aPlacement, aPod, observe } from '../testing/index.ts';
import { factsOf } from '../observation/facts.ts';
import type { ObservedPod } from '../observation/observed.ts';
import { recordOf } from '../record/job-record.ts';
import { recordHeldGpus } from './record-held-gpus.ts';

const NOW = new Date('2026-01-01T00:10:00.000Z');
const AT = NOW.toISOString();
const lost: Partial<Attempt> = { stage: 'Ended', outcome: 'Failed', reason: 'NodeLost', endedAt: AT };

const NO_NODE = 'none';
function withoutNode(pod: ObservedPod): ObservedPod {
  const { nodeName, ...rest } = pod;
  return nodeName === NO_NODE ? rest : pod;
}

/** GPUs that the record has after an observation, of each change. */
function heldAfter(attempt: Partial<Attempt>, pods: readonly Partial<ObservedPod>[], hasPlacement = true): unknown {
  const attempts = [anAttempt({ ...lost, ...attempt })];
  const job = aTrainingJob({ status: { epoch: 1, restarts: { total: 0, charged: 0 }, attempts } });
  const placements = hasPlacement ? [aPlacement(job)] : [];
  const observed = observe({ job, placements, pods: pods.map((pod) => withoutNode(aPod(job, pod))) });
  const record = recordOf(job);
  return recordHeldGpus(record, factsOf(observed, record), NOW).attempts[0]?.heldByFenced;
}

const hanging = { podIndex: 1, nodeName: 'node-b', running: true, deletionTimestamp: '2026-01-01T00:05:00Z' };
const before = [{ at: '2026-01-01T00:08:00.000Z', gpus: 2 }];

describe('GPUs of fenced pods', () => {
  it.each<[string, Partial<Attempt>, readonly Partial<ObservedPod>[], unknown]>([
    ['are recorded once the attempt has ended', {}, [hanging], [{ at: AT, gpus: 2 }]],
    [
      'of several pods are added',
      {},
      [hanging, { ...hanging, podIndex: 0, nodeName: 'node-a' }],
      [{ at: AT, gpus: 4 }],
    ],
    ['are not written again while their number stays', { heldByFenced: before }, [hanging], before],
    ['are free once the pod is gone', { heldByFenced: before }, [], [...before, { at: AT, gpus: 0 }]],
    [
      'are free once the pod has ended',
      { heldByFenced: before },
      [{ ...hanging, running: false, phase: 'Failed' }],
      [...before, { at: AT, gpus: 0 }],
    ],
    ['are none of a pod that never had a node', {}, [{ ...hanging, nodeName: NO_NODE }], undefined],
    ['are none of an attempt that has not ended', { stage: 'Stopping' }, [hanging], undefined],
    ['are none without such pods', {}, [], undefined],
  ])('%s', (_sentence, attempt, pods, want) => {
    expect(heldAfter(attempt, pods)).toEqual(want);
  });

  it('stay as recorded while the pod is there and its Placement is not', () => {
    expect(heldAfter({ heldByFenced: before }, [hanging], false)).toEqual(before);
  });

  it('are free once the pod is gone, also if its Placement is', () => {
    expect(heldAfter({ heldByFenced: before }, [], false)).toEqual([...before, { at: AT, gpus: 0 }]);
  });

  it.each([
    ['the pod that lost its ranks', 1, 1],
    ['the standby that got them', 2, 2],
  ])('are those that the pod requests, also of a smaller last pod: %s', (_who, podIndex, gpus) => {
    const replacements = [{ podIndex: 1, standby: 2, incarnation: 2 }];
    const layout = { ...anAttempt().layout, tensorParallelDegree: 1, dataParallelDegree: 3 };
    const attempt = anAttempt({ ...lost, layout, incarnation: 2, standbys: 1, standbyGpus: 2, replacements });
    const job = aTrainingJob({ status: { epoch: 1, restarts: { total: 0, charged: 0 }, attempts: [attempt] } });
    const nodes = ['node-a', 'node-b', 'node-c'];
    const placements = [aPlacement(job, { nodes, ranks: ['0-1', '2', ''], worldSize: 3, layout })];
    const pod = aPod(job, { ...hanging, podIndex, nodeName: nodes[podIndex] ?? '' });
    const record = recordOf(job);
    const held = recordHeldGpus(record, factsOf(observe({ job, placements, pods: [pod] }), record), NOW);
    expect(held.attempts[0]?.heldByFenced).toEqual([{ at: AT, gpus }]);
  });

  it('are kept for sixteen changes; the newest is never left out', () => {
    const many = Array.from({ length: 16 }, (_, index) => ({ at: AT, gpus: index + 3 }));
    const kept = heldAfter({ heldByFenced: many }, []) as readonly { gpus: number }[];
    expect(kept).toHaveLength(16);
    expect(kept.at(-1)?.gpus).toBe(0);
  });
});
