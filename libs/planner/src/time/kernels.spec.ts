import { gpuOf } from '../presets/index.ts';
import { TIME_CONSTANT_NAMES, TIME_CONSTANTS, type TimeConstantName, type TimeConstants } from './constants.ts';
import { gemmS, kernelFacts, softExcess, softMax } from './kernels.ts';
import { allToAllS, collectiveS, handOverS } from './links.ts';

const START = Object.fromEntries(TIME_CONSTANT_NAMES.map((name) => [name, TIME_CONSTANTS[name].start])) as Record<
  TimeConstantName,
  number
>;
const constants: TimeConstants = START;
const A100 = gpuOf('a100-80gb');
const kernels = kernelFacts(A100, 'bf16', constants);
const ideal = ({ m, n, k }: { m: number; n: number; k: number }): number => (2 * m * n * k) / kernels.bf16FlopsPerS;

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
