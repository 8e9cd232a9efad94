import { aTrainingJob } from '@coxswain/api-types/testing';
import type { TrainingJobStatus } from '@coxswain/api-types';
import fc from 'fast-check';
import { aPlacement, GPUS_PER_POD, LAGGING, SharedCluster, World, type WorldFault } from '../testing/index.ts';

const NODES = ['node-a', 'node-b', 'node-c', 'node-d', 'node-e'];

/** Jobs of two pods each on nodes that hold one pod each, and one operator for all of them. */
class Town {
  readonly cluster: SharedCluster;
  readonly jobs: readonly World[];
  readonly violations: string[] = [];

  constructor(namespaces: readonly string[], nodes: readonly string[] = NODES) {
    this.cluster = new SharedCluster({ nodes, nodeFacts: {}, monotonicMs: () => this.nowMs });
    this.jobs = namespaces.map((namespace, index) => {
      const metadata = { name: `job-${index}`, namespace, uid: `${String(index).padStart(8, '0')}-uid` };
      const job = aTrainingJob({ metadata, spec: { restartPolicy: { maxRestarts: 1000, delaySeconds: 0 } } });
      return new World(job, {}, [], this.cluster);
    });
  }

  get nowMs(): number {
    return this.jobs[0]?.now.getTime() ?? 0;
  }

  /** The operator looks at that job. */
  reconcile(index: number): boolean {
    const wrote = this.jobs[index % this.jobs.length]?.reconcile() ?? false;
    this.#audit();
    return wrote;
  }

  /** The operator looks at every job, in their order; says whether it wrote anything. */
  reconcileAll(): boolean {
    return this.jobs.map((_, index) => this.reconcile(index)).includes(true);
  }

  tick(ms: number, finishes = false): void {
    for (const job of this.jobs) job.tick(ms, finishes);
    this.#audit();
  }

  /** Whose gang is there, by number. */
  placed(): readonly number[] {
    return this.jobs.flatMap(({ job }, index) => (isUnderWay(job?.status) ? [index] : []));
  }

  /** GPUs of gangs that are released and wanted: what an auditor adds up from pods and status as the server holds them. */
  #audit(): void {
    const used = new Map<string, string[]>();
    for (const { job, pods } of this.jobs) {
      const attempt = job?.status?.attempts?.at(-1);
      if (attempt?.stage !== 'Released') continue;
      for (const pod of pods) {
        const hasEnded = pod.phase === 'Succeeded' || pod.phase === 'Failed';
        if (pod.epoch !== attempt.epoch || pod.gated || hasEnded || pod.nodeName === undefined) continue;
        used.set(pod.nodeName, [...(used.get(pod.nodeName) ?? []), pod.name]);
      }
    }
    for (const [node, names] of used)
      if (names.length * GPUS_PER_POD > 2) this.violations.push(`${node} was given to ${names.join(' and ')}`);
  }

  settle(): void {
    for (const job of this.jobs) job.apply({ kind: 'restoreNodes' });
    for (let quiet = 0, rounds = 0; quiet < 3; rounds += 1) {
      expect(rounds).toBeLessThan(500);
      const wrote = this.reconcileAll();
      this.tick(wrote ? 100 : 120_000, true);
      quiet = wrote ? 0 : quiet + 1;
    }
  }
}

function isUnderWay(status: TrainingJobStatus | undefined): boolean {
  return ['Creating', 'Released'].includes(status?.attempts?.at(-1)?.stage ?? '');
}

const trouble: fc.Arbitrary<WorldFault> = fc.oneof(
  fc.record({ kind: fc.constant('exit' as const), code: fc.constantFrom(1, 137), pick: fc.nat(9) }),
  fc.record({ kind: fc.constantFrom('deletePod' as const, 'evict' as const, 'loseNode' as const), pick: fc.nat(9) }),
  fc.record({ kind: fc.constantFrom('restoreNodes' as const, 'suspend' as const, 'resume' as const) }),
  fc.record({
    kind: fc.constant('staleObservation' as const),
    looksAgo: fc.integer({ min: 1, max: 12 }),
    of: fc.subarray([...LAGGING], { minLength: 1 }),
  }),
  fc.record({
    kind: fc.constant('crash' as const),
    afterWrites: fc.nat(6),
    lateMs: fc.constantFrom(0, 1_000, 10_000, 60_000),
  }),
);

const story = fc.array(
  fc.record({
    job: fc.nat(3),
    faults: fc.array(trouble, { maxLength: 1 }),
    tickMs: fc.constantFrom(0, 0, 1_000, 20_000),
    finishes: fc.boolean(),
  }),
  { maxLength: 60 },
);

describe('several jobs in one small cluster', () => {
  it('never have a GPU in common, whatever lags, dies or comes late, and all of them end', () => {
    fc.assert(
      fc.property(story, (moments) => {
        const town = new Town(['a', 'a', 'b', 'c']);
        for (const { job, faults, tickMs, finishes } of moments) {
          for (const fault of faults) town.jobs[job]?.apply(fault);
          town.reconcile(job);
          town.tick(tickMs, finishes);
        }
        for (const job of town.jobs) job.apply({ kind: 'resume' });
        town.settle();
        expect([...town.violations, ...town.jobs.flatMap(({ violations }) => violations)]).toEqual([]);
        expect(town.jobs.map(({ job }) => job?.status?.state)).toEqual(town.jobs.map(() => 'Complete'));
        expect(town.cluster.scheduler.reservations()).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });

  // The second write of a new job is its finalizer, the third the attempt with its hash, the fourth its Placement, then its pods.
  describe.each([0, 1, 2, 3, 4, 5, 6])(
    'of which the first leader dies after %i writes, with the next one on its way for 10 s',
    (afterWrites) => {
      it.each([
        ['all the time', true],
        ['only after it has come', false],
      ])('do not get the same place where the job is looked at %s', (_when, isLookedAt) => {
        const town = new Town(['a', 'b'], ['node-a', 'node-b']);
        town.jobs[0]?.apply({ kind: 'crash', afterWrites, lateMs: 10_000 });
        town.reconcile(0);
        town.reconcile(1);
        for (let seconds = 0; seconds < 60; seconds += 1) {
          town.tick(1_000);
          if (isLookedAt || seconds > 10) town.reconcile(0);
          town.reconcile(1);
        }
        expect([town.violations, town.placed().length]).toEqual([[], 1]);
        town.settle();
        expect(town.jobs.map(({ job }) => job?.status?.state)).toEqual(['Complete', 'Complete']);
      });
    },
  );
});

describe('a gang that was placed', () => {
  it.each([
    ['its Placement', ['placements']],
    ['the status that records it', ['job']],
    ['its pods', ['pods']],
    ['all that was written of it', ['job', 'pods', 'placements']],
  ] as const)('keeps its GPUs while the view lacks %s', (_what, of) => {
    const town = new Town(['a', 'b'], ['node-a', 'node-b']);
    town.reconcile(0);
    for (let reconcileTwice = 1; reconcileTwice < 5; reconcileTwice += 1) {
      town.jobs[0]?.apply({ kind: 'staleObservation', looksAgo: reconcileTwice, of: [...of] });
      town.reconcile(1);
    }
    expect([town.placed(), town.violations]).toEqual([[0], []]);
  });

  it('gives them up when its job is gone, though nobody looks at it any more', () => {
    const town = new Town(['a', 'b'], ['node-a', 'node-b']);
    const [first] = town.jobs;
    if (first?.job === undefined) throw new Error('there is no job');
    town.reconcile(1);
    town.jobs[1]?.apply({ kind: 'suspend' });
    town.reconcileAll();
    const { scheduler } = town.cluster;
    const { spec } = aPlacement(first.job, { epoch: 9 });
    expect(scheduler.reserve(spec, scheduler.capacityFor('').version)).toBe(true);
    first.job = undefined;
    town.reconcile(1);
    expect(scheduler.reservations()).toEqual([]);
  });
});

describe('GPUs for which a job was about to be placed', () => {
  it.each([
    ['are given to another where the server refuses the status that records it', 'refused', [1]],
    ['are given to another where the operator has no right to record it', 'needsPerson', [1]],
    ['stay reserved while the server is away, and nobody knows whether it was recorded', 'transient', []],
  ] as const)('%s', (_what, cause, placed) => {
    const town = new Town(['a', 'b'], ['node-a', 'node-b']);
    const [first] = town.jobs;
    if (first === undefined) throw new Error('there is no job');
    first.refusesStatus = ({ epoch = 0 }) => (epoch > 0 ? cause : undefined);
    expect(() => town.reconcile(0)).toThrow(cause);
    town.reconcile(1);
    expect([town.placed(), town.violations]).toEqual([placed, []]);
    first.refusesStatus = () => undefined;
    town.settle();
    expect(town.jobs.map(({ job }) => job?.status?.state)).toEqual(['Complete', 'Complete']);
  });
});

describe('jobs that wait for GPUs', () => {
  const untilPlaced = (town: Town, finish: number): number => {
    // The gang ends, and jobs are looked at by their timers before anybody is offered what it leaves.
    town.jobs[finish]?.tick(0, true);
    town.reconcile(finish);
    for (const index of town.jobs.keys()) if (index !== finish) town.reconcile(index);
    const turns = town.cluster.scheduler.offer('gpus');
    for (const { metadata } of turns)
      town.reconcile(town.jobs.findIndex(({ job }) => job?.metadata.uid === metadata.uid));
    town.tick(1_000);
    const [placed = -1] = town.placed();
    return placed;
  };

  it('get their turn namespace by namespace, whoever has more jobs, waits longer or is looked at in between', () => {
    const town = new Town(['big', 'big', 'big', 'big', 'small', 'small', 'other'], ['node-a', 'node-b']);
    for (const index of town.jobs.keys()) {
      town.tick(1_000);
      town.reconcile(index);
    }
    town.tick(1_000);
    const order = [town.placed()[0] ?? -1];
    while (order.length < town.jobs.length) order.push(untilPlaced(town, order.at(-1) ?? 0));
    // Nodes are held for job 1, which was the first to wait. After that the namespace had two turns, so both of the next go first.
    expect(order).toEqual([0, 1, 4, 6, 5, 2, 3]);
    expect(town.violations).toEqual([]);
  });

  it('are searched a place for only when what refused them changed', () => {
    const town = new Town(['a', 'a', 'b', 'c'], ['node-a', 'node-b', 'node-c']);
    town.reconcileAll();
    town.tick(1_000);
    town.reconcileAll();
    const { cluster } = town;
    const searchesOf = (act: () => void): number => {
      const before = cluster.searches;
      act();
      return cluster.searches - before;
    };
    expect(town.placed()).toEqual([0]);
    const reconcileTwice = (): void => {
      for (let seconds = 0; seconds < 60; seconds += 1) {
        town.tick(1_000);
        cluster.scheduler.offer('gpus');
        town.reconcileAll();
      }
    };
    // The nodes that are held for the first in line are worked out once a minute.
    expect(searchesOf(reconcileTwice)).toBe(1);
    town.jobs[0]?.tick(0, true);
    town.reconcile(0);
    expect(searchesOf(() => town.reconcile(2))).toBe(0);
    expect(cluster.scheduler.offer('gpus').length).toBe(3);
    town.reconcile(1);
    expect(town.placed()).toEqual([1]);
    // One node is free: whoever is next in turn is refused anew, and whoever comes then asks for the same.
    expect([2, 3].map((index) => searchesOf(() => town.reconcile(index)))).toEqual([1, 0]);
    // Once more for each of: the start of job 1, its running pods, the minute that passed.
    expect(searchesOf(reconcileTwice)).toBe(3);
  });
});
