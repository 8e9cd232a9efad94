/**
 * Lower bounds of the memory of all layouts of a branch.
 *
 * 1. A mean rank: the rank that holds most holds at least an equal share of the layers, with one micro-batch in flight. States are as small as the
 *    branch allows.
 * 2. Logits: the last stage holds them whatever else is chosen.
 * 3. A schedule, however layers are distributed. Let layer l keep k(l) bytes of one micro-batch, and let a be the least ratio of a layer's
 *    states to what it keeps. If rank r keeps i(r) micro-batches in flight, its layers take at least (a + i(r)) times the sum of their k. If no
 *    rank took more than B bytes, that sum would be at most B / (a + i(r)) on rank r, and over all ranks the sum of all k at most
 *    B times the sum of 1 / (a + i(r)). So some rank takes at least (sum of k) / (sum of 1 / (a + i(r))) bytes.
 * 4. One pipeline: states, activations and vocabulary of its heaviest ranks are summed as they are, with states as small as its group allows.
 */
import { MAX_PLANNED_GPUS } from '@coxswain/layout';
import type { CandidateLayout } from '../facts.ts';
import type { MemoryFacts } from '../memory/memory-facts.ts';
import { microBatchesInFlight, type RankLoad } from '../memory/pipeline-load.ts';
import { rankMemoryOf, type RankContents, type RankMemory } from '../memory/rank-memory.ts';
import { BOUND_MARGIN } from './bound-margin.ts';
import { getOrCompute } from './get-or-compute.ts';
import { microBatchesOf, type SearchedRun } from './searched-run.ts';

/** Activations that all layers keep of one micro-batch, and the least ratio of a layer's states to them. */
export interface LayerBytes {
  readonly kept: number;
  readonly ratio: number;
}

interface RanksInFlight {
  readonly inFlight: number;
  readonly ranks: number;
}

/** Computes the bounds above. */
export class MemoryBounds {
  readonly #run: SearchedRun;
  /** By schedule, chunks, and micro-batches with stages. */
  readonly #inFlights = new Map<CandidateLayout['schedule'], Map<number, Map<number, readonly RanksInFlight[]>>>();

  constructor(run: SearchedRun) {
    this.#run = run;
  }

  /** Bound 1. */
  meanRankBytes(states: CandidateLayout, memory: MemoryFacts): number {
    const layers = this.#run.layersOfKind.map((count) => count / states.pipeline);
    const none = layers.map(() => 0);
    const fully = states.recompute === 'full';
    const part = rankMemoryOf(memory, {
      ...EMPTY_LOAD,
      layers,
      inFlight: fully ? none : layers,
      inFlightFully: fully ? layers : none,
    });
    return BOUND_MARGIN * (statesOf(part) + (states.offloadActivations > 0 ? 0 : part.activations));
  }

  /** Bound 2. */
  lossBytes(memory: MemoryFacts): number {
    const none = this.#run.layersOfKind.map(() => 0);
    const load = { ...EMPTY_LOAD, layers: none, inFlight: none, inFlightFully: none, loss: true };
    return BOUND_MARGIN * rankMemoryOf(memory, load).vocabulary;
  }

  /** Bound 3. */
  scheduleBytes(candidate: CandidateLayout, { kept, ratio }: LayerBytes): number {
    if (candidate.pipeline === 1 || kept === 0) return 0;
    let places = 0;
    for (const { inFlight, ranks } of this.#inFlight(candidate)) places += ranks / (ratio + inFlight);
    return (BOUND_MARGIN * kept) / places;
  }

  /** The inputs of bound 3. */
  layerBytes(candidate: CandidateLayout, memory: MemoryFacts): LayerBytes {
    const { layersOfKind } = this.#run;
    const perKind = candidate.recompute === 'full' ? memory.perKindFully : memory.perKind;
    let kept = 0;
    let ratio = Infinity;
    for (let kind = 0; kind < layersOfKind.length; kind++) {
      const layers = layersOfKind[kind] ?? 0;
      const layerKept = perKind[kind]?.kept ?? 0;
      if (layers === 0) continue;
      if (layerKept === 0) return { kept: 0, ratio: 0 };
      kept += layers * layerKept;
      ratio = Math.min(ratio, this.#layerStateBytes(kind, memory) / layerKept);
    }
    return { kept, ratio };
  }

  /** States of one layer on one GPU. */
  #layerStateBytes(kind: number, memory: MemoryFacts): number {
    const layers = this.#run.layersOfKind.map((_, index) => (index === kind ? 1 : 0));
    const none = layers.map(() => 0);
    return statesOf(rankMemoryOf(memory, { ...EMPTY_LOAD, layers, inFlight: none, inFlightFully: none }));
  }

  /** Micro-batches in flight in the chunk of a rank that holds fewest, and how many ranks have so many: of folded schedules nearly all. */
  #inFlight(candidate: CandidateLayout): readonly RanksInFlight[] {
    const { pipeline, schedule, chunks } = candidate;
    const microBatches = microBatchesOf(this.#run, candidate);
    const counted = schedule === 'gpipe' ? microBatches : Math.min(microBatches, 3 * pipeline * chunks);
    const ofSchedule = getOrCompute(
      this.#inFlights,
      schedule,
      () => new Map<number, Map<number, readonly RanksInFlight[]>>(),
    );
    const ofChunks = getOrCompute(ofSchedule, chunks, () => new Map<number, readonly RanksInFlight[]>());
    // One number for both, since a key of text took longer than the bound.
    return getOrCompute(ofChunks, counted * (MAX_PLANNED_GPUS + 1) + pipeline, () => {
      const fewest = Array.from({ length: pipeline }, (_, rank) =>
        Math.min(
          ...Array.from({ length: chunks }, (__, chunk) => microBatchesInFlight(candidate, rank, chunk, microBatches)),
        ),
      );
      return [...Map.groupBy(fewest, (inFlight) => inFlight)].map(([inFlight, { length }]) => ({
        inFlight,
        ranks: length,
      }));
    });
  }
}

/** A rank of a pipeline with what it holds, as the memory model counts it. */
export interface FilledRank {
  readonly load: RankLoad;
  readonly contents: RankContents;
}

/** Bound 4. */
export function leastBytesOf(facts: MemoryFacts, ranks: readonly FilledRank[]): number {
  let least = 0;
  for (const { load, contents } of ranks) {
    const part = rankMemoryOf(facts, load, contents);
    least = Math.max(least, statesOf(part) + part.activations + part.vocabulary);
  }
  return BOUND_MARGIN * least;
}

function statesOf(part: RankMemory): number {
  return part.weights + part.gradients + part.optimizer;
}

const EMPTY_LOAD = {
  embedding: false,
  loss: false,
  mtpLayers: 0,
  mtpInFlight: 0,
  firstInFlight: 1,
  stagesInFlight: 0,
} as const;
