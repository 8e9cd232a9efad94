import type { TrainingJob } from '@coxswain/api-types';
import { FENCE_AFTER_MS, factsOf, fenceWait, isLive, placementOf, podCount } from './facts.ts';
import type { ObservedPod } from './observed.ts';
import { DEFAULT_TIMEOUTS } from './timeouts.ts';
import { aCapacity, aPlacement, aPod, observe } from '../testing/index.ts';
import { aJob, aStatus, NOW } from '../testing/jobs.ts';

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
    ['a rank in two places', { ranks: ['0-1', '1-2'] }],
    ['ranks that are no text', { ranks: [[0], [1]] as never }],
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
    ['a node per entry, where ranks are told', { worldSize: 3, ranksPerPod: 2, ranks: ['0-2', ''] }, 2],
    ['never more than nodes', { worldSize: 40, ranksPerPod: 2 }, 2],
  ])('%s', (_sentence, spec, want) => {
    expect(podCount(aPlacement(aJob(), spec).spec)).toBe(want);
  });
});

describe('a pod that may still compute', () => {
  const { stoppingMs } = DEFAULT_TIMEOUTS;
  const deleted = { uid: 'u', deletionTimestamp: NOW.toISOString(), deletionGracePeriodSeconds: 60 };
  const hungMs = 60_000 + stoppingMs;
  const lostMs = 60_000 + FENCE_AFTER_MS;
  const cases: readonly (readonly [string, Partial<ObservedPod>, 'ready' | 'notReady' | 'gone', number, boolean])[] = [
    ['runs', {}, 'ready', 0, true],
    ['has ended', { phase: 'Failed' }, 'ready', 0, false],
    ['has no node yet', { phase: 'Pending', nodeName: undefined as never }, 'gone', 0, true],
    ['has its grace and two minutes on a node that answers', deleted, 'ready', hungMs - 1, true],
    ['hangs on a node that answers', deleted, 'ready', hungMs, false],
    ['is on a node that does not answer, and nobody deleted it', {}, 'notReady', 1e9, true],
    ['has its grace and half a minute on a node that does not answer', deleted, 'notReady', lostMs - 1, true],
    ['should have ended half a minute ago on a node that does not answer', deleted, 'notReady', lostMs, false],
    ['should have ended half a minute ago on a node that is gone', deleted, 'gone', lostMs, false],
  ];
  it.each(cases)('%s', (...[, overrides, state, seenForMs, want]) => {
    const pod = aPod(aJob(), overrides);
    const elapsedMs = new Map([['deleted/u/60', seenForMs]]);
    const facts = factsOf(observe({ pods: [pod], nodeStates: new Map([['node-a', state]]), elapsedMs }));
    expect(isLive(facts, pod)).toBe(want);
  });

  it.each(['soon', '1970-01-01T00:00:00Z', '2026-01-01T01:20:00Z', '9999-01-01T00:00:00Z'])(
    'is waited for from the moment at which its deletion was seen, whatever the server’s clock said then: %s',
    (deletionTimestamp) => {
      const pod = aPod(aJob(), { ...deleted, deletionTimestamp });
      const facts = factsOf(observe({ pods: [pod], nodeStates: new Map([['node-a', 'gone']]) }));
      expect([isLive(facts, pod), fenceWait(facts, pod)]).toEqual([true, { key: 'deleted/u/60', limitMs: lostMs }]);
    },
  );

  it('is waited for anew when its grace is made shorter', () => {
    const pod = aPod(aJob(), { ...deleted, deletionGracePeriodSeconds: 1 });
    expect(fenceWait(factsOf(observe()), pod)).toEqual({ key: 'deleted/u/1', limitMs: 1_000 + stoppingMs });
  });
});
