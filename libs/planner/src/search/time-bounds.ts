/**
 * Lower bounds of the step time of all layouts of a branch.
 *
 * A step is the pipeline, the transfers of gradients and weights after it, the optimizer, and fixed work; jitter multiplies the first three. A
 * bound counts what it is sure of and leaves out the rest, so no term of it may be above the same term of any layout in the branch. With p
 * ranks, m micro-batches and W seconds that one micro-batch takes on the whole model, the pipeline takes at least
 *
 * 1. m W / p: no pipeline is faster than its ranks working without a pause, on shares as large as their GPUs are fast;
 * 2. m times the fullest rank, if all layers were as short as the shortest. Layers are whole, so the rank with the end of the model takes k of
 *    them. Some other rank takes at least its share of the rest, rounded up, for the best k (`leastRankS`);
 * 3. the round trip of one micro-batch, forward and gradients of activations, which no schedule divides;
 * 4. on plain 1F1B and GPipe with equal GPUs, W / (1 - (1 - 1/m)^p). The backward pass is fused and a rank has one chunk: rank r waits for one
 *    micro-batch to pass the ranks above it, and they wait for its gradient. That takes m w(r) + w(0) + … + w(r - 1) seconds, whatever the
 *    shares w; the longest of these is least where all are equal, and solving for that gives the term.
 *
 * Transfers: the rank that holds most parameters holds at least an equal share of the layers. What of it is dense and what belongs to experts is
 * left open, except what no layers without experts can make up. They hide behind the computing of a rank (its window): windows are taken
 * too wide rather than too narrow, so that what stays exposed is too little rather than too much. Stage 0 returns wider gradients than stages
 * 1 and 2 return weights, so stage 1 stands for all three.
 *
 * Gathers of fully sharded weights run beside the computing of the same direction. `leastExposedS` is convex and homogeneous in computing and
 * traffic, so the sum over the stages is at least its value for all stages together.
 */
import type { CandidateLayout, RunFacts, Schedule } from '../facts.ts';
import { denseShareOf, expertShareOf } from '../memory/parameters.ts';
import {
  dataTrafficS,
  parametersPerLayer,
  shardedTrafficS,
  unitsOfLayers,
  type RankParameters,
} from '../time/states.ts';
import { pricedIsland } from '../time/islands.ts';
import { fastestNics } from '../time/links.ts';
import { leastExposedS } from '../time/stage-cost.ts';
import { BOUND_MARGIN } from './bound-margin.ts';
import type { BusySeconds, PassSeconds } from './layout-costs.ts';
import { microBatchesOf, runFactsOf, type SearchedRun } from './searched-run.ts';

/** Launches of chunks that a rank's window counts, so that it is not too narrow: the space has up to 16 chunks, unless more are pinned. */
const MOST_CHUNKS = 32;

/** Computes the bounds above. */
export class TimeBounds {
  readonly #run: SearchedRun;

  constructor(run: SearchedRun) {
    this.#run = run;
  }

  /** Lower bound of a step whose known parts take `seconds`. Everything else takes no time, except what every step takes. */
  stepS(seconds: number): number {
    return seconds * BOUND_MARGIN * this.#run.jitter + this.#run.constants.stepOverheadS;
  }

  /** How much longer a pipeline takes than its makespan, because stages are never quite equal. */
  imbalance(candidate: CandidateLayout): number {
    return 1 + this.#run.constants.stageImbalance * Math.log2(candidate.pipeline);
  }

  /** Terms 1 to 3. */
  leastPipelineS(candidate: CandidateLayout, busy: BusySeconds): number {
    const fullestS = leastRankS(candidate.pipeline, this.#run.base.model.layers, busy);
    const busyS = microBatchesOf(this.#run, candidate) * Math.max(busy.totalS / candidate.pipeline, fullestS);
    return (Math.max(busyS, busy.roundTripS) / this.#run.fastest) * this.imbalance(candidate);
  }

  /** Term 4 if it applies, else terms 1 to 3. */
  leastScheduleS(candidate: CandidateLayout, schedule: Schedule, whole: BusySeconds): number {
    const { fastest, slowest } = this.#run;
    const isPlain = schedule === '1f1b' || schedule === 'gpipe';
    if (!isPlain || candidate.pipeline === 1 || fastest !== slowest) return this.leastPipelineS(candidate, whole);
    const filled = 1 - Math.pow(1 - 1 / microBatchesOf(this.#run, candidate), candidate.pipeline);
    return (whole.totalS / filled / fastest) * this.imbalance(candidate);
  }

  /** Least transfers of gradients and weights of a rank that holds an equal share of the layers. */
  leastTransferS(minMemory: CandidateLayout, whole: PassSeconds): number {
    const { base, parameters, constants } = this.#run;
    const run = pricedIsland(this.fewestTransfers(minMemory), this.#fastestIsland());
    const windows = this.#widestWindows(minMemory, whole);
    const trafficS = (held: RankParameters): number => dataTrafficS(run, held, windows, constants);
    const { all, withExperts } = this.#meanParameters(minMemory);
    const share = all.dense + all.experts;
    const denseS = trafficS({ dense: share, experts: 0 });
    if (base.model.experts === undefined) return denseS;
    const { embedding, head } = parameters;
    const others = (all.dense - withExperts.dense) * minMemory.pipeline + (embedding + head) / minMemory.tensor;
    const sure = Math.max(0, 1 - others / (withExperts.dense + withExperts.experts));
    return Math.max(
      Math.min(denseS, trafficS({ dense: 0, experts: share })),
      trafficS({ dense: sure * withExperts.dense, experts: sure * withExperts.experts }),
    );
  }

  /** Whichever rank holds most, no island's network is faster. */
  #fastestIsland(): readonly number[] {
    const fastest = fastestNics(this.#run.base.cluster, this.#run.constants);
    return fastest === undefined ? [] : [fastest];
  }

  /** The run with the ZeRO stage that transfers least of those that the branch leaves open. */
  fewestTransfers(minMemory: CandidateLayout): RunFacts {
    return runFactsOf(this.#run, minMemory.zeroStage === 3 ? minMemory : { ...minMemory, zeroStage: 1 });
  }

  /** With the gathers of fully sharded weights, as far as they cannot hide behind all the computing of the same direction. */
  withGathers(candidate: CandidateLayout, whole: PassSeconds): BusySeconds {
    if (candidate.zeroStage < 3) return whole;
    const { constants, slowest } = this.#run;
    const { all } = this.#meanParameters(candidate);
    const held = { dense: all.dense * candidate.pipeline, experts: all.experts * candidate.pipeline };
    const run = runFactsOf(this.#run, candidate);
    const units = unitsOfLayers(this.#run, parametersPerLayer(run));
    const { gatherS, reduceS } = shardedTrafficS(run, held, units, constants);
    const windows = this.#widestWindows({ ...candidate, zeroStage: 2 }, whole);
    const wide = candidate.pipeline * slowest;
    const gathersS =
      leastExposedS(windows.forwardS * wide, gatherS, constants) +
      leastExposedS(windows.backwardS * wide, gatherS + reduceS, constants);
    return { ...whole, totalS: whole.totalS + gathersS, roundTripS: whole.roundTripS + gathersS };
  }

  /** Everything that a rank computes, more than a mean rank rather than less. */
  #widestWindows(
    candidate: CandidateLayout,
    whole: PassSeconds,
  ): { readonly forwardS: number; readonly backwardS: number } {
    if (candidate.zeroStage === 3 || candidate.offloadActivations > 0)
      return { forwardS: Infinity, backwardS: Infinity };
    const { constants, slowest } = this.#run;
    const launchS = MOST_CHUNKS * constants.hostPassS;
    const forwardS = whole.forwardS / candidate.pipeline + launchS;
    const backwardS = whole.backwardS / candidate.pipeline + launchS;
    return { forwardS: forwardS / slowest, backwardS: backwardS / slowest };
  }

  /** Parameters of one rank if every one held the same, without the vocabulary: of all layers, and of those with experts. */
  #meanParameters(candidate: CandidateLayout): { readonly all: RankParameters; readonly withExperts: RankParameters } {
    const { layersOfKind, parameters } = this.#run;
    const all = { dense: 0, experts: 0 };
    const withExperts = { dense: 0, experts: 0 };
    for (let kind = 0; kind < layersOfKind.length; kind++) {
      const layer = parameters.perKind[kind];
      if (layer === undefined) continue;
      const perRank = (layersOfKind[kind] ?? 0) / candidate.pipeline;
      const held = {
        dense: perRank * denseShareOf(layer, candidate),
        experts: perRank * expertShareOf(layer, candidate),
      };
      for (const sum of held.experts > 0 ? [all, withExperts] : [all]) {
        sum.dense += held.dense;
        sum.experts += held.experts;
      }
    }
    return { all, withExperts };
  }
}

/** Term 2, for one micro-batch. */
function leastRankS(pipeline: number, layers: number, { endS, shortestLayerS }: BusySeconds): number {
  if (pipeline === 1) return endS + layers * shortestLayerS;
  let leastS = Infinity;
  for (let atEnd = 0; atEnd <= layers; atEnd++) {
    const endRankS = endS + atEnd * shortestLayerS;
    if (endRankS >= leastS) break;
    leastS = Math.min(leastS, Math.max(endRankS, Math.ceil((layers - atEnd) / (pipeline - 1)) * shortestLayerS));
  }
  return leastS;
}
