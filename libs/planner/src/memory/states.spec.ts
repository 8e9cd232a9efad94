import { aCandidate } from '../testing/candidates.ts';
import { ADAM_MOMENT_BYTES, galoreMomentShare, shardDegreesOf, shardedStateBytes, stateBytesOf } from './states.ts';
import type { StateFacts } from './states.ts';

function facts(overrides: Partial<StateFacts> = {}): StateFacts {
  return {
    precision: 'bf16',
    gradientBytes: 2,
    zeroStage: 0,
    zeroImplementation: 'distopt',
    momentBytes: ADAM_MOMENT_BYTES,
    keepsBothGradients: false,
    ...overrides,
  };
}

function bytesPerParameter(zeroStage: 0 | 1 | 2 | 3, degree: number, overrides: Partial<StateFacts> = {}): number {
  const { weights, gradients, optimizer } = shardedStateBytes(
    stateBytesOf(facts({ zeroStage, ...overrides })),
    zeroStage,
    degree,
  );
  return weights + gradients + optimizer;
}

describe('bytes per parameter', () => {
  it.each<[0 | 1 | 2 | 3, number]>([
    [0, 120],
    [1, 31.4],
    [2, 16.6],
    [3, 1.9],
  ])('ZeRO stage %d: 7.5 billion parameters on 64 GPUs take %d GB (arXiv 1910.02054, figure 1)', (stage, gigabytes) => {
    expect(7.5 * bytesPerParameter(stage, 64)).toBeCloseTo(gigabytes, 1);
  });

  it.each<[1 | 2 | 3, number]>([
    [1, 29.3],
    [2, 15.5],
    [3, 1.75],
  ])('FlexSP, stage %d: 7 billion parameters on 64 GPUs take %d GB', (stage, gigabytes) => {
    expect(7 * bytesPerParameter(stage, 64)).toBeCloseTo(gigabytes, 1);
  });

  it.each<[string, number, Partial<StateFacts>, number]>([
    ['Megatron-LM without a distributed optimizer', 1, { gradientBytes: 4 }, 18],
    ['and with it', 16, { gradientBytes: 4, zeroStage: 1 }, 6 + 12 / 16],
    ['bf16 gradients', 16, { zeroStage: 1 }, 4 + 12 / 16],
    ['fp32', 1, { precision: 'fp32', gradientBytes: 4 }, 16],
    ['8-bit Adam', 1, { momentBytes: 2 }, 10],
    ['DeepSpeed’s bf16 optimizer', 8, { gradientBytes: 4, keepsBothGradients: true, zeroStage: 1 }, 8 + 12 / 8],
    ['PyTorch’s FSDP', 8, { zeroImplementation: 'fsdp', zeroStage: 3 }, 16 / 8],
  ])('%s', (_, degree, overrides, bytes) => {
    expect(bytesPerParameter(overrides.zeroStage ?? 0, degree, overrides)).toBe(bytes);
  });

  it('GaLore of rank 1024 keeps 37.5 % of the moments of a matrix of 4096 by 4096', () => {
    expect(galoreMomentShare(4096, 4096, 1024)).toBe(0.375);
  });
});

describe('shardDegreesOf', () => {
  it('dense weights over data and context ranks, experts over what folding leaves', () => {
    const candidate = aCandidate({ tensor: 2, context: 2, data: 8, expert: 8, expertTensor: 1 });
    expect(shardDegreesOf(candidate)).toEqual({ dense: 16, expert: 4 });
  });

  it('replicas of the sharded states divide both', () => {
    const candidate = aCandidate({ tensor: 2, data: 16, shardGroup: 8, expert: 8, expertTensor: 1 });
    expect(shardDegreesOf(candidate)).toEqual({ dense: 8, expert: 2 });
  });
});
