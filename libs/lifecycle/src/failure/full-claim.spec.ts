import { describeFullClaim } from './full-claim.ts';

const spec = { checkpoint: { claimName: 'tiny' }, scratch: { claimName: 'fast' } } as Parameters<
  typeof describeFullClaim
>[0];
const TINY = 'Claim tiny (spec.checkpoint.claimName) is full: enlarge it, or delete what is not needed.';

describe('a claim that is full', () => {
  it.each<[string, readonly string[], string | undefined]>([
    [
      'is named where a save fails at its path',
      ["OSError: [Errno 28] No space left on device: '/coxswain/checkpoints/runs/a/step-20/__0_0.distcp'"],
      TINY,
    ],
    [
      'is named where the traceback alone shows that a save failed',
      [
        '  File ".../torch/distributed/checkpoint/filesystem.py", line 1',
        'OSError: [Errno 28] No space left on device',
      ],
      TINY,
    ],
    ['is named where its quota is spent', ['EDQUOT: /coxswain/checkpoints/x'], TINY],
    [
      'is that of scratch where its path is named',
      ["OSError: [Errno 28] No space left on device: '/coxswain/scratch/cache'"],
      'Claim fast (spec.scratch.claimName) is full: enlarge it, or delete what is not needed.',
    ],
    ['is not guessed', ['OSError: [Errno 28] No space left on device'], undefined],
    ['is none where nothing is full', ["FileNotFoundError: '/coxswain/checkpoints/x'"], undefined],
  ])('%s', (_sentence, lines, want) => {
    expect(describeFullClaim(spec, lines)).toBe(want);
  });

  it('is the disk of the node where saves go to a bucket', () => {
    const checkpoint = { bucket: { uri: 's3://training' } } as NonNullable<typeof spec>['checkpoint'];
    const lines = ["OSError: [Errno 28] No space left on device: '/coxswain/checkpoints/a/step-20/__0_0.distcp'"];
    expect(describeFullClaim({ checkpoint, scratch: undefined }, lines)).toMatch(
      /^The disk of the node at \/coxswain\/checkpoints, which keeps saves until they are in the bucket/,
    );
  });
});
