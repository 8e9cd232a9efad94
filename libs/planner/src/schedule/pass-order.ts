/** The order of passes of each rank, which does not depend on their times. */
import { stageOfRank, type ScheduleShape } from './schedule-input.ts';

/** A forward pass. */
export const FORWARD = 0;
/** Gradient of the activations; a weight pass must follow later. */
export const BACKWARD_INPUT = 1;
/** Both gradients in one pass. */
export const BACKWARD = 2;
/** Gradient of the weights, after its {@link BACKWARD_INPUT}. */
export const BACKWARD_WEIGHT = 3;
/** A forward whose kernels are interleaved with those of the backward that follows it in the list: both end together. */
export const PAIRED_FORWARD = 4;

/** One pass of a rank. */
export interface Pass {
  readonly kind: number;
  readonly stage: number;
  readonly microBatch: number;
}

/**
 * Passes of one rank as integers, because a search makes millions: kind in the lowest bits, then chunk, then micro-batch. 32 bits hold 2^29 pairs of chunk
 * and micro-batch.
 */
export type PassCodes = readonly number[];

const KIND_BITS = 3;
const KIND_MASK = 7;

function codeOf(kind: number, chunk: number, microBatch: number, chunks: number): number {
  return ((microBatch * chunks + chunk) << KIND_BITS) | kind;
}

/** The kind of a pass. */
export function kindOfCode(code: number): number {
  return code & KIND_MASK;
}

/** The chunk of a pass. Only one or two chunks occur, so no division is needed. */
export function chunkOfCode(code: number, chunks: number): number {
  const pair = code >>> KIND_BITS;
  return chunks <= 2 ? pair & (chunks - 1) : pair % chunks;
}

/** The micro-batch of a pass. */
export function microBatchOfCode(code: number, chunks: number): number {
  const pair = code >>> KIND_BITS;
  return chunks <= 2 ? pair >>> (chunks - 1) : (pair / chunks) | 0;
}

/** The passes of {@link passCodes} as objects. */
export function passOrder(shape: ScheduleShape, rank: number): Pass[] {
  return passCodes(shape, rank).map((code) => ({
    kind: kindOfCode(code),
    stage: stageOfRank(shape, rank, chunkOfCode(code, shape.chunks)),
    microBatch: microBatchOfCode(code, shape.chunks),
  }));
}

/**
 * The passes of one rank. Left out are the weight passes of schedules that place them when there is time (see `hasDeferredWeightPasses`), and the last
 * weight passes of ZB-H1 and DualPipeV, which follow when all else is done.
 * Shorter than a schedule's warm-up, the micro-batches that do not exist are left out: an order without some micro-batches stays sound.
 */
export function passCodes(shape: ScheduleShape, rank: number): PassCodes {
  const { pipeline, microBatches } = shape;
  const below = pipeline - 1 - rank;
  if (pipeline === 1) return accumulation(shape);
  switch (shape.schedule) {
    case 'gpipe':
      return alternating(shape, { warmUp: microBatches, backward: BACKWARD });
    case '1f1b':
      return alternating(shape, { warmUp: below + 1, backward: BACKWARD });
    case 'interleaved-1f1b':
      return interleaved(shape, rank);
    case 'zb-h1':
      return alternating(shape, { warmUp: below + 1, backward: BACKWARD_INPUT, weightDelay: rank });
    case 'zb-2p':
      return alternating(shape, { warmUp: 2 * below + 1, backward: BACKWARD_INPUT });
    case 'zbv':
      return zeroBubbleV(shape, rank);
    case 'v-half':
      return repeated(shape, halfMemoryBlock(pipeline, rank));
    case 'v-min':
      return minimalMemory(shape, rank);
    case 'dualpipe-v':
      return dualPipeV(shape, rank);
  }
}

/** Whether weight passes run when the rank is idle or holds too many activations, instead of at a fixed position. */
export function hasDeferredWeightPasses({ schedule, pipeline }: ScheduleShape): boolean {
  return pipeline > 1 && (schedule === 'zb-2p' || schedule === 'zbv' || schedule === 'v-half');
}

/**
 * Number of activations of one (stage, micro-batch) that a rank may hold before it must run weight passes. In activations of the whole rank:
 * ZB-H1 `pipeline`, ZB-2p `2 * pipeline`, ZB-V `pipeline` (2401.10241), V-Half about a half and V-Min about a third of `pipeline`
 * (2405.15362), rounded up to what their building blocks hold.
 */
export function activationLimit({ schedule, pipeline }: ScheduleShape): number {
  switch (schedule) {
    case 'zb-h1':
      return pipeline;
    case 'zb-2p':
    case 'zbv':
      return 2 * pipeline;
    case 'v-half':
      return 2 * Math.ceil((pipeline + 1) / 2);
    case 'v-min':
      return 2 * Math.ceil((pipeline + 2) / 3);
    default:
      return Infinity;
  }
}

/**
 * Whether the limit counts what an input pass frees. ZB-2p and ZB-V are generated from measured memory; the others have handcrafted
 * orders that hold an activation until its weight pass.
 */
export function limitCountsWeightShare({ schedule }: ScheduleShape): boolean {
  return schedule === 'zb-2p' || schedule === 'zbv';
}

/**
 * Calls `visit` with chunk and micro-batch of every rank's j-th forward; the j-th backward is that of the mirrored chunk.
 * A last group shorter than the pipeline is filled up with micro-batches at and beyond `microBatches`, which do not exist.
 */
export function forEachInterleaved(shape: ScheduleShape, visit: (chunk: number, microBatch: number) => void): void {
  const { pipeline, chunks, microBatches } = shape;
  for (let first = 0; first < microBatches; first += pipeline) {
    for (let chunk = 0; chunk < chunks; chunk++) {
      for (let i = 0; i < pipeline; i++) visit(chunk, first + i);
    }
  }
}

/** Forwards of a rank before its first backward, interleaved over chunks as Megatron-LM does. */
export function interleavedWarmUp(shape: ScheduleShape, rank: number): number {
  return 2 * (shape.pipeline - 1 - rank) + (shape.chunks - 1) * shape.pipeline;
}

function accumulation({ chunks, microBatches }: ScheduleShape): PassCodes {
  const order: number[] = [];
  for (let microBatch = 0; microBatch < microBatches; microBatch++) {
    for (let stage = 0; stage < chunks; stage++) order.push(codeOf(FORWARD, stage, microBatch, chunks));
    for (let stage = chunks - 1; stage >= 0; stage--) order.push(codeOf(BACKWARD, stage, microBatch, chunks));
  }
  return order;
}

interface Alternation {
  readonly warmUp: number;
  readonly backward: number;
  /** Backwards by which a weight pass lags behind its own; absent: it waits for an idle time, or there is none. */
  readonly weightDelay?: number;
}

/** `warmUp` forwards, then a backward and a forward in turn. */
function alternating(
  { microBatches, chunks }: ScheduleShape,
  { warmUp, backward, weightDelay = Infinity }: Alternation,
): PassCodes {
  const order: number[] = [];
  for (let i = 0; i < microBatches + warmUp; i++) {
    const returning = i - warmUp;
    if (returning >= 0) order.push(codeOf(backward, 0, returning, chunks));
    const weight = returning - weightDelay;
    if (weight >= 0) order.push(codeOf(BACKWARD_WEIGHT, 0, weight, chunks));
    if (i < microBatches) order.push(codeOf(FORWARD, 0, i, chunks));
  }
  return order;
}

function interleaved(shape: ScheduleShape, rank: number): PassCodes {
  const { chunks, microBatches } = shape;
  const forwards: number[] = [];
  const backwards: number[] = [];
  forEachInterleaved(shape, (chunk, microBatch) => {
    forwards.push(codeOf(FORWARD, chunk, microBatch, chunks));
    backwards.push(codeOf(BACKWARD, chunks - 1 - chunk, microBatch, chunks));
  });
  const warmUp = interleavedWarmUp(shape, rank) + 1;
  const order: number[] = [];
  const addExisting = (code: number | undefined): void => {
    if (code !== undefined && microBatchOfCode(code, chunks) < microBatches) order.push(code);
  };
  for (let i = 0; i < forwards.length + warmUp; i++) {
    addExisting(backwards[i - warmUp]);
    addExisting(forwards[i]);
  }
  return order;
}

/** Numbers the micro-batches as passes are added to a rank's list; those that do not exist are left out. */
class PassList {
  readonly passes: number[] = [];
  private readonly microBatches: number;
  private readonly forwards: [number, number] = [0, 0];
  private readonly backwards: [number, number] = [0, 0];
  private readonly owed: number[] = [];
  private oldestOwed = 0;

  constructor({ microBatches }: ScheduleShape) {
    this.microBatches = microBatches;
  }

  forward(chunk: 0 | 1, kind: number = FORWARD): void {
    this.add(kind, chunk, this.forwards[chunk]++);
  }

  backward(chunk: 0 | 1, kind: number = BACKWARD_INPUT): void {
    const microBatch = this.backwards[chunk]++;
    this.add(kind, chunk, microBatch);
    if (kind === BACKWARD_INPUT) this.owed.push(2 * microBatch + chunk);
  }

  /** The oldest weight pass that is owed. */
  weight(): void {
    const owed = this.owed[this.oldestOwed];
    if (owed === undefined) return;
    this.oldestOwed++;
    this.add(BACKWARD_WEIGHT, owed % 2, Math.floor(owed / 2));
  }

  private add(kind: number, chunk: number, microBatch: number): void {
    if (microBatch < this.microBatches) this.passes.push(codeOf(kind, chunk, microBatch, 2));
  }
}

/**
 * The warm-up fills the way down and up again, then every rank runs one pass of each kind and chunk in turn, as PyTorch's
 * ScheduleZBVZeroBubble does. The paper searches an order per profile instead: it states 2 to 7 % idle time on 16 to 32 ranks, and this
 * order has 4 to 10 %. Neither has idle time if all passes are equally long.
 */
function zeroBubbleV(shape: ScheduleShape, rank: number): PassCodes {
  const { pipeline } = shape;
  const microBatches = Math.max(shape.microBatches, 2 * pipeline - 1);
  const below = pipeline - 1 - rank;
  const list = new PassList(shape);
  for (let i = 0; i < 2 * below + 1; i++) list.forward(0);
  for (let i = 0; i < rank; i++) {
    list.forward(1);
    list.forward(0);
  }
  for (let i = 0; i <= below; i++) {
    list.forward(1);
    list.backward(1);
  }
  const inWarmUp = 2 * below + 1 + rank;
  for (let i = 0; i < microBatches - pipeline; i++) {
    if (inWarmUp + i < microBatches) list.forward(0);
    list.backward(0);
    list.forward(1);
    list.backward(1);
  }
  for (let i = 0; i < rank; i++) {
    list.backward(0);
    list.backward(1);
  }
  for (let i = 0; i <= below; i++) list.backward(0);
  return list.passes;
}

/** When a rank starts forward down, forward up, backward down and backward up of its first micro-batch, in passes of equal length. */
type BuildingBlock = readonly [number, number, number, number];

const PASSES_PER_MICRO_BATCH = 6;

/** 2405.15362, V-Half: the way down takes two slots per rank. The pause keeps the four passes of a rank apart. */
function halfMemoryBlock(pipeline: number, rank: number): BuildingBlock {
  const pause = pipeline % 2 === 0 ? 3 : 0;
  const turned = 3 * pipeline + pause;
  return [2 * rank, 3 * pipeline - rank - 2, turned + 2 * rank - 1, turned + 3 * pipeline - rank - 2];
}

/** 2405.15362, V-Min: one slot per rank both ways. Without any slack, so weight passes keep to the slots between. */
function minimalMemoryBlock(pipeline: number, rank: number): BuildingBlock {
  const pause = pipeline % 3 === 0 ? 2 : 0;
  const turned = 2 * pipeline + pause;
  return [rank, 2 * pipeline - rank - 1, turned + rank, turned + 2 * pipeline - rank - 1];
}

/**
 * The block again for every micro-batch, six passes later. Only the order is kept: passes start as soon as they can. In every six slots the parts of the
 * block stand alike, each with its next micro-batch.
 */
function repeated({ microBatches, chunks }: ScheduleShape, block: BuildingBlock): PassCodes {
  const parts = block
    .map((slot, part) => ({
      first: Math.floor(slot / PASSES_PER_MICRO_BATCH),
      within: slot % PASSES_PER_MICRO_BATCH,
      kind: part < 2 ? FORWARD : BACKWARD_INPUT,
      chunk: part === 0 || part === 3 ? 0 : 1,
    }))
    .sort((a, b) => a.within - b.within);
  const codes: number[] = [];
  for (let round = 0; codes.length < 4 * microBatches; round++) {
    for (const { first, kind, chunk } of parts) {
      const microBatch = round - first;
      if (microBatch >= 0 && microBatch < microBatches) codes.push(codeOf(kind, chunk, microBatch, chunks));
    }
  }
  return codes;
}

/** With weight passes in the slots that other passes leave free where all are equally long, oldest first. */
function minimalMemory(shape: ScheduleShape, rank: number): PassCodes {
  const block = minimalMemoryBlock(shape.pipeline, rank);
  const slotOf = (code: number): number => {
    const ofChunk = chunkOfCode(code, shape.chunks);
    const part = kindOfCode(code) === FORWARD ? ofChunk : 3 - ofChunk;
    return (block[part] as number) + PASSES_PER_MICRO_BATCH * microBatchOfCode(code, shape.chunks);
  };
  const all: number[] = [];
  const owed: number[] = [];
  let oldestOwed = 0;
  let freeSlot = 0;
  for (const code of repeated(shape, block)) {
    const slot = slotOf(code);
    for (; freeSlot < slot; freeSlot++) {
      if (oldestOwed < owed.length) all.push(owed[oldestOwed++] as number);
    }
    all.push(code);
    freeSlot = slot + 1;
    if (kindOfCode(code) === BACKWARD_INPUT) owed.push(code - BACKWARD_INPUT + BACKWARD_WEIGHT);
  }
  for (; oldestOwed < owed.length; oldestOwed++) all.push(owed[oldestOwed] as number);
  return all;
}

/** DeepSeek's DualPipeV, as in PyTorch's ScheduleDualPipeV: in the steady phase every forward runs interleaved with a backward. */
function dualPipeV(shape: ScheduleShape, rank: number): PassCodes {
  const { pipeline } = shape;
  const microBatches = Math.max(shape.microBatches, 2 * pipeline);
  const below = pipeline - 1 - rank;
  const list = new PassList(shape);
  for (let i = 0; i < 2 * below; i++) list.forward(0);
  for (let i = 0; i <= rank; i++) {
    list.forward(0);
    list.forward(1);
  }
  for (let i = 0; i < below; i++) {
    list.backward(1);
    list.weight();
    list.forward(1);
  }
  for (let i = 0; i < microBatches - 2 * pipeline + rank + 1; i++) {
    // The last rank turns its own micro-batch around: interleaving the first pair there would only delay it.
    list.forward(0, i === 0 && below === 0 ? FORWARD : PAIRED_FORWARD);
    list.backward(1, BACKWARD);
    list.forward(1, PAIRED_FORWARD);
    list.backward(0, BACKWARD);
  }
  for (let i = 0; i < below; i++) {
    list.backward(1, BACKWARD);
    list.forward(1, PAIRED_FORWARD);
    list.backward(0, BACKWARD);
  }
  const splitFrom = 2 * Math.floor((rank + 1) / 2) + (rank % 2 === 0 ? 1 : 0);
  for (let i = 0; i < 2 * (rank + 1); i++)
    list.backward(i % 2 === 0 ? 1 : 0, i >= splitFrom ? BACKWARD_INPUT : BACKWARD);
  for (let i = 0; i < below; i++) {
    list.weight();
    list.backward(0);
  }
  return list.passes;
}
