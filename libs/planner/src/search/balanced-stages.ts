/** How are layers distributed over the stages of one layout so that the slowest stage is fastest? */
import type { CandidateLayout, RunFacts, StagePart } from '../facts.ts';
import { balancedLayerCounts } from '../space/stage-partitions.ts';
import { isVShaped, rankOfStage } from '../stages.ts';
import { islandsOfRanks, relativeSpeedsOf, seenFrom } from '../time/islands.ts';
import { dataTrafficS, parametersPerLayer, type RankParameters } from '../time/states.ts';
import type { LayoutCosts, WholeModel } from './layout-costs.ts';
import { remembered } from './get-or-compute.ts';
import { microBatchesOf, runFactsOf, type SearchedRun } from './searched-run.ts';

export class BalancedStages {
  readonly #run: SearchedRun;
  readonly #costs: LayoutCosts;
  /** By what the layers cost. */
  readonly #balanced = new WeakMap<WholeModel, Map<string, readonly StagePart[]>>();
  /** One list per layer counts, because the models keep what they know of a list. */
  readonly #stages = new Map<string, readonly StagePart[]>();

  constructor(run: SearchedRun, costs: LayoutCosts) {
    this.#run = run;
    this.#costs = costs;
  }

  /** `whole` is what the model costs with this candidate, for those who know it already. */
  of(candidate: CandidateLayout, whole = this.#costs.wholeModel(candidate)): readonly StagePart[] {
    const { pipeline, chunks, schedule, rankOrder } = candidate;
    // Only where ranks differ does it matter which of them holds a stage.
    const stages = pipeline * chunks;
    const key =
      this.#run.base.cluster.islands === undefined
        ? `${stages}`
        : `${stages}/${pipeline}/${isVShaped(schedule)}/${rankOrder ?? ''}`;
    const before = this.#balanced.get(whole);
    const ofWhole = before ?? new Map<string, readonly StagePart[]>();
    if (before === undefined) this.#balanced.set(whole, ofWhole);
    return remembered(ofWhole, key, () => {
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
   * Layers that a rank gets done in the time in which a rank of the cluster's GPU with the fastest network does one. A layer also has gradients to move once
   * a step, which takes longer where the network of an island is slower; ZeRO stage 1 stands for all others.
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
      dataTrafficS(seenFrom(run, islands), held, windows, this.#run.constants),
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
    return remembered(this.#stages, counts.join(), () => {
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
