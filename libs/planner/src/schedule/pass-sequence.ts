/** The passes of all ranks as one list in which every pass stands behind those it waits for. */
import {
  activationLimit,
  BACKWARD,
  BACKWARD_INPUT,
  BACKWARD_WEIGHT,
  FORWARD,
  limitKnowsWeightShare,
  PAIRED_FORWARD,
  passOrder,
  weightsWait,
  type Pass,
} from './pass-order.ts';
import { rankOfStage } from '../stages.ts';
import type { ScheduleShape } from './schedule-input.ts';

/** A schedule ready to be timed. Depends on the shape alone, so one sequence serves every layout of that shape. */
export interface PassSequence {
  readonly kinds: Uint8Array;
  readonly stages: Int32Array;
  /** `stage * microBatches + microBatch`. */
  readonly cells: Int32Array;
  readonly ranks: Int32Array;
  /** 1 where stage k and k + 1 stand on different ranks, 0 where a message between them takes no time. */
  readonly crossesRanks: Float64Array;
  readonly weightsWait: boolean;
  /** Activations a rank may hold before it runs weight passes first. */
  readonly activationLimit: number;
  /** Whether the limit counts what an input pass frees. */
  readonly limitKnowsWeightShare: boolean;
}

/** Plans by shape. Owned by the caller: nothing is kept between calls that do not share it. */
export interface SequenceCache {
  readonly sequences: Map<string, PassSequence>;
  /** Passes of all plans in `plans`. */
  passes: number;
}

/** About 50 MB of plans; a search meets a few hundred shapes of a few thousand passes. */
const CACHED_PASSES = 4_000_000;

export function newSequenceCache(): SequenceCache {
  return { sequences: new Map(), passes: 0 };
}

export function sequenceOf(shape: ScheduleShape, cache: SequenceCache): PassSequence {
  const { schedule, pipeline, chunks, microBatches } = shape;
  const key = `${schedule} ${pipeline} ${chunks} ${microBatches}`;
  const known = cache.sequences.get(key);
  if (known !== undefined) return known;
  const sequence = newSequence(shape);
  if (cache.passes + sequence.kinds.length > CACHED_PASSES) {
    cache.sequences.clear();
    cache.passes = 0;
  }
  cache.sequences.set(key, sequence);
  cache.passes += sequence.kinds.length;
  return sequence;
}

function newSequence(shape: ScheduleShape): PassSequence {
  const { pipeline, chunks, microBatches } = shape;
  const orders = Array.from({ length: pipeline }, (_, rank) => passOrder(shape, rank));
  const length = orders.reduce((sum, order) => sum + order.length, 0);
  const sequence: PassSequence = {
    kinds: new Uint8Array(length),
    stages: new Int32Array(length),
    cells: new Int32Array(length),
    ranks: new Int32Array(length),
    crossesRanks: Float64Array.from({ length: pipeline * chunks }, (_, stage) =>
      rankOfStage(shape, stage) === rankOfStage(shape, stage + 1) ? 0 : 1,
    ),
    weightsWait: weightsWait(shape),
    activationLimit: activationLimit(shape),
    limitKnowsWeightShare: limitKnowsWeightShare(shape),
  };
  let next = 0;
  interleaveRanks(shape, orders, ({ kind, stage, microBatch }, rank) => {
    sequence.kinds[next] = kind;
    sequence.stages[next] = stage;
    sequence.cells[next] = stage * microBatches + microBatch;
    sequence.ranks[next] = rank;
    next++;
  });
  return sequence;
}

/** Takes passes from every rank in turn for as long as what they wait for has been taken; pairs stay together. */
function interleaveRanks(
  shape: ScheduleShape,
  orders: readonly (readonly Pass[])[],
  visit: (pass: Pass, rank: number) => void,
): void {
  const taken = new Taken(shape);
  const next = orders.map(() => 0);
  let waiting = orders.reduce((sum, order) => sum + order.length, 0);
  while (waiting > 0) {
    const before = waiting;
    for (const [rank, order] of orders.entries()) {
      let at = next[rank] ?? 0;
      for (let pass = order[at]; pass !== undefined && taken.ready(pass); pass = order[++at]) {
        const partner = pass.kind === PAIRED_FORWARD ? order[at + 1] : undefined;
        if (partner !== undefined && !taken.ready(partner)) break;
        taken.take(pass);
        visit(pass, rank);
        waiting--;
      }
      next[rank] = at;
    }
    if (waiting === before) throw new Error(`the passes of ${shape.schedule} wait for each other`);
  }
}

/** Which passes have been sequenced. */
class Taken {
  private readonly microBatches: number;
  private readonly lastStage: number;
  private readonly forwards: Uint8Array;
  private readonly backwards: Uint8Array;

  constructor({ pipeline, chunks, microBatches }: ScheduleShape) {
    this.microBatches = microBatches;
    this.lastStage = pipeline * chunks - 1;
    this.forwards = new Uint8Array(pipeline * chunks * microBatches);
    this.backwards = new Uint8Array(pipeline * chunks * microBatches);
  }

  ready({ kind, stage, microBatch }: Pass): boolean {
    const cell = stage * this.microBatches + microBatch;
    if (kind === FORWARD || kind === PAIRED_FORWARD)
      return stage === 0 || this.forwards[cell - this.microBatches] === 1;
    if (kind === BACKWARD_WEIGHT) return this.backwards[cell] === 1;
    return this.forwards[cell] === 1 && (stage === this.lastStage || this.backwards[cell + this.microBatches] === 1);
  }

  take({ kind, stage, microBatch }: Pass): void {
    const cell = stage * this.microBatches + microBatch;
    if (kind === FORWARD || kind === PAIRED_FORWARD) this.forwards[cell] = 1;
    if (kind === BACKWARD || kind === BACKWARD_INPUT) this.backwards[cell] = 1;
  }
}
