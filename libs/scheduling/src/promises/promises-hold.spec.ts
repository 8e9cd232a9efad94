import { findNodes } from '@coxswain/fabric';
import fc from 'fast-check';
import { VirtualCluster, type VirtualJob } from '../testing/virtual-cluster.ts';

/** The job fits beside nothing that is there, so it waits for its nodes. */
function aClusterWithHead(head: Partial<VirtualJob> = {}): VirtualCluster {
  const cluster = new VirtualCluster([4]);
  cluster.submit({ name: 'long', pods: 2, minutes: 100 });
  cluster.submit({ name: 'short', pods: 1, minutes: 20 });
  cluster.submit({ name: 'head', pods: 2, minutes: 50, ...head });
  return cluster;
}

describe('while nodes are held for the first in line', () => {
  it.each<[string, VirtualJob, boolean]>([
    ['a job that ends before its start takes a held node', { name: 'next', pods: 1, minutes: 10 }, true],
    ['a job that ends after its start takes none', { name: 'next', pods: 1, minutes: 40 }, false],
    ['a job whose end is not known takes none', { name: 'next', pods: 1, minutes: 1, predictedMinutes: null }, false],
    ['a job of a higher priority takes any', { name: 'next', pods: 1, minutes: 40, priority: 1 }, true],
    ['a job of a lower priority takes none', { name: 'next', pods: 1, minutes: 40, priority: -1 }, false],
    ['a job of another project takes none', { name: 'next', pods: 1, minutes: 40, namespace: 'y' }, false],
  ])('%s', (_sentence, job, want) => {
    const cluster = aClusterWithHead();
    expect(cluster.promiseFor('head')).toMatchObject({
      gpus: new Map([
        ['n0-2', 8],
        ['n0-3', 8],
      ]),
    });
    cluster.submit(job);
    expect(cluster.started.includes('next')).toBe(want);
  });

  it.each<[string, number, boolean]>([
    ['a job of a namespace whose jobs made the steps that they stated takes a held node', 5, true],
    ['a job of a namespace whose last job made ten times its stated steps takes none', 50, false],
  ])('%s', (_sentence, minutes, want) => {
    const cluster = new VirtualCluster([4]);
    cluster.submit({ name: 'before', pods: 1, minutes, predictedMinutes: 5 });
    cluster.nextEnd();
    cluster.submit({ name: 'long', namespace: 'y', pods: 2, minutes: 100 });
    cluster.submit({ name: 'short', namespace: 'y', pods: 1, minutes: 20 });
    cluster.submit({ name: 'head', namespace: 'y', pods: 2, minutes: 50 });
    cluster.submit({ name: 'next', pods: 1, minutes: 10 });
    expect(cluster.started.includes('next')).toBe(want);
  });

  it('nodes that it does not need are free for all', () => {
    const cluster = aClusterWithHead({ pods: 3 });
    expect([...(cluster.promiseFor('head')?.gpus.keys() ?? [])].sort()).toEqual(['n0-0', 'n0-1', 'n0-2']);
    cluster.submit({ name: 'next', pods: 1, minutes: 1_000 });
    expect(cluster.started).toEqual(['long', 'short', 'next']);
  });

  it('it starts when its nodes are free, before jobs that were refused them', () => {
    const cluster = aClusterWithHead();
    cluster.submit({ name: 'next', pods: 1, minutes: 40 });
    expect(cluster.scheduler.waitsBehind('next')).toMatchObject({ name: 'head' });
    cluster.nextEnd();
    expect(cluster.started).toEqual(['long', 'short', 'head']);
    expect(cluster.promiseFor('head')).toBeUndefined();
  });

  it('those whose request was refused to a job that may not use them are found for one that may', () => {
    const cluster = aClusterWithHead();
    cluster.submit({ name: 'refused', pods: 1, minutes: 40 });
    cluster.submit({ name: 'quick', pods: 1, minutes: 10 });
    expect(cluster.started).toEqual(['long', 'short', 'quick']);
  });
});

describe('the first in line loses its nodes at once', () => {
  it.each<[string, Parameters<VirtualCluster['change']>[1]]>([
    ['when it is suspended', { suspend: true }],
    ['when it is cancelled', { cancel: true }],
    ['when it is deleted', 'deleted'],
  ])('%s', (_sentence, change) => {
    const cluster = aClusterWithHead();
    cluster.submit({ name: 'next', pods: 1, minutes: 40 });
    cluster.change('head', change);
    expect(cluster.started).toEqual(['long', 'short', 'next']);
    expect(cluster.promiseFor('head')).toBeUndefined();
  });
});

it('a job whose pods a full quota refuses keeps no nodes from others', () => {
  const cluster = aClusterWithHead();
  cluster.submit({ name: 'next', pods: 1, minutes: 40 });
  cluster.refusePods('head');
  expect(cluster.started).toEqual(['long', 'short', 'next']);
  expect(cluster.promiseFor('head')).toBeUndefined();
});

describe('a new leader', () => {
  it('places no job that comes later before it knows which nodes were held, and then holds them since the same time', () => {
    const cluster = aClusterWithHead();
    // The status of the head is written.
    cluster.reconcile('head');
    cluster.advance(1);
    cluster.restart();
    cluster.submit({ name: 'next', pods: 1, minutes: 40 });
    expect(cluster.started).toEqual(['long', 'short']);
    cluster.reconcile('head');
    cluster.reconcile('next');
    expect(cluster.started).toEqual(['long', 'short']);
    expect(cluster.promiseFor('head')?.promisedAt).toEqual(new Date('2026-01-01T00:00:00Z'));
  });

  it('holds nodes for a job that the leader before refused, as soon as that job asks', () => {
    const cluster = aClusterWithHead();
    cluster.restart();
    cluster.submit({ name: 'other', priority: 1, pods: 1, minutes: 40 });
    cluster.scheduler.offer('gpus');
    cluster.minutes = 1;
    cluster.reconcile('head');
    cluster.scheduler.offer('gpus');
    expect(cluster.promiseFor('head')).toBeDefined();
  });

  it('waits no longer than 30 s for it', () => {
    const cluster = aClusterWithHead();
    cluster.reconcile('head');
    cluster.restart();
    cluster.submit({ name: 'next', pods: 1, minutes: 40 });
    // The head does not ask.
    cluster.minutes = 0.5;
    cluster.reconcile('next');
    expect(cluster.started).toEqual(['long', 'short', 'next']);
  });
});

it.each([
  ['that begins to wait', {}],
  ['whose runtime was read before it began to wait', { readsRuntime: true }],
])('a job %s asks for an offer, by which the nodes are found that are held for it', (_, job) => {
  let offers = 0;
  const cluster = new VirtualCluster([2], { promisesChanged: (uids) => void (offers += uids.length === 0 ? 1 : 0) });
  cluster.submit({ name: 'long', pods: 2, minutes: 100 });
  offers = 0;
  cluster.submit({ name: 'head', pods: 1, minutes: 10, ...job });
  expect(offers).toBeGreaterThan(0);
  cluster.scheduler.offer('gpus');
  expect(cluster.promiseFor('head')?.gpus.size).toBe(1);
});

it('a search that would take long runs beside, and is made again if it fails', async () => {
  let searches = 0;
  const changed: string[] = [];
  const cluster = new VirtualCluster([1_020], {
    findNodes: async ({ request, capacity }) => {
      searches += 1;
      if (searches === 1) throw new Error('the process ended');
      return await Promise.resolve(findNodes(request, capacity));
    },
    promisesChanged: (uids) => void changed.push(...uids),
  });
  cluster.submit({ name: 'long', pods: 1_019, minutes: 100 });
  cluster.submit({ name: 'head', pods: 2, minutes: 100 });
  expect(cluster.scheduler.promiseFor('head')).toBe('deriving');
  await settled();
  expect(cluster.promiseFor('head')).toBeUndefined();
  cluster.advance(1);
  expect(cluster.scheduler.promiseFor('head')).toBe('deriving');
  await settled();
  expect([cluster.promiseFor('head')?.gpus.size, changed]).toEqual([2, ['head']]);
});

/** What was resolved has been answered. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

/** Submits the jobs at their times, checks after each event, and runs on until nothing more starts. */
function run(
  islands: readonly number[],
  jobs: readonly Timed[],
  check: (cluster: VirtualCluster) => void,
): VirtualCluster {
  const cluster = new VirtualCluster(islands);
  for (const { after, ...job } of jobs) {
    cluster.advance(after);
    check(cluster);
    cluster.submit(job);
    check(cluster);
  }
  while (!cluster.isIdle) {
    cluster.nextEnd();
    check(cluster);
  }
  // Whoever was passed over for ten seconds asks again.
  for (let minute = 0; minute < 3; minute += 1) {
    for (const uid of cluster.waiting) cluster.reconcile(uid);
    cluster.advance(1);
    check(cluster);
  }
  return cluster;
}

type Timed = VirtualJob & { readonly after: number };

const shapes = fc
  .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 0, max: 4 }))
  .map(([one, other]) => (other === 0 ? [one] : [one, other]));
/** Jobs that some island holds, and a few that none does. */
const jobsOf = (ends: fc.Arbitrary<number | null | undefined>): fc.Arbitrary<readonly Timed[]> =>
  fc
    .array(
      fc.record({
        after: fc.integer({ min: 0, max: 30 }),
        namespace: fc.constantFrom('x', 'y', 'z'),
        priority: fc.constantFrom(0, 0, 0, 5),
        pods: fc.integer({ min: 1, max: 7 }),
        minutes: fc.integer({ min: 1, max: 120 }),
        factor: ends,
      }),
      { maxLength: 25 },
    )
    .map((jobs) =>
      jobs.map(({ factor, ...job }, at) => ({
        ...job,
        name: `j${at}`,
        ...(factor === undefined ? {} : { predictedMinutes: factor === null ? null : job.minutes * factor }),
      })),
    );

describe('on any cluster', () => {
  const anyEnds = fc.constantFrom(undefined, undefined, null, 0.5, 0.8, 1.5);

  it('no GPU is held twice, and every job that an island holds starts in the end', () => {
    fc.assert(
      fc.property(shapes, jobsOf(anyEnds), (islands, jobs) => {
        const cluster = run(islands, jobs, (now) => {
          const held = new Map<string, number>();
          for (const { metadata } of now.view.jobs())
            for (const [node, gpus] of now.promiseFor(metadata.uid)?.gpus ?? [])
              held.set(node, (held.get(node) ?? 0) + gpus);
          expect([...held].filter(([, gpus]) => gpus > 8)).toEqual([]);
        });
        const fitting = jobs.filter(({ pods }) => pods <= Math.max(...islands)).map(({ name }) => name);
        expect(cluster.started.toSorted()).toEqual(fitting.toSorted());
      }),
      { numRuns: 100 },
    );
  });

  const exactly = fc.constantFrom(undefined, undefined, undefined);
  it.each([
    ['while ends are as predicted', exactly],
    ['but for jobs that run longer than was predicted', anyEnds],
  ])('a start never moves later through the start of a job that is not urgent, %s', (_sentence, ends) => {
    fc.assert(
      fc.property(shapes, jobsOf(ends), (islands, jobs) => {
        const starts = new Map<string, number>();
        const urgent = new Set(jobs.filter(({ priority }) => priority === 5).map(({ name }) => name));
        run(islands, jobs, (now) => {
          if (now.view.jobs().some(({ metadata }) => urgent.has(metadata.name))) return;
          for (const { metadata } of now.view.jobs()) {
            const promise = now.promiseFor(metadata.uid);
            if (promise === undefined) continue;
            const { start, moved = 'no job' } = promise;
            const isLater = start.getTime() > (starts.get(metadata.uid) ?? Infinity) + 60_000;
            starts.set(metadata.uid, start.getTime());
            if (isLater) expect([ends !== exactly, moved]).toEqual([true, expect.stringContaining('runs longer')]);
          }
        });
      }),
      { numRuns: 100 },
    );
  });
});
