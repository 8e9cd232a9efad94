import fc from 'fast-check';
import { freeQuota } from './free-quota.ts';

interface Limits {
  readonly cohort?: string;
  readonly borrowingLimit?: string;
  readonly lendingLimit?: string;
}

/** A ClusterQueue with quota of GPUs in flavours, as `{ a: [nominal, held] }`. */
function queue(
  name: string,
  flavours: Readonly<Record<string, readonly [nominal: number | string, held: number]>>,
  { cohort, ...limits }: Limits = {},
): unknown {
  const gpus = (fields: object): object[] => [{ name: 'nvidia.com/gpu', ...fields }];
  const entries = Object.entries(flavours);
  return {
    metadata: { name },
    spec: {
      ...(cohort === undefined ? {} : { cohortName: cohort }),
      resourceGroups: [
        {
          coveredResources: ['nvidia.com/gpu'],
          flavors: entries.map(([flavour, [nominalQuota]]) => ({
            name: flavour,
            resources: gpus({ nominalQuota, ...limits }),
          })),
        },
      ],
    },
    status: {
      flavorsReservation: entries.map(([flavour, [, held]]) => ({ name: flavour, resources: gpus({ total: held }) })),
    },
  };
}

const COHORT = { cohort: 'all' };

describe('the quota that no job holds', () => {
  it.each<[string, unknown[], string[], unknown]>([
    ['is what is left of the queue', [queue('own', { a: [16, 6] })], [], { own: 10, withBorrowed: 10 }],
    ['is none of a queue that lends out all', [queue('own', { a: [4, 9] })], [], { own: 0, withBorrowed: 0 }],
    [
      'has what others of the cohort do not use',
      [queue('own', { a: [16, 6] }, COHORT), queue('b', { a: [8, 3] }, COHORT), queue('c', { a: [8, 0] })],
      [],
      { own: 10, withBorrowed: 15 },
    ],
    [
      'misses what others of the cohort have borrowed',
      [queue('own', { a: [16, 6] }, COHORT), queue('b', { a: [8, 12] }, COHORT)],
      [],
      { own: 10, withBorrowed: 6 },
    ],
    [
      'is no more than the queue may borrow',
      [queue('own', { a: [16, 6] }, { ...COHORT, borrowingLimit: '2' }), queue('b', { a: [8, 0] }, COHORT)],
      [],
      { own: 10, withBorrowed: 12 },
    ],
    [
      'is no more than the others lend',
      [queue('own', { a: [16, 6] }, COHORT), queue('b', { a: [8, 0] }, { ...COHORT, lendingLimit: '3' })],
      [],
      { own: 10, withBorrowed: 13 },
    ],
    ['is that of the best flavour', [queue('own', { a: [4, 0], b: [8, 2] })], [], { own: 6, withBorrowed: 6 }],
    ['is that of the flavour of the job', [queue('own', { a: [4, 0], b: [8, 2] })], ['a'], { own: 4, withBorrowed: 4 }],
    ['reads quantities with a suffix', [queue('own', { a: ['2k', 0] })], [], { own: 2_000, withBorrowed: 2_000 }],
    ['is not known of a queue that does not exist', [queue('b', { a: [4, 0] })], [], undefined],
    [
      'is not known of a queue without GPUs',
      [{ metadata: { name: 'own' }, spec: { resourceGroups: [] } }],
      [],
      undefined,
    ],
  ])('%s', (_what, queues, flavours, expected) => {
    expect(freeQuota({ clusterQueues: queues }, 'own', flavours)).toEqual(expected);
  });
});

/** A Cohort with quota of GPUs in flavour `a`. */
function cohort(
  name: string,
  nominal: number,
  { parent, ...limits }: Omit<Limits, 'cohort'> & { readonly parent?: string } = {},
): unknown {
  const { spec } = queue(name, { a: [nominal, 0] }, limits) as { readonly spec: object };
  return { metadata: { name }, spec: { ...spec, ...(parent === undefined ? {} : { parentName: parent }) } };
}

const TEAM = { cohort: 'team' };

describe('the quota that cohorts within cohorts lend', () => {
  it.each<[string, unknown[], unknown[], unknown]>([
    [
      'has the quota of the cohort itself',
      [queue('own', { a: [4, 1] }, TEAM)],
      [cohort('team', 10)],
      { own: 3, withBorrowed: 13 },
    ],
    [
      'has what queues of another cohort with the same parent do not use',
      [queue('own', { a: [4, 4] }, TEAM), queue('b', { a: [8, 2] }, { cohort: 'others' })],
      [cohort('team', 0, { parent: 'all' }), cohort('others', 0, { parent: 'all' })],
      { own: 0, withBorrowed: 6 },
    ],
    [
      'has no more than its cohort may borrow from the parent',
      [queue('own', { a: [4, 4] }, TEAM), queue('b', { a: [8, 2] }, { cohort: 'others' })],
      [cohort('team', 0, { parent: 'all', borrowingLimit: '5' }), cohort('others', 0, { parent: 'all' })],
      { own: 0, withBorrowed: 5 },
    ],
    [
      'has no more than the other cohort lends',
      [queue('own', { a: [4, 4] }, TEAM), queue('b', { a: [8, 2] }, { cohort: 'others' })],
      [cohort('team', 0, { parent: 'all' }), cohort('others', 0, { parent: 'all', lendingLimit: '3' })],
      { own: 0, withBorrowed: 3 },
    ],
    [
      'misses what others of the parent have borrowed from its cohort',
      [queue('own', { a: [4, 0] }, TEAM), queue('b', { a: [8, 11] }, { cohort: 'others' })],
      [cohort('team', 0, { parent: 'all' }), cohort('others', 0, { parent: 'all' })],
      { own: 4, withBorrowed: 1 },
    ],
    [
      'keeps what a queue does not lend, however much others borrow',
      [queue('own', { a: [8, 3] }, { ...TEAM, lendingLimit: '2' }), queue('b', { a: [8, 10] }, { cohort: 'others' })],
      [cohort('team', 0, { parent: 'all' }), cohort('others', 0, { parent: 'all' })],
      { own: 5, withBorrowed: 3 },
    ],
    [
      'counts over three levels',
      [queue('own', { a: [0, 0] }, TEAM)],
      [cohort('team', 1, { parent: 'area' }), cohort('area', 2, { parent: 'all' }), cohort('all', 4)],
      { own: 0, withBorrowed: 7 },
    ],
    [
      'is none where cohorts are in a circle',
      [queue('own', { a: [4, 0] }, TEAM)],
      [cohort('team', 8, { parent: 'all' }), cohort('all', 8, { parent: 'team' })],
      { own: 4, withBorrowed: 0 },
    ],
  ])('%s', (_what, clusterQueues, cohorts, expected) => {
    expect(freeQuota({ clusterQueues, cohorts }, 'own', [])).toEqual(expected);
  });

  it('is one less for each GPU that the queue takes of it, until none is left', () => {
    const gpus = fc.integer({ min: 0, max: 20 });
    const limit = fc.option(gpus.map(String), { nil: undefined });
    const place = fc.constantFrom('team', 'others', 'all');
    const member = fc.record({ nominal: gpus, held: gpus, lendingLimit: limit, borrowingLimit: limit, place });
    fc.assert(
      fc.property(member, fc.array(member, { maxLength: 5 }), gpus, limit, (own, others, shared, teamLimit) => {
        const after = (taken: number): number | undefined => {
          const members = [{ ...own, held: own.held + taken }, ...others];
          const clusterQueues = members.map(({ nominal, held, place: of, ...limits }, index) =>
            queue(index === 0 ? 'own' : `q${index}`, { a: [nominal, held] }, { cohort: of, ...given(limits) }),
          );
          const cohorts = [
            cohort('team', 3, { parent: 'all', ...given({ borrowingLimit: teamLimit }) }),
            cohort('others', 0, { parent: 'all' }),
            cohort('all', shared),
          ];
          return freeQuota({ clusterQueues, cohorts }, 'own', [])?.withBorrowed;
        };
        const free = after(0) ?? NaN;
        for (let taken = 0; taken <= free + 1; taken += 1) expect(after(taken)).toBe(Math.max(0, free - taken));
      }),
    );
  });
});

/** The limits that are set. */
function given(limits: {
  readonly borrowingLimit?: string | undefined;
  readonly lendingLimit?: string | undefined;
}): Limits {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}
