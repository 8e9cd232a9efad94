import { reshardMemoryBytes, reshardWorkers } from './reshard-workers.ts';

const GIB = 2 ** 30;

describe('workers of a reshard', () => {
  it.each<[what: string, bytes: number, workers: number]>([
    ['an empty save', 0, 1],
    ['a share of ten minutes', 205 * GIB, 1],
    ['a little more', 206 * GIB, 2],
    ['70B with the moments of Adam', 0.84e12, 4],
    ['405B with the moments of Adam', 4.9e12, 24],
    ['the largest save', 1e15, 48],
  ])('%s', (_what, bytes, workers) => expect(reshardWorkers(bytes)).toBe(workers));

  it('grow with the save, and no number of them leaves some with a larger share', () => {
    let before = 1;
    for (let bytes = GIB; bytes < 1e14; bytes *= 1.3) {
      const workers = reshardWorkers(bytes);
      expect([workers >= before, 48 % workers]).toEqual([true, 0]);
      before = workers;
    }
  });
});

/** FSDP over 1,024 ranks to 768, with the moments of Adam. */
const LARGEST = { read: 3.5e6, written: 2.6e6 };

it.each<[what: string, ...of: Parameters<typeof reshardMemoryBytes>, gib: number]>([
  ['a small save on a claim', { ranks: 8, chunks: { read: 500, written: 500 }, isBucket: false }, 0.5],
  ['405B on a claim', { ranks: 768, chunks: LARGEST, isBucket: false }, 3.88],
  [
    '405B in a bucket, where each file that is being written has a part in memory',
    { ranks: 768, chunks: LARGEST, isBucket: true },
    15.88,
  ],
])('a worker has memory for %s', (_what, of, gib) => {
  expect(reshardMemoryBytes(of) / GIB).toBeCloseTo(gib, 1);
  expect(reshardMemoryBytes(of) % 2 ** 20).toBe(0);
});
