/** Full simulation of a schedule, for reports and drawings; `makespanOf` is faster. */
import { BACKWARD, BACKWARD_INPUT, BACKWARD_WEIGHT, FORWARD } from './pass-order.ts';
import { newOrderCache, rankOrdersOf, type OrderCache } from './rank-orders.ts';
import { newRunBuffers, runSchedule, type PassRun } from './run-schedule.ts';
import { assertScheduleInput, assertScheduleShape, type ScheduleInput, type ScheduleShape } from './schedule-input.ts';

/** Kind of a pass. */
export type PassKind = 'forward' | 'backward' | 'backward-input' | 'backward-weight';

const KIND_NAMES: Readonly<Record<number, PassKind>> = {
  [FORWARD]: 'forward',
  [BACKWARD]: 'backward',
  [BACKWARD_INPUT]: 'backward-input',
  [BACKWARD_WEIGHT]: 'backward-weight',
};

/** One pass. `backward` computes both gradients; `stage` is the virtual stage, `chunk` its place on the rank. */
export interface ScheduledPass {
  readonly kind: PassKind;
  readonly stage: number;
  readonly chunk: number;
  readonly microBatch: number;
}

/** A pass with its start and end in seconds. */
export interface TimedPass extends ScheduledPass {
  readonly rank: number;
  readonly startS: number;
  readonly endS: number;
}

/** The result of a full simulation. */
export interface ScheduleRun {
  /** See `makespanOf`. */
  readonly makespanS: number;
  /** Share of the makespan that the ranks idle on average, in [0, 1); waiting for a blocking message counts as idle. */
  readonly bubbleShare: number;
  /** Per rank, seconds of computation. */
  readonly busyS: readonly number[];
  /** Per rank, most activations of one (virtual stage, micro-batch) held at a time; a split backward may leave fractions. */
  readonly peakInFlight: readonly number[];
  /** Per rank, the same in bytes. Present where `activationBytes` is given. */
  readonly peakActivationBytes?: readonly number[];
}

/**
 * Simulates a schedule.
 *
 * @param activationBytes bytes that one micro-batch leaves on each virtual stage between forward and backward
 * @throws DomainError INVALID_REQUEST if the shape is impossible or an array is too short
 */
export function simulateSchedule(
  input: ScheduleInput,
  activationBytes?: readonly number[],
  cache: OrderCache = newOrderCache(),
): ScheduleRun {
  assertScheduleInput(input);
  const counts = new HeldActivations(input, () => 1);
  const bytes = new HeldActivations(input, (stage) => activationBytes?.[stage] ?? 0);
  const busyS = new Array<number>(input.pipeline).fill(0);
  const listener = (run: PassRun): void => {
    busyS[run.rank] = (busyS[run.rank] ?? 0) + run.endS - run.startS;
    counts.add(run);
    bytes.add(run);
  };
  const makespanS = runSchedule(input, rankOrdersOf(input, cache), newRunBuffers(), { listener });
  const meanBusyS = busyS.reduce((sum, oneS) => sum + oneS, 0) / input.pipeline;
  return {
    makespanS,
    bubbleShare: makespanS > 0 ? 1 - meanBusyS / makespanS : 0,
    busyS,
    peakInFlight: counts.peaks,
    ...(activationBytes === undefined ? {} : { peakActivationBytes: bytes.peaks }),
  };
}

/** Every pass with its start and end, rank by rank and in order. */
export function timelineOf(input: ScheduleInput, cache: OrderCache = newOrderCache()): TimedPass[] {
  assertScheduleInput(input);
  const perRank = Array.from({ length: input.pipeline }, (): TimedPass[] => []);
  const listener = ({ kind, rank, stage, cell, startS, endS }: PassRun): void => {
    const chunk = Math.floor(stage / input.pipeline);
    const microBatch = cell - stage * input.microBatches;
    perRank[rank]?.push({ kind: KIND_NAMES[kind] ?? 'forward', rank, stage, chunk, microBatch, startS, endS });
  };
  runSchedule(input, rankOrdersOf(input, cache), newRunBuffers(), { listener });
  return perRank.flat();
}

/**
 * The passes of every rank in order. Weight passes that a schedule runs when it has time stand where they do when all passes take equally
 * long and messages no time.
 */
export function orderOfPasses(shape: ScheduleShape, cache: OrderCache = newOrderCache()): ScheduledPass[][] {
  assertScheduleShape(shape);
  const stages = shape.pipeline * shape.chunks;
  const one = new Float64Array(stages).fill(1);
  const none = new Float64Array(stages);
  const orders = Array.from({ length: shape.pipeline }, (): ScheduledPass[] => []);
  const input: ScheduleInput = {
    ...shape,
    forwardS: one,
    backwardInputS: one,
    backwardWeightS: one,
    forwardHopS: none,
    backwardHopS: none,
    p2p: 'overlapped',
  };
  for (const { rank, kind, stage, chunk, microBatch } of timelineOf(input, cache)) {
    orders[rank]?.push({ kind, stage, chunk, microBatch });
  }
  return orders;
}

/** Follows what each rank holds: all of an activation from its forward on, `weightShare` of it from its input pass to its weight pass. */
class HeldActivations {
  readonly peaks: number[];
  private readonly held: number[];
  private readonly weightShare: number;
  private readonly sizeOf: (stage: number) => number;

  constructor({ pipeline, weightShare = 1 }: ScheduleInput, sizeOf: (stage: number) => number) {
    this.peaks = new Array<number>(pipeline).fill(0);
    this.held = new Array<number>(pipeline).fill(0);
    this.weightShare = weightShare;
    this.sizeOf = sizeOf;
  }

  add({ kind, rank, stage }: PassRun): void {
    const held = (this.held[rank] ?? 0) + this.sizeOf(stage) * this.change(kind);
    this.held[rank] = held;
    this.peaks[rank] = Math.max(this.peaks[rank] ?? 0, held);
  }

  private change(kind: number): number {
    if (kind === FORWARD) return 1;
    if (kind === BACKWARD) return -1;
    return kind === BACKWARD_INPUT ? this.weightShare - 1 : -this.weightShare;
  }
}
