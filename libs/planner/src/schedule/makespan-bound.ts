/** Lower bounds of makespans, for searches that prune layouts before their schedule is simulated. */
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
  PAIRED_FORWARD,
  hasDeferredWeightPasses,
} from './pass-order.ts';
import { boundOfLong, isLong } from './long-schedule.ts';
import type { ScheduleInput, ScheduleShape } from './schedule-input.ts';

/**
 * Lower bound of `makespanOf`, in time linear in the stages: every rank computes all its passes. If the backward is fused, a rank
 * starts them when the first micro-batch has come down to it, and its last gradient must go back up. That is exact for even stages whose messages
 * take no time. If the backward is split, the first rank bounds it further: see `firstRankBoundS`.
 */
export function makespanLowerBound(input: ScheduleInput): number {
  const { schedule, pipeline, microBatches } = input;
  const fused = schedule === 'gpipe' || schedule === '1f1b' || schedule === 'interleaved-1f1b';
  const folded = isVShaped(schedule);
  let boundS = 0;
  let aboveS = 0;
  for (let rank = 0; rank < pipeline; rank++) {
    boundS = Math.max(boundS, microBatches * busyS(input, rank) + (fused ? aboveS : 0));
    aboveS += passesS(input, rank) + (input.forwardHopS[rank] as number) + (input.backwardHopS[rank] as number);
  }
  return fused || pipeline === 1 ? boundS : Math.max(boundS, firstRankBoundS(input, folded));
}

/** Cache of {@link waitingMakespanBound}: passes of single ranks by shape. Owned by the caller. */
export type OrdersOfRanks = Map<string, OrderOfRank>;

interface OrderOfRank {
  readonly kinds: Uint8Array;
  /** 1 for the second stage of a rank of a folded pipeline. */
  readonly isSecond: Uint8Array;
  readonly microBatches: Int32Array;
  /** By micro-batch, written before it is read: when its activation, its gradient and that of the first stage come to the rank. */
  readonly inputAtS: Float64Array;
  readonly gradientAtS: Float64Array;
  readonly backAtS: Float64Array;
}

/**
 * A closer lower bound of `makespanOf` for schedules that split their backward passes, in time linear in the micro-batches. It follows the first rank and
 * the busiest one, each in its own order of passes, as if all other ranks were free whenever something comes to them. What a rank idles before a pass, even if every weight
 * pass that it could have run had filled the time, it cannot catch up on. Other schedules have no closer bound than `makespanLowerBound`.
 */
export function waitingMakespanBound(input: ScheduleInput, orders: OrdersOfRanks): number {
  const { schedule, pipeline } = input;
  const isSplit = schedule !== 'gpipe' && schedule !== '1f1b' && schedule !== 'interleaved-1f1b';
  if (!isSplit || pipeline === 1) return 0;
  const busiest = busiestRankOf(input);
  const boundOf = (followed: ScheduleInput): number => {
    const firstS = boundOfRank(followed, 0, orders);
    return busiest === 0 ? firstS : Math.max(firstS, boundOfRank(followed, busiest, orders));
  };
  return isLong(input) ? boundOfLong(input, boundOf) : boundOf(input);
}

function boundOfRank(input: ScheduleInput, rank: number, orders: OrdersOfRanks): number {
  const { pipeline, chunks, microBatches, forwardS, backwardInputS, backwardWeightS } = input;
  const { kinds, isSecond, microBatches: ofPass, inputAtS, gradientAtS, backAtS } = orderOfRank(input, rank, orders);
  const first = rank;
  const second = isVShaped(input.schedule) ? 2 * pipeline - 1 - rank : rank;
  const last = pipeline * chunks - 1;
  const away = awayOf(input, { first, second, last });
  const [ofFirstS, ofSecondS] = [backwardWeightS[first] as number, backwardWeightS[second] as number];
  const leastWeightS = Math.min(ofFirstS, ofSecondS);
  const mostWeightS = Math.max(ofFirstS, ofSecondS);
  const fills = hasDeferredWeightPasses(input);
  let nowS = 0;
  /** Seconds of all that may have run by now, weight passes that wait for a place included. */
  let ranS = 0;
  let idleS = 0;
  for (let pass = 0; pass < kinds.length; pass++) {
    const kind = kinds[pass];
    if (kind === BACKWARD_WEIGHT) {
      nowS += leastWeightS;
      ranS += mostWeightS;
      continue;
    }
    const at = ofPass[pass] as number;
    const isForward = kind === FORWARD || kind === PAIRED_FORWARD;
    const onSecond = isSecond[pass] === 1;
    const stage = onSecond ? second : first;
    const turns = onSecond || first === second;
    if (isForward && onSecond) nowS = Math.max(nowS, inputAtS[at] as number);
    if (!isForward) nowS = Math.max(nowS, (turns ? gradientAtS[at] : backAtS[at]) as number);
    idleS = Math.max(idleS, nowS - ranS);
    const computesS = (isForward ? forwardS[stage] : backwardInputS[stage]) as number;
    const weightS = isForward ? 0 : (backwardWeightS[stage] as number);
    nowS += computesS + (kind === BACKWARD ? weightS : 0);
    ranS += computesS + (kind === BACKWARD || fills ? weightS : 0);
    if (!isForward) backAtS[at] = nowS + away.returningS;
    else if (turns) gradientAtS[at] = nowS + away.turningS;
    else inputAtS[at] = nowS + away.goingS;
  }
  return Math.max(nowS, microBatches * busyS(input, rank) + idleS);
}

interface Away {
  /** From the first stage of a rank to its second. */
  readonly goingS: number;
  /** Behind its second stage, until the gradient is back. */
  readonly turningS: number;
  /** From the second stage back to the first. */
  readonly returningS: number;
}

/** Seconds that a micro-batch is away from a rank that has these two stages, or one that is both. */
function awayOf(
  input: ScheduleInput,
  { first, second, last }: { readonly first: number; readonly second: number; readonly last: number },
): Away {
  const between = chainOf(input, first, second);
  const behind = chainOf(input, second, last + 1);
  return { goingS: between.downS, turningS: behind.downS + behind.upS, returningS: between.upS };
}

/** Seconds of the passes between two stages and of the messages on the way, down with an activation and up with its gradient. Behind the last stage is nothing. */
function chainOf(input: ScheduleInput, from: number, to: number): { readonly downS: number; readonly upS: number } {
  const { pipeline, chunks } = input;
  const last = pipeline * chunks - 1;
  let downS = 0;
  let upS = 0;
  for (let stage = from; stage < to; stage++) {
    if (stage > from) {
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

function orderOfRank(shape: ScheduleShape, rank: number, orders: OrdersOfRanks): OrderOfRank {
  const key = `${shape.schedule}/${shape.pipeline}/${shape.microBatches}/${rank}`;
  const known = orders.get(key);
  if (known !== undefined) return known;
  const codes = passCodes(shape, rank);
  const { length } = codes;
  const order = {
    kinds: new Uint8Array(length),
    isSecond: new Uint8Array(length),
    microBatches: new Int32Array(length),
    inputAtS: new Float64Array(shape.microBatches),
    gradientAtS: new Float64Array(shape.microBatches),
    backAtS: new Float64Array(shape.microBatches),
  };
  for (let pass = 0; pass < length; pass++) {
    const code = codes[pass] as number;
    order.kinds[pass] = kindOfCode(code);
    order.isSecond[pass] = chunkOfCode(code, shape.chunks) === 0 ? 0 : 1;
    order.microBatches[pass] = microBatchOfCode(code, shape.chunks);
  }
  orders.set(key, order);
  return order;
}

function busiestRankOf(input: ScheduleInput): number {
  let busiest = 0;
  for (let rank = 1; rank < input.pipeline; rank++) if (busyS(input, rank) > busyS(input, busiest)) busiest = rank;
  return busiest;
}

/**
 * The first rank takes in at most K micro-batches before it sends one out, and the first gradient of a micro-batch is back after a whole round
 * trip of R seconds. So it idles unless what it may do meanwhile fills R. No step is shorter than m round trips with K under way at a time.
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

/** Of one micro-batch on all stages of a rank. */
function busyS(input: ScheduleInput, rank: number): number {
  const { pipeline, chunks } = input;
  const folded = isVShaped(input.schedule);
  let seconds = 0;
  for (let chunk = 0; chunk < chunks; chunk++) {
    const along = folded && chunk % 2 === 1 ? pipeline - 1 - rank : rank;
    seconds += passesS(input, chunk * pipeline + along);
  }
  return seconds;
}
