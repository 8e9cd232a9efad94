import fc from 'fast-check';
import { filesOfRanks } from './files-of-ranks.ts';

interface Asked {
  readonly path: string;
  readonly worldSize?: number;
  /** Files that the manifest lists before it. */
  readonly before?: number;
}
const range = (length: number): readonly number[] => Array.from({ length }, (_, index) => index);
const fileAt = (path: string) => ({ path, bytes: 1, sha256: 'a'.repeat(64) });
const whose = ({ path, worldSize = 4, before = 0 }: Asked): number => {
  const files = [...Array.from({ length: before }, (_, index) => fileAt(`filler-${index}`)), fileAt(path)];
  return range(worldSize).findIndex((one) =>
    filesOfRanks(files, { ranks: [one], worldSize }).some((file) => file.path === path),
  );
};

describe('a file of a checkpoint is looked at by', () => {
  it.each([
    ['the rank that wrote it, of PyTorch DCP', { path: '__3_0.distcp' }, 3],
    ['the rank that wrote it, in a directory of its own', { path: 'model/__2_1.distcp' }, 2],
    ['the rank that wrote it, behind a hint of Megatron', { path: 'iter_0000100__1_0.distcp' }, 1],
    ['the rank that wrote it, of rank-local metadata', { path: '__2.metadata' }, 2],
    ['the rank that wrote it, of a local checkpoint', { path: 'iter_0000100_3_local.pt' }, 3],
    ['the rank that wrote it, of the stand-in engine', { path: 'rank-00002.bin' }, 2],
    ['the rank whose turn it is, where its writer is no rank of this gang', { path: '__9_0.distcp', before: 2 }, 2],
    ['the rank whose turn it is, where all share it', { path: '.metadata', before: 5 }, 1],
    [
      'the rank whose turn it is, where its name tells a place in a grid',
      { path: 'zero_pp_rank_3_mp_rank_00_x.pt' },
      0,
    ],
    ['the only rank there is', { path: '__3_0.distcp', worldSize: 1 }, 0],
  ])('%s', (_sentence, asked, want) => {
    expect(whose(asked)).toBe(want);
  });

  it('exactly one pod of the gang, whatever was saved by however many ranks', () => {
    const path = fc.oneof(
      fc.tuple(fc.nat(40), fc.nat(3)).map(([rank, part]) => `__${rank}_${part}.distcp`),
      fc.nat(99).map((number) => `shared-${number}`),
    );
    fc.assert(
      fc.property(
        fc.uniqueArray(path, { maxLength: 60 }),
        fc.integer({ min: 1, max: 24 }),
        fc.integer({ min: 1, max: 8 }),
        (paths, worldSize, perPod) => {
          const files = paths.map(fileAt);
          const pods = Math.ceil(worldSize / perPod);
          // Not in a row: a pod's ranks may be any.
          const ranksOf = (pod: number): readonly number[] => range(worldSize).filter((one) => one % pods === pod);
          const shares = range(pods).map((pod) => filesOfRanks(files, { ranks: ranksOf(pod), worldSize }));
          const filePaths = shares.flat().map((file) => file.path);
          expect(filePaths.toSorted()).toEqual(paths.toSorted());
        },
      ),
    );
  });

  it('a pod of a gang of 2,048 that has no more than its own 24 of 49,153', () => {
    const worldSize = 16_384;
    const files = Array.from({ length: 3 * worldSize }, (_, index) =>
      fileAt(`__${Math.floor(index / 3)}_${index % 3}.distcp`),
    );
    const share = filesOfRanks([...files, fileAt('.metadata')], {
      ranks: range(8).map((one) => 8_000 + one),
      worldSize,
    });
    expect(share.map((file) => file.path)).toEqual(files.slice(24_000, 24_024).map((file) => file.path));
  });
});
