import fc from 'fast-check';
import { CheckpointManifest, type FileOnDisk, manifestViolations, newestRestorable } from './index.ts';
import { aCheckpoint, aManifest } from './testing/index.ts';

type Listed = CheckpointManifest['files'][number];

const aSum = fc
  .array(fc.constantFrom(...'0123456789abcdef'), { minLength: 64, maxLength: 64 })
  .map((digits) => digits.join(''));
const files: fc.Arbitrary<readonly Listed[]> = fc.uniqueArray(
  fc.record({
    path: fc
      .array(fc.constantFrom('a', 'b', 'shard', '__0_0.distcp'), { minLength: 1, maxLength: 4 })
      .map((parts) => parts.join('/')),
    bytes: fc.nat(1000),
    sha256: aSum,
  }),
  { selector: ({ path }) => path, minLength: 1, maxLength: 8 },
);
const fates = ['kept', 'kept without its sum', 'lost', 'cut off', 'grown', 'changed'] as const;
type Fate = (typeof fates)[number];

/** What of a saved file is found later. */
function found(file: Listed, fate: Fate): readonly FileOnDisk[] {
  const { path, bytes, sha256 } = file;
  switch (fate) {
    case 'kept':
      return [file];
    case 'kept without its sum':
      return [{ path, bytes }];
    case 'lost':
      return [];
    case 'cut off':
    case 'grown':
      return [{ path, bytes: fate === 'grown' ? bytes + 1 : bytes - 1, sha256 }];
    case 'changed':
      return [{ path, bytes, sha256: sha256.startsWith('0') ? `1${sha256.slice(1)}` : `0${sha256.slice(1)}` }];
  }
}

describe('a checkpoint verifies', () => {
  it('just where every file that its manifest lists is there as it was, and tells each that is not, in order', () => {
    fc.assert(
      fc.property(
        files,
        fc.array(fc.constantFrom(...fates), { minLength: 8, maxLength: 8 }),
        fc.boolean(),
        (listed, fateOf, hasOthers) => {
          const onDisk = listed.flatMap((file, index) => found(file, fateOf[index] ?? 'kept'));
          const others = hasOthers ? [{ path: 'not/listed', bytes: 1 }] : [];
          const harmed = listed.filter((_, index) => !(fateOf[index] ?? 'kept').startsWith('kept'));
          const violations = manifestViolations(aManifest({ files: [...listed] }), [...others, ...onDisk].reverse());
          expect(violations.map((sentence) => sentence.slice(0, sentence.indexOf(' ')))).toEqual(
            harmed.map(({ path }) => path),
          );
        },
      ),
    );
  });

  it('after its manifest was written and read', () => {
    fc.assert(
      fc.property(files, (listed) => {
        const written = JSON.stringify(aManifest({ files: [...listed] }));
        expect(manifestViolations(CheckpointManifest.parse(JSON.parse(written)), listed)).toEqual([]);
      }),
    );
  });
});

describe('of any checkpoints the one to resume from', () => {
  const some = fc.array(
    fc.record({
      step: fc.nat(5),
      epoch: fc.integer({ min: 1, max: 4 }),
      isDamaged: fc.boolean(),
      isDeleted: fc.boolean(),
      isOwn: fc.boolean(),
    }),
    { maxLength: 8 },
  );
  const { jobUid } = aCheckpoint().spec;

  it('may be used, and none that may be used is newer, in whatever order they come', () => {
    fc.assert(
      fc.property(some, (drawn) => {
        const checkpoints = drawn.map(({ step, epoch, isDamaged, isDeleted, isOwn }) => {
          const one = aCheckpoint({ step, epoch, ...(isOwn ? {} : { jobUid: 'another' }) });
          return {
            ...one,
            status: { state: isDamaged ? ('Damaged' as const) : ('Complete' as const) },
            metadata: { ...one.metadata, ...(isDeleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}) },
          };
        });
        const usable = drawn.filter(({ isDamaged, isDeleted, isOwn }) => isOwn && !isDamaged && !isDeleted);
        const ages = usable.map(({ step, epoch }) => step * 10 + epoch);
        for (const order of [checkpoints, [...checkpoints].reverse()]) {
          const newest = newestRestorable(order, { jobUid })?.spec;
          expect(newest === undefined ? undefined : newest.step * 10 + newest.epoch).toBe(
            ages.length === 0 ? undefined : Math.max(...ages),
          );
        }
      }),
    );
  });
});
