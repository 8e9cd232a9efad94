/** Buffers that simulations share to avoid allocation; owned by the caller. */
import { newOrderCache, type OrderCache } from './rank-orders.ts';
import { newRunBuffers, type RunBuffers } from './run-schedule.ts';

/** Buffers and orders; they grow to the largest schedule seen. One per thread. */
export interface ScheduleScratch {
  readonly cache: OrderCache;
  readonly run: RunBuffers;
  numbers: Float64Array;
  chunks: Int16Array;
}

/** Empty buffers and caches for schedule simulations. */
export function newScheduleScratch(): ScheduleScratch {
  return { cache: newOrderCache(), run: newRunBuffers(), numbers: new Float64Array(0), chunks: new Int16Array(0) };
}

/** At least `length` numbers, holding whatever they held before. */
export function numbersOf(scratch: ScheduleScratch, length: number): Float64Array {
  if (scratch.numbers.length < length) scratch.numbers = new Float64Array(2 * length);
  return scratch.numbers;
}

/** At least `length` chunk numbers, holding whatever they held before. */
export function chunksOf(scratch: ScheduleScratch, length: number): Int16Array {
  if (scratch.chunks.length < length) scratch.chunks = new Int16Array(2 * length);
  return scratch.chunks;
}
