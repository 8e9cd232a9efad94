/** The passes of all ranks of a schedule, prepared for simulation. */
import { rankOfStage } from '../stages.ts';
import {
  activationLimit,
  chunkOfCode,
  kindOfCode,
  limitCountsWeightShare,
  microBatchOfCode,
  passCodes,
  hasDeferredWeightPasses,
} from './pass-order.ts';
import { stageOfRank, type ScheduleShape } from './schedule-input.ts';

/** The passes of all ranks, rank by rank. They depend only on the shape, so all layouts with one shape share them. */
export interface RankOrders {
  readonly kinds: Uint8Array;
  readonly stages: Int32Array;
  /** `stage * microBatches + microBatch`. */
  readonly cells: Int32Array;
  /** Where the passes of each rank begin, and behind the last rank where they end. */
  readonly beginnings: Int32Array;
  /** Passes of a rank for one micro-batch in the middle of a step, where it repeats them: from where to where each rank does. */
  readonly perMicroBatch: number;
  readonly steadyFrom: Int32Array;
  readonly steadyTo: Int32Array;
  /** 1 where stage k and k + 1 stand on different ranks, 0 where a message between them takes no time. */
  readonly crossesRanks: Float64Array;
  readonly hasDeferredWeightPasses: boolean;
  /** Activations a rank may hold before it runs weight passes first. */
  readonly activationLimit: number;
  /** Whether the limit counts what an input pass frees. */
  readonly limitCountsWeightShare: boolean;
}

/** Orders by shape. Owned by the caller: nothing is kept between calls that do not share it. */
export interface OrderCache {
  readonly known: Map<string, RankOrders>;
  /** Passes of all orders in `known`. */
  passes: number;
}

/** About 40 MB; a search meets a few hundred shapes of a few thousand passes. */
const CACHED_PASSES = 4_000_000;

/** An empty cache. */
export function newOrderCache(): OrderCache {
  return { known: new Map(), passes: 0 };
}

/** The passes of a shape, from the cache if possible. */
export function rankOrdersOf(shape: ScheduleShape, cache: OrderCache): RankOrders {
  const { schedule, pipeline, chunks, microBatches } = shape;
  const key = `${schedule} ${pipeline} ${chunks} ${microBatches}`;
  const known = cache.known.get(key);
  if (known !== undefined) return known;
  const orders = newRankOrders(shape);
  if (cache.passes + orders.kinds.length > CACHED_PASSES) {
    cache.known.clear();
    cache.passes = 0;
  }
  cache.known.set(key, orders);
  cache.passes += orders.kinds.length;
  return orders;
}

function newRankOrders(shape: ScheduleShape): RankOrders {
  const { pipeline, chunks, microBatches } = shape;
  const codesOfRanks = Array.from({ length: pipeline }, (_, rank) => passCodes(shape, rank));
  const length = codesOfRanks.reduce((sum, codes) => sum + codes.length, 0);
  const kinds = new Uint8Array(length);
  const stages = new Int32Array(length);
  const cells = new Int32Array(length);
  const beginnings = new Int32Array(pipeline + 1);
  let at = 0;
  for (let rank = 0; rank < pipeline; rank++) {
    const codes = codesOfRanks[rank] ?? [];
    const stageOfChunk = Int32Array.from({ length: chunks }, (_, chunk) => stageOfRank(shape, rank, chunk));
    for (let pass = 0; pass < codes.length; pass++, at++) {
      const code = codes[pass] as number;
      const stage = stageOfChunk[chunkOfCode(code, chunks)] as number;
      kinds[at] = kindOfCode(code);
      stages[at] = stage;
      cells[at] = stage * microBatches + microBatchOfCode(code, chunks);
    }
    beginnings[rank + 1] = at;
  }
  const perMicroBatch = repeatedPasses(shape);
  return {
    kinds,
    stages,
    cells,
    beginnings,
    perMicroBatch,
    ...steadyStretches({ kinds, stages, cells, beginnings, perMicroBatch }),
    crossesRanks: Float64Array.from({ length: pipeline * chunks }, (_, stage) =>
      rankOfStage(shape, stage) === rankOfStage(shape, stage + 1) ? 0 : 1,
    ),
    hasDeferredWeightPasses: hasDeferredWeightPasses(shape),
    activationLimit: activationLimit(shape),
    limitCountsWeightShare: limitCountsWeightShare(shape),
  };
}

/** Passes that a rank repeats for every micro-batch. Weight passes that wait for a place are none of its order. */
function repeatedPasses({ schedule, chunks }: ScheduleShape): number {
  const weights = schedule === 'v-min' || schedule === 'zb-h1' ? chunks : 0;
  return 2 * chunks + weights;
}

/** The longest stretch of each rank in which every pass is that of `perMicroBatch` passes before, for the next micro-batch. */
function steadyStretches({
  kinds,
  stages,
  cells,
  beginnings,
  perMicroBatch,
}: Pick<RankOrders, 'kinds' | 'stages' | 'cells' | 'beginnings' | 'perMicroBatch'>): Pick<
  RankOrders,
  'steadyFrom' | 'steadyTo'
> {
  const ranks = beginnings.length - 1;
  const steadyFrom = new Int32Array(ranks);
  const steadyTo = new Int32Array(ranks);
  for (let rank = 0; rank < ranks; rank++) {
    const end = beginnings[rank + 1] as number;
    let from = beginnings[rank] as number;
    for (let at = from; at < end; at++) {
      const repeats =
        at + perMicroBatch < end &&
        kinds[at] === kinds[at + perMicroBatch] &&
        stages[at] === stages[at + perMicroBatch] &&
        (cells[at] as number) + 1 === cells[at + perMicroBatch];
      if (repeats) continue;
      if (at + perMicroBatch - from > (steadyTo[rank] as number) - (steadyFrom[rank] as number)) {
        steadyFrom[rank] = from;
        steadyTo[rank] = Math.min(end, at + perMicroBatch);
      }
      from = at + 1;
    }
  }
  return { steadyFrom, steadyTo };
}
