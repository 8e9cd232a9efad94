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
    expect(freeQuota(queues, 'own', flavours)).toEqual(expected);
  });
});
