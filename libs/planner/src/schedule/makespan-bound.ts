/** How long does a pipeline take at least? For searches that drop a layout before its schedule is simulated. */
import { isVShaped } from '../stages.ts';
import {
  activationLimit,
  BACKWARD,
  BACKWARD_WEIGHT,
  chunkOfCode,
  FORWARD,
  kindOfCode,
  microBatchOfCode,
  passCodes,
} from './pass-order.ts';
import type { ScheduleInput, ScheduleShape } from './schedule-input.ts';

/**
 * Lower bound of `makespanOf`, in time linear in the stages: every rank computes all its passes. Where the backward is fused, it starts
 * them when the first micro-batch has come down to it, and its last gradient must go back up; that is exact for even stages whose messages
 * take no time. Where it is split, the first rank bounds it further: see `firstRankBoundS`.
 */
export function makespanLowerBound(input: ScheduleInput): number {
  const { schedule, pipeline, chunks, microBatches } = input;
  const fused = schedule === 'gpipe' || schedule === '1f1b' || schedule === 'interleaved-1f1b';
  const folded = isVShaped(schedule);
  let boundS = 0;
  let aboveS = 0;
  for (let rank = 0; rank < pipeline; rank++) {
    let busyS = 0;
    for (let chunk = 0; chunk < chunks; chunk++) {
      const along = folded && chunk % 2 === 1 ? pipeline - 1 - rank : rank;
      busyS += passesS(input, chunk * pipeline + along);
    }
    boundS = Math.max(boundS, microBatches * busyS + (fused ? aboveS : 0));
    aboveS += passesS(input, rank) + (input.forwardHopS[rank] as number) + (input.backwardHopS[rank] as number);
  }
  return fused || pipeline === 1 ? boundS : Math.max(boundS, firstRankBoundS(input, folded));
}

/** The passes of the first rank by shape, for `firstRankMakespanBound`. Owned by the caller. */
export type FirstRankOrders = Map<string, FirstRankOrder>;

interface FirstRankOrder {
  readonly kinds: Uint8Array;
  /** 1 for the last stage, which a folded pipeline's first rank holds too. */
  readonly isLast: Uint8Array;
  readonly microBatches: Int32Array;
}

/**
 * A closer lower bound of `makespanOf` for the zero-bubble and V-shaped schedules, in time linear in the micro-batches: the first rank in its own
 * order of passes, as if all other ranks were free whenever something comes to them. Other schedules have no closer bound than
 * `makespanLowerBound`, and DualPipeV's pairs of passes are not looked at.
 */
export function firstRankMakespanBound(input: ScheduleInput, orders: FirstRankOrders): number {
  const { schedule, pipeline, chunks, microBatches } = input;
  const isSplit = schedule !== 'gpipe' && schedule !== '1f1b' && schedule !== 'interleaved-1f1b';
  if (!isSplit || schedule === 'dualpipe-v' || pipeline === 1) return 0;
  const { kinds, isLast, microBatches: ofPass } = firstRankOrderOf(input, orders);
  const last = pipeline * chunks - 1;
  const folded = isVShaped(schedule);
  const way = chainOf(input, folded ? last - 1 : last);
  const readyS = new Float64Array(microBatches);
  const leastWeightS = Math.min(
    input.backwardWeightS[0] as number,
    folded ? (input.backwardWeightS[last] as number) : Infinity,
  );
  let nowS = 0;
  for (let pass = 0; pass < kinds.length; pass++) {
    const kind = kinds[pass];
    const at = ofPass[pass] as number;
    const stage = isLast[pass] === 1 ? last : 0;
    if (kind === BACKWARD_WEIGHT) {
      nowS += leastWeightS;
    } else if (kind === FORWARD) {
      if (stage === last) nowS = Math.max(nowS, readyS[at] as number);
      nowS += input.forwardS[stage] as number;
      if (stage === 0) readyS[at] = nowS + way.downS + (folded ? 0 : way.upS);
    } else {
      if (stage === 0) nowS = Math.max(nowS, readyS[at] as number);
      nowS += input.backwardInputS[stage] as number;
      if (kind === BACKWARD) nowS += input.backwardWeightS[stage] as number;
      if (stage === last) readyS[at] = nowS + way.upS;
    }
  }
  return nowS;
}

/** Seconds that a micro-batch is away from the first rank, over stages 1 to `to`: down with its activation, up with its gradient. */
function chainOf(input: ScheduleInput, to: number): { readonly downS: number; readonly upS: number } {
  const { pipeline, chunks } = input;
  const last = pipeline * chunks - 1;
  let downS = 0;
  let upS = 0;
  for (let stage = 0; stage <= to; stage++) {
    if (stage > 0) {
      downS += input.forwardS[stage] as number;
      upS += input.backwardInputS[stage] as number;
    }
    const staysOnRank = isVShaped(input.schedule) && stage % pipeline === pipeline - 1;
    if (stage < last && !staysOnRank) {
      downS += input.forwardHopS[stage] as number;
      upS += input.backwardHopS[stage] as number;
    }
  }
  return { downS, upS };
}

function firstRankOrderOf(shape: ScheduleShape, orders: FirstRankOrders): FirstRankOrder {
  const key = `${shape.schedule}/${shape.pipeline}/${shape.microBatches}`;
  const known = orders.get(key);
  if (known !== undefined) return known;
  const codes = passCodes(shape, 0);
  const order = {
    kinds: Uint8Array.from(codes, kindOfCode),
    isLast: Uint8Array.from(codes, (code) => (chunkOfCode(code, shape.chunks) === 0 ? 0 : 1)),
    microBatches: Int32Array.from(codes, (code) => microBatchOfCode(code, shape.chunks)),
  };
  orders.set(key, order);
  return order;
}

/**
 * The first rank takes in at most K micro-batches before it sends one out, and the first gradient of a micro-batch is back after a whole round
 * trip of R seconds. So it idles unless what it may do meanwhile fills R, and no step is shorter than m round trips of which K go on at a time.
 */
function firstRankBoundS(input: ScheduleInput, folded: boolean): number {
  const { pipeline, chunks, microBatches } = input;
  const last = pipeline * chunks - 1;
  let roundTripS = 0;
  for (let stage = 0; stage <= last; stage++) {
    roundTripS += input.forwardS[stage] as number;
    if (stage > 0) roundTripS += input.backwardInputS[stage] as number;
    const staysOnRank = folded && stage % pipeline === pipeline - 1;
    if (stage < last && !staysOnRank) {
      roundTripS += (input.forwardHopS[stage] as number) + (input.backwardHopS[stage] as number);
    }
  }
  const inFlight = Math.min(microBatches, limitOf(input));
  const ownS = folded ? passesS(input, last) : 0;
  const firstS = input.forwardS[0] as number;
  const idleS = roundTripS - inFlight * (firstS + ownS);
  const busyS = microBatches * (passesS(input, 0) + ownS);
  return Math.max(busyS + Math.max(0, idleS), (microBatches * (roundTripS - firstS)) / inFlight);
}

/** DualPipeV fills the pipeline with two micro-batches per rank and one more. */
function limitOf(input: ScheduleInput): number {
  return input.schedule === 'dualpipe-v' ? 2 * input.pipeline + 1 : activationLimit(input);
}

function passesS({ forwardS, backwardInputS, backwardWeightS }: ScheduleInput, stage: number): number {
  return (forwardS[stage] as number) + (backwardInputS[stage] as number) + (backwardWeightS[stage] as number);
}
