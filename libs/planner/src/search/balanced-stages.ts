/** How are layers distributed over the stages of one layout so that the slowest stage is fastest? */
import type { CandidateLayout, StagePart } from '../facts.ts';
import { balancedLayerCounts } from '../space/stage-partitions.ts';
import { isVShaped, rankOfStage } from '../stages.ts';
import { relativeSpeedOf } from '../time/pipeline-work.ts';
import { costKeyOf, type LayoutCosts } from './layout-costs.ts';
import { remembered } from './memo.ts';
import { runFactsOf, type SearchedRun } from './searched-run.ts';

export class BalancedStages {
  readonly #run: SearchedRun;
  readonly #costs: LayoutCosts;
  readonly #balanced = new Map<string, readonly StagePart[]>();
  /** One list per layer counts, because the models keep what they know of a list. */
  readonly #stages = new Map<string, readonly StagePart[]>();

  constructor(run: SearchedRun, costs: LayoutCosts) {
    this.#run = run;
    this.#costs = costs;
  }

  of(candidate: CandidateLayout): readonly StagePart[] {
    const key = `${costKeyOf(candidate)}/${candidate.pipeline}/${candidate.chunks}/${isVShaped(candidate.schedule)}`;
    return remembered(this.#balanced, key, () => {
      const { perKindS, embeddingS, endS } = this.#costs.wholeModel(candidate);
      const layersS = this.#run.parameters.kindOfLayer.map((kind) => perKindS[kind] ?? 0);
      const facts = runFactsOf(this.#run, candidate);
      const speeds = Array.from({ length: candidate.pipeline * candidate.chunks }, (_, stage) =>
        relativeSpeedOf(facts, rankOfStage(candidate, stage)),
      );
      return this.#stagesOf(balancedLayerCounts({ layersS, embeddingS, lossS: endS, speeds }));
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
