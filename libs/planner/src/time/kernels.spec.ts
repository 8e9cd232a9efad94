import type { Precision } from '../facts.ts';
import { GPU_PRESETS, gpuOf } from '../presets/index.ts';
import { TIME_CONSTANT_NAMES, TIME_CONSTANTS, type TimeConstantName, type TimeConstants } from './constants.ts';
import { gemmS, kernelFacts, memoryS, productPassesS, softExcess, softMax } from './kernels.ts';
import { allToAllS, collectiveS, handOverS } from './links.ts';

const START = Object.fromEntries(TIME_CONSTANT_NAMES.map((name) => [name, TIME_CONSTANTS[name].start])) as Record<
  TimeConstantName,
  number
>;
const constants: TimeConstants = START;
const A100 = gpuOf('a100-80gb');
const kernels = kernelFacts(A100, 'bf16', constants);
const ideal = ({ m, n, k }: { m: number; n: number; k: number }): number => (2 * m * n * k) / kernels.bf16FlopsPerS;

describe('activations', () => {
  it('of fp32 take twice as long to move as those of bf16', () => {
    expect(memoryS(kernelFacts(A100, 'fp32', constants), 1e9)).toBeCloseTo(2 * memoryS(kernels, 1e9), 12);
  });
});

describe('a matrix product', () => {
  it.each([
    ['large and aligned: near the measured ceiling', { m: 16_384, n: 16_384, k: 16_384 }, 1, 1.06],
    ['with 1,800 columns per rank, which is no multiple of 64: slower', { m: 16_384, n: 1800, k: 14_400 }, 1.1, 1.6],
    ['with an odd inner dimension: much slower', { m: 16_384, n: 4096, k: 4097 }, 1.4, 2],
    ['with few rows: bound by memory', { m: 16, n: 8192, k: 8192 }, 4, 60],
  ] as const)('%s', (_sentence, size, least, most) => {
    const slowdown = gemmS(kernels, size, true) / ideal(size);
    expect(slowdown).toBeGreaterThanOrEqual(least);
    expect(slowdown).toBeLessThanOrEqual(most);
  });

  it('pays for a last wave that is hardly filled', () => {
    const rows = (tiles: number): number => gemmS(kernels, { m: 128 * tiles, n: 256, k: 8192 }, true) / tiles;
    expect(rows(120)).toBeGreaterThan(1.03 * rows(216));
  });

  it.each([
    ['rounded to TF32: about twice as long as in bf16', true, 1.9, 2.1],
    ['not rounded: about eight times as long', false, 7.5, 8.1],
  ] as const)('of fp32, %s', (_sentence, tf32, least, most) => {
    const size = { m: 16_384, n: 16_384, k: 16_384 };
    const times = gemmS(kernelFacts(A100, 'fp32', constants, tf32), size, true) / gemmS(kernels, size, true);
    expect(times).toBeGreaterThanOrEqual(least);
    expect(times).toBeLessThanOrEqual(most);
  });

  it('takes no time when it is empty', () => {
    expect(gemmS(kernels, { m: 0, n: 8, k: 8 }, true)).toBe(0);
  });

  it.each([
    ['fp8', 1],
    ['nvfp4', 2],
  ] as const)('is faster in %s where the GPU has it', (precision, times) => {
    const b200 = gpuOf('b200');
    const bf16 = kernelFacts(b200, 'bf16', constants).linearFlopsPerS;
    expect(kernelFacts(b200, precision, constants).linearFlopsPerS / bf16).toBeGreaterThan(times);
  });
});

describe('the bytes that the three products of a matrix move', () => {
  const only = { ...constants, gemmRidge: 1, gemmDepth: 0, gemmWave: 0 };
  const fast = { ...gpuOf('b200'), bf16Tflops: 1e30, fp8Tflops: 1e30, fp4Tflops: 1e30, memoryTbPerS: 1e-12 };
  const [m, n, k] = [256, 512, 1024];

  it.each<[string, Precision, { gradientBytes: number; groups?: number; linear?: boolean }, readonly number[]]>([
    [
      'bf16: two of each operand and result, and a sum of gradients that is read and written',
      'bf16',
      { gradientBytes: 4 },
      [2 * (m * k + k * n + m * n), 2 * (m * k + k * n + m * n), 2 * (m * n + m * k) + 8 * k * n],
    ],
    [
      '8 bits: one of what is read, two of what is written',
      'mxfp8',
      { gradientBytes: 2 },
      [m * k + k * n + 2 * m * n, m * n + k * n + 2 * m * k, m * n + m * k + 4 * k * n],
    ],
    [
      '4 bits: sixteen elements share a byte of scale',
      'nvfp4',
      { gradientBytes: 2 },
      [
        (9 / 16) * (m * k + k * n) + 2 * m * n,
        (9 / 16) * (m * n + k * n) + 2 * m * k,
        (9 / 16) * m * (n + k) + 4 * k * n,
      ],
    ],
    [
      'what is no linear layer stays in bf16',
      'mxfp8',
      { gradientBytes: 2, linear: false },
      [2 * (m * k + k * n + m * n), 2 * (m * k + k * n + m * n), 2 * (m * n + m * k) + 4 * k * n],
    ],
    [
      'eight experts have eight matrices, for the same rows',
      'bf16',
      { gradientBytes: 4, groups: 8 },
      [2 * (m * k + 8 * k * n + m * n), 2 * (m * n + 8 * k * n + m * k), 2 * (m * n + m * k) + 8 * 8 * k * n],
    ],
  ])('%s (%s)', (_sentence, precision, operands, want) => {
    const passes = productPassesS(kernelFacts(fast, precision, only), { m, n, k }, { linear: true, ...operands });
    const bytes = [passes.forwardS, passes.inputGradientS, passes.weightGradientS];
    bytes.forEach((seconds, pass) => expect(seconds / (want[pass] ?? 0)).toBeCloseTo(1, 9));
  });

  it('are those of one product forward', () => {
    const size = { m: 4096, n: 1800, k: 8192 };
    expect(productPassesS(kernels, size, { linear: true, gradientBytes: 4 }).forwardS).toBe(gemmS(kernels, size, true));
  });

  it('are none where there are no rows', () => {
    const none = productPassesS(kernels, { m: 0, n: 8, k: 8 }, { linear: true, gradientBytes: 4 });
    expect(Object.values(none)).toEqual([0, 0, 0]);
  });
});

describe('the multiprocessors of a GPU', () => {
  it.each([
    ['p100-sxm2-16gb', 56],
    ['v100-sxm2-32gb', 80],
    ['t4-16gb', 40],
    ['a100-pcie-40gb', 108],
    ['a30-pcie-24gb', 56],
    ['a10-24gb', 72],
    ['a10g-24gb', 80],
    ['a40-48gb', 84],
    ['rtx-a6000-48gb', 84],
    ['rtx-3090', 82],
    ['rtx-4090', 128],
    ['l4-24gb', 58],
    ['l40s-48gb', 142],
    ['rtx-6000-ada-48gb', 142],
    ['h100-pcie-80gb', 114],
    ['h100-nvl-94gb', 132],
    ['h20-sxm-96gb', 78],
    ['h200-sxm-141gb', 132],
    ['gh200-96gb', 132],
    ['b200-sxm-180gb', 148],
    ['gb300-nvl72', 148],
    ['rtx-pro-6000-blackwell-96gb', 188],
    ['mi250x', 104],
    ['mi300x', 304],
    ['mi355x', 256],
  ])('of %s are the %i of its data sheet', (gpu, count) => {
    expect(kernelFacts(gpuOf(gpu), 'bf16', constants).multiprocessors).toBe(count);
  });

  it('are known of every GPU of NVIDIA and AMD that is planned as one type', () => {
    const unknown = GPU_PRESETS.filter((gpu) => kernelFacts(gpu, 'bf16', constants).cyclesPerS === 128 * 1.5e9);
    expect(unknown.map(({ name }) => name)).toEqual([
      ...['rtx-2080-3090-titan-rtx', 'gaudi2', 'ascend-910', 'ascend-910b'],
      ...['tpu-v4', 'tpu-v5e', 'tpu-v5p', 'tpu-v6e', 'simulated'],
    ]);
  });

  it('multiply in a cycle no more than the 4,096 pairs of Blackwell, at clocks a tenth above what long steps run at', () => {
    const perCycle = GPU_PRESETS.map((gpu) => (gpu.bf16Tflops * 1e12) / kernelFacts(gpu, 'bf16', constants).cyclesPerS);
    expect(Math.max(...perCycle)).toBeLessThanOrEqual(1.1 * 2 * 4096);
  });
});

describe('the exponentials of a GPU', () => {
  it('are twice as many a second on B300 as on B200, whose products are as fast', () => {
    const of = (gpu: string): number => kernelFacts(gpuOf(gpu), 'bf16', constants).exponentialsPerS;
    expect(of('b300') / of('b200')).toBe(2);
  });
});

describe('a collective', () => {
  const cluster = {
    gpu: A100,
    gpus: 64,
    gpusPerNode: 8,
    scaleUpDomainGpus: 8,
    scaleOutGbPerS: 25,
    nicKind: 'infiniband' as const,
  };
  const GB = 1e9;

  it.each([
    ['of one rank takes no time', { size: 1, stride: 1 }, 0],
    [
      'inside a node moves (n-1)/n of the bytes over the scale-up link',
      { size: 8, stride: 1 },
      (7 / 8) * (constants.scaleUpSlowdown / A100.scaleUpGbPerS) + 7 * constants.collectiveLatencyS,
    ],
  ] as const)('%s', (_sentence, group, want) => {
    expect(collectiveS(cluster, group, GB, constants)).toBeCloseTo(want, 12);
  });

  it('shares the NICs of a node among its members there, up to the speed of the links inside', () => {
    const alone = collectiveS(cluster, { size: 8, stride: 8 }, GB, constants);
    const together = collectiveS(cluster, { size: 64, stride: 1 }, GB, constants);
    expect(alone / together).toBeGreaterThan(5);
  });

  it.each(['roce', 'ethernet', 'other'] as const)('is slower on %s than on InfiniBand', (nicKind) => {
    const group = { size: 8, stride: 8 };
    expect(collectiveS({ ...cluster, nicKind }, group, GB, constants)).toBeGreaterThan(
      collectiveS(cluster, group, GB, constants),
    );
  });

  it('of tokens to experts costs more across nodes than inside one', () => {
    const bytes = { inside: GB, across: GB };
    expect(allToAllS(cluster, { size: 16, stride: 1 }, bytes, constants)).toBeGreaterThan(
      allToAllS(cluster, { size: 8, stride: 1 }, bytes, constants),
    );
  });

  it('hands activations over faster between stages that share a node', () => {
    expect(handOverS(cluster, { size: 2, stride: 4 }, GB, constants)).toBeLessThan(
      handOverS(cluster, { size: 2, stride: 8 }, GB, constants),
    );
  });
});

describe('overlap', () => {
  it.each([
    ['the longer of two things when the other is nothing', softMax(3, 0), 3, 1e-12],
    ['a little more than the longer of two equal things', softMax(1, 1), 1.19, 0.01],
    ['nothing of what is far below the limit', softExcess(-10, 0.1), 0, 0.001],
    ['nothing where the limit is endless', softExcess(-Infinity, 0.1), 0, 0],
    ['the excess of what is far above it', softExcess(10, 0.1), 10, 0.001],
  ] as const)('is %s', (_sentence, got, want, within) => {
    expect(Math.abs(got - want)).toBeLessThanOrEqual(within);
  });
});
