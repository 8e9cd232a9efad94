/** The passes of all ranks as one list in which every pass stands behind those it waits for. */
import {
  activationLimit,
  BACKWARD,
  BACKWARD_INPUT,
  BACKWARD_WEIGHT,
  chunkOfCode,
  FORWARD,
  kindOfCode,
  limitKnowsWeightShare,
  microBatchOfCode,
  PAIRED_FORWARD,
  passCodes,
  weightsWait,
  type PassCodes,
} from './pass-order.ts';
import { rankOfStage } from '../stages.ts';
import { stageOfRank, type ScheduleShape } from './schedule-input.ts';

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
  const { pipeline, chunks } = shape;
  const { kinds, stages, cells, ranks } = new Interleaving(shape).inOrder();
  return {
    kinds,
    stages,
    cells,
    ranks,
    crossesRanks: Float64Array.from({ length: pipeline * chunks }, (_, stage) =>
      rankOfStage(shape, stage) === rankOfStage(shape, stage + 1) ? 0 : 1,
    ),
    weightsWait: weightsWait(shape),
    activationLimit: activationLimit(shape),
    limitKnowsWeightShare: limitKnowsWeightShare(shape),
  };
}

/** Takes passes from every rank in turn for as long as what they wait for has been taken; pairs stay together. */
class Interleaving {
  readonly kinds: Uint8Array;
  readonly stages: Int32Array;
  readonly cells: Int32Array;
  readonly ranks: Int32Array;
  private readonly shape: ScheduleShape;
  private readonly orders: readonly PassCodes[];
  private readonly lastStage: number;
  /** By chunk and rank. */
  private readonly stageOf: Int32Array;
  /** Which passes have been taken, by cell. */
  private readonly forwards: Uint8Array;
  private readonly backwards: Uint8Array;
  private length = 0;

  constructor(shape: ScheduleShape) {
    const { pipeline, chunks, microBatches } = shape;
    this.shape = shape;
    this.orders = Array.from({ length: pipeline }, (_, rank) => passCodes(shape, rank));
    const length = this.orders.reduce((sum, order) => sum + order.length, 0);
    this.kinds = new Uint8Array(length);
    this.stages = new Int32Array(length);
    this.cells = new Int32Array(length);
    this.ranks = new Int32Array(length);
    this.lastStage = pipeline * chunks - 1;
    this.stageOf = Int32Array.from({ length: pipeline * chunks }, (_, at) =>
      stageOfRank(shape, at % pipeline, Math.floor(at / pipeline)),
    );
    this.forwards = new Uint8Array(pipeline * chunks * microBatches);
    this.backwards = new Uint8Array(pipeline * chunks * microBatches);
  }

  inOrder(): this {
    const { orders } = this;
    const next = new Int32Array(orders.length);
    while (this.length < this.kinds.length) {
      const before = this.length;
      for (let rank = 0; rank < orders.length; rank++) next[rank] = this.takeFrom(rank, next[rank] as number);
      if (this.length === before) throw new Error(`the passes of ${this.shape.schedule} wait for each other`);
    }
    return this;
  }

  /** Takes a rank's passes from place `at` on, and returns the place of the first that has to wait. */
  private takeFrom(rank: number, at: number): number {
    const order = this.orders[rank] as PassCodes;
    let from = at;
    for (; from < order.length; from++) {
      const code = order[from] as number;
      if (!this.ready(code, rank)) break;
      if (kindOfCode(code) === PAIRED_FORWARD && from + 1 < order.length) {
        if (!this.ready(order[from + 1] as number, rank)) break;
      }
      this.take(code, rank);
    }
    return from;
  }

  private stageOfCode(code: number, rank: number): number {
    const { pipeline, chunks } = this.shape;
    return this.stageOf[chunkOfCode(code, chunks) * pipeline + rank] as number;
  }

  private ready(code: number, rank: number): boolean {
    const { chunks, microBatches } = this.shape;
    const { forwards, backwards } = this;
    const kind = kindOfCode(code);
    const stage = this.stageOfCode(code, rank);
    const cell = stage * microBatches + microBatchOfCode(code, chunks);
    if (kind === FORWARD || kind === PAIRED_FORWARD) return stage === 0 || forwards[cell - microBatches] === 1;
    if (kind === BACKWARD_WEIGHT) return backwards[cell] === 1;
    return forwards[cell] === 1 && (stage === this.lastStage || backwards[cell + microBatches] === 1);
  }

  private take(code: number, rank: number): void {
    const { chunks, microBatches } = this.shape;
    const at = this.length++;
    const kind = kindOfCode(code);
    const stage = this.stageOfCode(code, rank);
    const cell = stage * microBatches + microBatchOfCode(code, chunks);
    if (kind === FORWARD || kind === PAIRED_FORWARD) this.forwards[cell] = 1;
    if (kind === BACKWARD || kind === BACKWARD_INPUT) this.backwards[cell] = 1;
    this.kinds[at] = kind;
    this.stages[at] = stage;
    this.cells[at] = cell;
    this.ranks[at] = rank;
  }
}
