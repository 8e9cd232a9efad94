import fc from 'fast-check';
import { CheckpointManifest, newestRestorable } from './index.ts';
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
describe('a manifest', () => {
  it('says the same after it was written and read', () => {
    fc.assert(
      fc.property(files, (listed) => {
        const manifest = aManifest({ files: [...listed] });
        expect(CheckpointManifest.parse(JSON.parse(JSON.stringify(manifest)))).toEqual(manifest);
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
