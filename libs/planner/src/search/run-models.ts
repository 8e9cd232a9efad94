/** The models of the planner as the search asks for them: what one run's layouts cost, and bounds of what many of them cost at once. */
import { LAYOUT_ENGINES, layoutViolations, type LayoutEngine, type LayoutFacts } from '@coxswain/layout';
import type { LayoutPoint, RunFacts, StagePart } from '../facts.ts';
import { parametersOf, type ModelParameters } from '../memory/parameters.ts';
import { peakAllocatedBytesOf } from '../memory/predict-memory.ts';
import { newScheduleScratch } from '../schedule/schedule-scratch.ts';
import type { BlockCost } from '../time/blocks.ts';
import type { TimeConstants } from '../time/constants.ts';
import { blockCostsOf, predictStepTime, type BlockCosts } from '../time/step.ts';
import { layoutOfPoint } from './point-and-layout.ts';
import type { RunBase } from './run-base.ts';
import type { LayoutModels, OpenChoices, Refusal } from './search-layouts.ts';
import { balancedLayerCounts } from './stage-cuts.ts';

/** The engine that a software stack names, if the layout rules know it: `megatron-lm core_v0.15` is a release of `megatron-lm`. */
export function engineOfStack(stack: string): LayoutEngine | undefined {
  const byLength = [...LAYOUT_ENGINES].sort((a, b) => b.length - a.length);
  return byLength.find((engine) => stack === engine || stack.startsWith(`${engine} `));
}

/** What the layout rules know of a run. */
export function layoutFactsOf(base: RunBase, microBatchSize: number): LayoutFacts {
  const engine = engineOfStack(base.stack);
  return {
    ...base.model,
    globalBatchSize: base.globalBatchSize,
    sequenceLength: base.sequenceLength,
    microBatchSize,
    gpus: base.cluster.gpus,
    gpusPerNode: base.cluster.gpusPerNode,
    scaleUpDomainGpus: base.cluster.scaleUpDomainGpus,
    ...(engine === undefined ? {} : { engine }),
  };
}

export function modelsOfRun(base: RunBase, constants: TimeConstants): LayoutModels {
  const models = new RunModels(base, constants);
  return {
    refusalOf: (point) => models.refusalOf(point),
    balancedStages: (point) => models.balancedStages(point),
    timeBoundS: (point, open) => models.timeBoundS(point, open),
    bytesBound: (point, open) => models.bytesBound(point, open),
    stepTimeS: (point) => models.stepTimeS(point),
    peakBytes: (point) => models.peakBytes(point),
  };
}

/** Seconds of one micro-batch over the whole model on one rank, all passes. */
interface WholeModel {
  readonly costs: BlockCosts;
  readonly perLayerS: readonly number[];
  readonly embeddingS: number;
  readonly lossS: number;
  readonly totalS: number;
}

class RunModels {
  readonly #base: RunBase;
  readonly #constants: TimeConstants;
  readonly #scratch = newScheduleScratch();
  readonly #parameters: ModelParameters;
  readonly #whole = new Map<string, WholeModel>();
  readonly #balanced = new Map<string, readonly StagePart[]>();

  constructor(base: RunBase, constants: TimeConstants) {
    this.#base = base;
    this.#constants = constants;
    this.#parameters = parametersOf(base.model);
  }

  refusalOf(point: LayoutPoint): Refusal | undefined {
    // Host memory is requested from Kubernetes once a layout is chosen; any amount satisfies the rule that asks for one.
    const layout = layoutOfPoint(point, this.#base.model, 1);
    const [first] = layoutViolations(layout, layoutFactsOf(this.#base, point.microBatchSize));
    return first === undefined ? undefined : { rule: first.rule, message: first.message };
  }

  stepTimeS(point: LayoutPoint): number {
    const kept = this.#wholeModel(point).costs;
    return predictStepTime(this.#runOf(point), this.#constants, { kept, scratch: this.#scratch }).stepTimeS;
  }

  peakBytes(point: LayoutPoint): number {
    return peakAllocatedBytesOf(this.#runOf(point));
  }

  balancedStages(point: LayoutPoint): readonly StagePart[] {
    const whole = this.#wholeModel(point);
    const key = `${costKeyOf(point)}/${point.pipeline}/${point.chunks}/${point.schedule}/${point.rankOrder ?? ''}`;
    const known = this.#balanced.get(key);
    if (known !== undefined) return known;
    const count = point.pipeline * point.chunks;
    const counts = balancedLayerCounts({
      layersS: whole.perLayerS,
      embeddingS: whole.embeddingS,
      lossS: whole.lossS,
      speeds: Array.from({ length: count }, () => 1),
    });
    const stages = counts.map((layers, stage) => ({
      layers,
      embedding: stage === 0,
      loss: stage === count - 1,
      mtpLayers: stage === count - 1 ? this.#base.model.mtpLayers : 0,
    }));
    this.#balanced.set(key, stages);
    return stages;
  }

  /** No pipeline is faster than its ranks working without a pause on equal shares. */
  timeBoundS(point: LayoutPoint, open: OpenChoices): number {
    const decided = open === 'states-and-pipeline' ? { ...point, recompute: 'none' as const } : point;
    const { totalS } = this.#wholeModel(decided);
    const microBatches = this.#base.globalBatchSize / (point.microBatchSize * point.data);
    return (microBatches * totalS) / point.pipeline;
  }

  bytesBound(point: LayoutPoint, open: OpenChoices): number {
    return open === 'nothing' ? 0 * point.tensor : 0;
  }

  #runOf(layout: LayoutPoint): RunFacts {
    return { ...this.#base, layout };
  }

  #wholeModel(point: LayoutPoint): WholeModel {
    const key = costKeyOf(point);
    const known = this.#whole.get(key);
    if (known !== undefined) return known;
    const costs = blockCostsOf(this.#runOf(point), this.#constants);
    const { kinds, kindOfLayer } = this.#parameters;
    const perKindS = kinds.map(({ mixer, feedForward }) => {
      const mixerS = mixer === 'none' ? 0 : secondsOf(mixer === 'attention' ? costs.attention : costs.stateSpace);
      const mlpS = feedForward === 'none' ? 0 : secondsOf(feedForward === 'mlp' ? costs.denseMlp : costs.expertMlp);
      return mixerS + mlpS;
    });
    const perLayerS = kindOfLayer.map((kind) => perKindS[kind] ?? 0);
    const embeddingS = secondsOf(costs.embedding);
    const lossS = secondsOf(costs.loss);
    const totalS = perLayerS.reduce((sum, seconds) => sum + seconds, 0) + embeddingS + lossS;
    const whole = { costs, perLayerS, embeddingS, lossS, totalS };
    this.#whole.set(key, whole);
    return whole;
  }
}

const secondsOf = (cost: BlockCost): number => cost.forwardS + cost.backwardInputS + cost.backwardWeightS;

/** What block costs depend on. */
function costKeyOf(point: LayoutPoint): string {
  const mesh = `${point.tensor}/${point.context}/${point.expert}/${point.expertTensor}/${point.microBatchSize}`;
  return `${mesh}/${point.contextAlgorithm}/${point.rankOrder ?? ''}/${point.recompute}/${point.recomputeModules.length}`;
}
