import type { GpuFacts, Precision } from '../facts.ts';
import type { TimeConstants } from './constants.ts';

const TERA = 1e12;

interface Tile {
  readonly rows: number;
  readonly columns: number;
  readonly speed: number;
}

/**
 * Tiles that a library chooses from, with their speed relative to the largest: smaller ones load more bytes per FLOP, but fill the last wave
 * of multiprocessors better. Sizes are those of cuBLAS and CUTLASS; the speeds are assumptions.
 */
const TILES: readonly Tile[] = [
  { rows: 128, columns: 256, speed: 1 },
  { rows: 256, columns: 128, speed: 1 },
  { rows: 128, columns: 128, speed: 0.92 },
  { rows: 64, columns: 128, speed: 0.8 },
  { rows: 64, columns: 64, speed: 0.6 },
];

/** Speeds of the kernels of one GPU with one set of constants, computed once per prediction. */
export interface KernelFacts {
  readonly constants: TimeConstants;
  /** FLOPs per second of a large aligned product in the precision of linear layers, and in bf16. */
  readonly linearFlopsPerS: number;
  readonly bf16FlopsPerS: number;
  /** Measured ceiling for fused attention, before its own slowdown. */
  readonly ceilingFlopsPerS: number;
  readonly memoryBytesPerS: number;
  readonly multiprocessors: number;
  /** Exponentials that the whole GPU starts each second. */
  readonly exponentialsPerS: number;
  /** Cycles of all multiprocessors together each second. */
  readonly cyclesPerS: number;
  readonly linearBytes: number;
  /** Of one element of an activation, and of what is not a linear layer. */
  readonly elementBytes: number;
  readonly quantises: boolean;
}

interface Cores {
  /** Streaming multiprocessors, compute units or cores that take one tile each. */
  readonly count: number;
  readonly cyclesPerS: number;
  /** Exponentials that one of them starts in a cycle. */
  readonly exponentialsPerCycle: number;
}

/** Sixteen in a cycle of the clock that long steps run at; the units of B300 are twice as wide. */
const EXPONENTIALS_PER_CYCLE = 16;
const GIGA = 1e9;
const cores = (count: number, clockGhz: number, perCycle = EXPONENTIALS_PER_CYCLE): Cores => ({
  count,
  cyclesPerS: clockGhz * GIGA,
  exponentialsPerCycle: perCycle,
});

/** By name of the preset, from the vendors' data sheets and programming guides; NVIDIA tells of the wider units in "Inside NVIDIA Blackwell Ultra". */
const CORES: readonly (readonly [pattern: RegExp, cores: Cores])[] = [
  [/^p100/, cores(56, 1.3)],
  [/^v100/, cores(80, 1.5)],
  [/^t4/, cores(40, 1.2)],
  [/^a[18]00/, cores(108, 1.4)],
  [/^a30/, cores(56, 1.4)],
  [/^a10g/, cores(80, 1.4)],
  [/^a10/, cores(72, 1.4)],
  [/^(a40|rtx-a6000)/, cores(84, 1.6)],
  [/^rtx-?3090/, cores(82, 1.6)],
  [/^l4-/, cores(58, 1.5)],
  [/^l40/, cores(142, 2.2)],
  [/^rtx-6000-ada/, cores(142, 2.2)],
  [/^rtx-?4090/, cores(128, 2.3)],
  [/^rtx-pro-6000/, cores(188, 2.3)],
  [/^h100-pcie/, cores(114, 1.5)],
  [/^h20-/, cores(78, 1.75)],
  [/^(h[128]00|gh200)/, cores(132, 1.75)],
  [/^g?b200/, cores(148, 1.85)],
  [/^g?b300/, cores(148, 1.85, 2 * EXPONENTIALS_PER_CYCLE)],
  [/^mi250x/, cores(104, 1.7)],
  [/^mi355/, cores(256, 2.4)],
  [/^mi3/, cores(304, 2.1)],
];
/** Of what is not listed. Assumption. */
const UNKNOWN_CORES = cores(128, 1.5);

/** Bytes of an element that a linear layer multiplies; sixteen of nvfp4 share a scale of one byte. */
const OPERAND_BYTES: Readonly<Record<Precision, number>> = {
  fp32: 4,
  fp16: 2,
  bf16: 2,
  fp8: 1,
  mxfp8: 1,
  nvfp4: 9 / 16,
};

/** Products of fp32 over those of bf16 of one GPU: in TF32 from A100 on, and on V100's cores that are no matrix units (NVIDIA's data sheets). */
const TF32_SPEED = 1 / 2;
const FP32_SPEED = 1 / 8;

/** `tf32`: products of fp32 are rounded to TF32, as in NVIDIA's PyTorch containers by default. */
export function kernelFacts(gpu: GpuFacts, precision: Precision, constants: TimeConstants, tf32 = false): KernelFacts {
  const speed = precision === 'fp32' ? (tf32 ? TF32_SPEED : FP32_SPEED) : 1;
  const ceiling = speed * gpu.bf16Tflops * TERA * gpu.matmulCeiling;
  const bf16 = ceiling / constants.gemmSlowdown;
  const { count, cyclesPerS, exponentialsPerCycle } =
    CORES.find(([pattern]) => pattern.test(gpu.name))?.[1] ?? UNKNOWN_CORES;
  return {
    constants,
    bf16FlopsPerS: bf16,
    linearFlopsPerS: bf16 * linearSpeedup(gpu, precision, constants),
    ceilingFlopsPerS: ceiling,
    memoryBytesPerS: gpu.memoryTbPerS * TERA,
    multiprocessors: count,
    exponentialsPerS: count * exponentialsPerCycle * cyclesPerS,
    cyclesPerS: count * cyclesPerS,
    linearBytes: OPERAND_BYTES[precision],
    elementBytes: elementBytesOf(precision),
    quantises: isQuantised(precision),
  };
}

/** Bytes of an activation. */
export function elementBytesOf(precision: Precision): 2 | 4 {
  return precision === 'fp32' ? 4 : 2;
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

/** A product [m, k] x [k, n] of a layer. */
export interface ProductSize {
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

/** Seconds of the three products that train one matrix. */
export interface ProductPasses {
  readonly forwardS: number;
  readonly inputGradientS: number;
  readonly weightGradientS: number;
}

/** How a product is stored: by whom it is multiplied decides the bytes of what it reads, not of what it writes. */
export interface ProductOperands {
  /** Whether it is of a linear layer, which multiplies in the precision of the run; others in bf16. */
  readonly linear: boolean;
  /** Bytes of one element of the summed weight gradients. */
  readonly gradientBytes: number;
  /** Matrices [k, n] that share the rows evenly: the experts of a rank. Each is read, and its gradient written, whole. */
  readonly groups?: number;
}

/**
 * Seconds of one matrix product [m, k] x [k, n], forward.
 *
 * FLOPs at the large-product speed, lengthened by the bytes that move for each FLOP, a shallow inner dimension, dimensions off the alignment
 * of the tensor cores, and the last, partly filled wave of tiles.
 */
export function gemmS(kernels: KernelFacts, size: ProductSize, linear: boolean): number {
  const { m, n, k } = size;
  if (m <= 0 || n <= 0 || k <= 0) return 0;
  const read = linear ? kernels.linearBytes : kernels.elementBytes;
  const bytes = read * (m * k + k * n) + outputBytes(read) * m * n;
  return (
    multipliedS(kernels, { rows: m, columns: n, inner: k, bytes, flops: 2 * m * n * k }, linear) *
    aligned(kernels, n, k)
  );
}

/**
 * The same product forward and its two gradients. Operands of 8 and 4 bits are multiplied into bf16; gradients of weights are added to those of
 * the micro-batches before, which reads and writes each element once (Transformer Engine, `fuse_wgrad_accumulation`).
 */
export function productPassesS(kernels: KernelFacts, size: ProductSize, operands: ProductOperands): ProductPasses {
  const { m, n, k } = size;
  const { linear, gradientBytes, groups = 1 } = operands;
  if (m <= 0 || n <= 0 || k <= 0) return { forwardS: 0, inputGradientS: 0, weightGradientS: 0 };
  const read = linear ? kernels.linearBytes : kernels.elementBytes;
  const out = outputBytes(read);
  const flops = 2 * m * n * k;
  const weights = groups * n * k;
  const off = aligned(kernels, n, k);
  const passS = (rows: number, columns: number, inner: number, bytes: number): number =>
    off * multipliedS(kernels, { rows, columns, inner, bytes, flops }, linear);
  return {
    forwardS: passS(m, n, k, read * (m * k + weights) + out * m * n),
    inputGradientS: passS(m, k, n, read * (m * n + weights) + out * m * k),
    weightGradientS: passS(groups * k, n, m / groups, read * m * (n + k) + 2 * gradientBytes * weights),
  };
}

const BF16_BYTES = 2;
/** What is read in 8 or 4 bits is written in bf16. */
const outputBytes = (readBytes: number): number => Math.max(readBytes, BF16_BYTES);

const aligned = ({ constants }: KernelFacts, n: number, k: number): number =>
  1 + misalignment(n, constants) + misalignment(k, constants);

interface Multiplied {
  readonly rows: number;
  readonly columns: number;
  readonly inner: number;
  readonly bytes: number;
  readonly flops: number;
}

function multipliedS(
  kernels: KernelFacts,
  { rows, columns, inner, bytes, flops }: Multiplied,
  linear: boolean,
): number {
  const { constants } = kernels;
  const flopsPerS = linear ? kernels.linearFlopsPerS : kernels.bf16FlopsPerS;
  const memory = (constants.gemmRidge * bytes * flopsPerS) / (kernels.memoryBytesPerS * flops);
  const tiles = constants.gemmWave * (tileSlowdown(rows, columns, kernels.multiprocessors) - 1);
  return (flops / flopsPerS) * (1 + memory + constants.gemmDepth / inner + tiles);
}

/** How much longer the best choice of tiles takes than tiles that fill every wave of multiprocessors; at least 1. */
function tileSlowdown(m: number, n: number, multiprocessors: number): number {
  let best = Infinity;
  // The most frequent call of a search, so no iterator and no destructuring.
  for (let at = 0; at < TILES.length; at++) {
    const { rows, columns, speed } = TILES[at] as Tile;
    const tiles = Math.ceil(m / rows) * Math.ceil(n / columns);
    const computed = Math.ceil(tiles / multiprocessors) * multiprocessors * rows * columns;
    best = Math.min(best, computed / (m * n * speed));
  }
  return best;
}

/** Seconds to move activations through memory once, without any slowdown. `bytes` counts two per element; elements of fp32 have four. */
export function memoryS(kernels: KernelFacts, bytes: number): number {
  return (bytes * kernels.elementBytes) / BF16_BYTES / kernels.memoryBytesPerS;
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
