/** Distributes layers over the stages of a layout so that the slowest stage is as fast as possible. */
import type { CandidateLayout, RunFacts, StagePart } from '../facts.ts';
import { balancedLayerCounts } from '../space/stage-partitions.ts';
import { isVShaped, rankOfStage } from '../stages.ts';
import { islandsOfRanks, relativeSpeedsOf, pricedIsland } from '../time/islands.ts';
import { dataTrafficS, parametersPerLayer, type RankParameters } from '../time/states.ts';
import type { LayoutCosts, WholeModel } from './layout-costs.ts';
import { getOrCompute } from './get-or-compute.ts';
import { microBatchesOf, runFactsOf, type SearchedRun } from './searched-run.ts';

/** Balanced stages of layouts; equal answers are the same object. */
export class BalancedStages {
  readonly #run: SearchedRun;
  readonly #costs: LayoutCosts;
  /** Stages by costs of the layers. */
  readonly #balanced = new WeakMap<WholeModel, Map<string, readonly StagePart[]>>();
  /** One list for each layer counts, because models cache results by list. */
  readonly #stages = new Map<string, readonly StagePart[]>();

  constructor(run: SearchedRun, costs: LayoutCosts) {
    this.#run = run;
    this.#costs = costs;
  }

  /** The stages of a candidate. `whole` is the cost of the model, if the caller has it already. */
  of(candidate: CandidateLayout, whole = this.#costs.wholeModel(candidate)): readonly StagePart[] {
    const { pipeline, chunks, schedule, rankOrder } = candidate;
    // The rank of a stage matters only if ranks differ in speed.
    const stages = pipeline * chunks;
    const key =
      this.#run.base.cluster.islands === undefined
        ? `${stages}`
        : `${stages}/${pipeline}/${isVShaped(schedule)}/${rankOrder ?? ''}`;
    const before = this.#balanced.get(whole);
    const ofWhole = before ?? new Map<string, readonly StagePart[]>();
    if (before === undefined) this.#balanced.set(whole, ofWhole);
    return getOrCompute(ofWhole, key, () => {
      const { perKindS, embeddingS, endS } = whole;
      const layersS = this.#run.parameters.kindOfLayer.map((kind) => perKindS[kind] ?? 0);
      const ofRanks = this.#speedsOfRanks(candidate, whole);
      const speeds = Array.from(
        { length: candidate.pipeline * candidate.chunks },
        (_, stage) => ofRanks[rankOfStage(candidate, stage)] ?? 1,
      );
      return this.#stagesOf(balancedLayerCounts({ layersS, embeddingS, lossS: endS, speeds }));
    });
  }

  /**
   * Speed of each rank in layers, relative to a rank with the cluster's GPU and the fastest network. It includes the gradient traffic of a layer, which
   * takes longer in an island with a slower network; ZeRO stage 1 stands for all stages.
   */
  #speedsOfRanks(candidate: CandidateLayout, { totalS, forwardS, backwardS }: WholeModel): readonly number[] {
    const run = runFactsOf(this.#run, { ...candidate, zeroStage: 1, zeroImplementation: 'distopt' });
    const speeds = relativeSpeedsOf(run);
    if ((run.cluster.islands ?? []).length < 2) return speeds;
    const { layers } = run.model;
    const { pipeline } = candidate;
    const held = heldByMeanRank(this.#run, run);
    const windows = { forwardS: forwardS / pipeline, backwardS: backwardS / pipeline };
    const trafficS = islandsOfRanks(run).map((islands) =>
      dataTrafficS(pricedIsland(run, islands), held, windows, this.#run.constants),
    );
    const leastS = Math.min(...trafficS);
    const perMicroBatch = pipeline / layers / microBatchesOf(this.#run, candidate);
    const layerS = totalS / layers;
    return speeds.map((speed, rank) => {
      const extraS = ((trafficS[rank] ?? leastS) - leastS) * perMicroBatch;
      return layerS / (layerS / speed + extraS);
    });
  }

  #stagesOf(counts: readonly number[]): readonly StagePart[] {
    return getOrCompute(this.#stages, counts.join(), () => {
      const last = counts.length - 1;
      return counts.map((layers, stage) => ({
        layers,
        embedding: stage === 0,
        loss: stage === last,
        mtpLayers: stage === last ? this.#run.base.model.mtpLayers : 0,
      }));
    });
  }
}

/** Parameters of an equal share of the layers. */
function heldByMeanRank({ layersOfKind }: SearchedRun, run: RunFacts): RankParameters {
  const held = { dense: 0, experts: 0 };
  for (const [kind, { dense, experts }] of parametersPerLayer(run).entries()) {
    const layers = (layersOfKind[kind] ?? 0) / run.candidate.pipeline;
    held.dense += layers * dense;
    held.experts += layers * experts;
  }
  return held;
}
