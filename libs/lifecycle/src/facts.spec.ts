import type { TrainingJob } from '@coxswain/api-types';
import { FENCE_AFTER_MS, factsOf, fencedAt, isLive, placementOf, podCount } from './facts.ts';
import type { ObservedPod } from './observed.ts';
import { aCapacity, aPlacement, aPod, observe } from './testing/index.ts';
import { aJob, aStatus, NOW } from './testing/jobs.ts';

describe('what is read of a job', () => {
  it.each([
    ['a suspend of a spec that cannot be run', { suspend: true, engine: 7 }, { suspend: true, cancel: false }],
    ['a cancel of a spec that cannot be run', { cancel: true }, { suspend: false, cancel: true }],
    ['words are no wish', { suspend: 'yes', cancel: 1 }, { suspend: false, cancel: false }],
  ])('%s', (_sentence, spec, want) => {
    expect(factsOf(observe({ job: { ...aJob(), spec: spec as never } }))).toMatchObject({ spec: undefined, ...want });
  });

  it('what is wrong with a spec is told with its field', () => {
    const job = { ...aJob(), spec: { ...aJob().spec, gpus: -1 } as TrainingJob['spec'] };
    expect(factsOf(observe({ job })).specProblem).toMatch(/^spec\.gpus: /);
  });

  it('others’ objects are left out: pods, placements and checkpoints of another UID', () => {
    const job = aJob({ status: aStatus() });
    const other = { ...job, metadata: { ...job.metadata, uid: 'other' } };
    const facts = factsOf(
      observe({
        job,
        pods: [aPod(job, { ours: false }), aPod(job, { podIndex: 1 })],
        placements: [aPlacement(other), aPlacement(job)],
      }),
    );
    expect(facts.pods.map(({ podIndex }) => podIndex)).toEqual([1]);
    expect([...facts.foreignPodNames]).toEqual(['tiny-gpt-3f1c2b9e-e1-0']);
    expect(facts.placements).toHaveLength(1);
  });

  it.each([
    ['no nodes', { nodes: [] }],
    ['no ranks per pod', { ranksPerPod: 0 }],
    ['an epoch that is no count', { epoch: -1 }],
  ])('a placement with %s is none', (_sentence, spec) => {
    const job = aJob({ status: aStatus() });
    expect(placementOf(factsOf(observe({ job, placements: [aPlacement(job, spec)] })), 1)).toBeUndefined();
  });

  it('the capacity is asked for once at most, however often it is used', () => {
    let asked = 0;
    const facts = factsOf(observe({ capacity: () => (asked++, aCapacity()) }));
    expect(asked).toBe(0);
    expect(facts.capacity()).toBe(facts.capacity());
    expect(asked).toBe(1);
  });
});

describe('how many pods a placement asks for', () => {
  it.each([
    ['a node per full pod', { worldSize: 4, ranksPerPod: 2 }, 2],
    ['a last pod that is not full', { worldSize: 3, ranksPerPod: 2 }, 2],
    ['never more than nodes', { worldSize: 40, ranksPerPod: 2 }, 2],
  ])('%s', (_sentence, spec, want) => {
    expect(podCount(aPlacement(aJob(), spec).spec)).toBe(want);
  });
});

describe('a pod that may still compute', () => {
  const deletedAt = new Date(NOW.getTime() - FENCE_AFTER_MS).toISOString();
  const cases: readonly (readonly [string, Partial<ObservedPod>, 'ready' | 'notReady' | 'gone', boolean])[] = [
    ['runs', {}, 'ready', true],
    ['has ended', { phase: 'Failed' }, 'ready', false],
    ['has no node yet', { phase: 'Pending', nodeName: undefined as never }, 'gone', true],
    ['is deleted on a node that answers', { deletionTimestamp: deletedAt }, 'ready', true],
    ['is on a node that does not answer, and nobody deleted it', {}, 'notReady', true],
    [
      'should have ended half a minute ago on a node that does not answer',
      { deletionTimestamp: deletedAt },
      'notReady',
      false,
    ],
    ['should have ended a moment ago on a node that is gone', { deletionTimestamp: NOW.toISOString() }, 'gone', true],
    ['was deleted at a time that cannot be read, on a node that is gone', { deletionTimestamp: 'soon' }, 'gone', false],
  ];
  it.each(cases)('%s', (_sentence, overrides, state, want) => {
    const pod = aPod(aJob(), overrides);
    const facts = factsOf(observe({ pods: [pod], nodeStates: new Map([['node-a', state]]) }));
    expect(isLive(facts, pod, NOW)).toBe(want);
    if (state === 'ready') expect(fencedAt(facts, pod)).toBeUndefined();
  });
});
