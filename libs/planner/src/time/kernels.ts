import type { GpuFacts, Precision } from '../facts.ts';
import type { TimeConstants } from './constants.ts';

const TERA = 1e12;
/**
 * Tiles that a library chooses from, with their speed relative to the largest: smaller ones load more bytes per FLOP, but fill the last wave
 * of multiprocessors better. Sizes are those of cuBLAS and CUTLASS; the speeds are assumptions.
 */
const TILES: readonly { readonly rows: number; readonly columns: number; readonly speed: number }[] = [
  { rows: 128, columns: 256, speed: 1 },
  { rows: 256, columns: 128, speed: 1 },
  { rows: 128, columns: 128, speed: 0.92 },
  { rows: 64, columns: 128, speed: 0.8 },
  { rows: 64, columns: 64, speed: 0.6 },
];

/** What the kernels of one GPU with one set of constants need, computed once per prediction. */
export interface KernelFacts {
  readonly constants: TimeConstants;
  /** FLOPs per second of a large aligned product in the precision of linear layers, and in bf16. */
  readonly linearFlopsPerS: number;
  readonly bf16FlopsPerS: number;
  /** Measured ceiling for fused attention, before its own slowdown. */
  readonly ceilingFlopsPerS: number;
  readonly memoryBytesPerS: number;
  readonly multiprocessors: number;
  readonly linearBytes: number;
  readonly quantises: boolean;
}

/** By name of the preset: streaming multiprocessors, compute units or cores that take one tile each; from the vendors' data sheets. */
const MULTIPROCESSORS: readonly (readonly [pattern: RegExp, count: number])[] = [
  [/^v100/, 80],
  [/^a[18]00/, 108],
  [/^(h[128]00|gh200|h20)/, 132],
  [/^g?b[23]00/, 148],
  [/^mi3/, 304],
];

export function kernelFacts(gpu: GpuFacts, precision: Precision, constants: TimeConstants): KernelFacts {
  const ceiling = gpu.bf16Tflops * TERA * gpu.matmulCeiling;
  const bf16 = ceiling / constants.gemmSlowdown;
  return {
    constants,
    bf16FlopsPerS: bf16,
    linearFlopsPerS: bf16 * linearSpeedup(gpu, precision, constants),
    ceilingFlopsPerS: ceiling,
    memoryBytesPerS: gpu.memoryTbPerS * TERA,
    multiprocessors: MULTIPROCESSORS.find(([pattern]) => pattern.test(gpu.name))?.[1] ?? 128,
    linearBytes: precision === 'fp32' ? 4 : precision === 'fp16' || precision === 'bf16' ? 2 : 1,
    quantises: isQuantised(precision),
  };
}

/** Formats of 8 and 4 bits: linear layers cast what they read, and weights travel in one byte. */
export function isQuantised(precision: Precision): boolean {
  return precision === 'fp8' || precision === 'mxfp8' || precision === 'nvfp4';
}

function linearSpeedup(gpu: GpuFacts, precision: Precision, constants: TimeConstants): number {
  const fp8 = gpu.fp8Tflops > 0 ? gpu.fp8Tflops / gpu.bf16Tflops : 1;
  const fp4 = gpu.fp4Tflops > 0 ? gpu.fp4Tflops / gpu.bf16Tflops : fp8;
  switch (precision) {
    case 'fp8':
      return fp8 / constants.fp8Slowdown;
    case 'mxfp8':
      return fp8 / constants.mxfp8Slowdown;
    case 'nvfp4':
      return fp4 / constants.fp4Slowdown;
    case 'fp32':
      return 0.125;
    default:
      return 1;
  }
}

/** How far a dimension is from a multiple of 64 elements, the width at which tensor cores and memory transactions are full. */
function misalignment(size: number, constants: TimeConstants): number {
  if (size % 64 === 0) return 0;
  if (size % 8 !== 0) return constants.gemmUnaligned;
  const halvings = size % 32 === 0 ? 1 : size % 16 === 0 ? 2 : 3;
  return halvings * constants.gemmMisaligned;
}

/**
 * Seconds of one matrix product [m, k] x [k, n].
 *
 * FLOPs at the large-product speed, lengthened by the bytes that move for each FLOP, a shallow inner dimension, dimensions off the alignment
 * of the tensor cores, and the last, partly filled wave of tiles.
 */
export function gemmS(
  kernels: KernelFacts,
  size: { readonly m: number; readonly n: number; readonly k: number },
  linear: boolean,
): number {
  const { m, n, k } = size;
  const { constants } = kernels;
  if (m <= 0 || n <= 0 || k <= 0) return 0;
  const flopsPerS = linear ? kernels.linearFlopsPerS : kernels.bf16FlopsPerS;
  const bytes = linear ? kernels.linearBytes : 2;
  const ridge = (flopsPerS * bytes) / (2 * kernels.memoryBytesPerS);
  const memory = constants.gemmRidge * ridge * (1 / m + 1 / n + 1 / k);
  const tiles = constants.gemmWave * (tileSlowdown(m, n, kernels.multiprocessors) - 1);
  const slowdown =
    (1 + memory + constants.gemmDepth / k + tiles) * (1 + misalignment(n, constants) + misalignment(k, constants));
  return ((2 * m * n * k) / flopsPerS) * slowdown;
}

/** How much longer the best choice of tiles takes than tiles that fill every wave of multiprocessors; at least 1. */
function tileSlowdown(m: number, n: number, multiprocessors: number): number {
  let best = Infinity;
  for (const { rows, columns, speed } of TILES) {
    const tiles = Math.ceil(m / rows) * Math.ceil(n / columns);
    const computed = Math.ceil(tiles / multiprocessors) * multiprocessors * rows * columns;
    best = Math.min(best, computed / (m * n * speed));
  }
  return best;
}

/** Seconds to move bytes through memory once, without any slowdown. */
export function memoryS(kernels: KernelFacts, bytes: number): number {
  return bytes / kernels.memoryBytesPerS;
}

/** `max(a, b)` without the corner: two things that overlap take a little longer than the longer one. */
export function softMax(a: number, b: number): number {
  if (a <= 0) return b;
  if (b <= 0) return a;
  const larger = Math.max(a, b);
  const ratio = Math.min(a, b) / larger;
  const squared = ratio * ratio;
  return larger * Math.sqrt(Math.sqrt(1 + squared * squared));
}

/** `max(0, a)` without the corner, `width` wide. Nothing exceeds a window without end (`a` is -Infinity), as bounds may assume one. */
export function softExcess(a: number, width: number): number {
  if (a === -Infinity) return 0;
  return (a + Math.sqrt(a * a + width * width)) / 2;
}
