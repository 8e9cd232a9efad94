/** The models of the planner as the search asks for them: what one run's layouts cost, and bounds of what many of them cost at once. */
import { LAYOUT_ENGINES, layoutViolations, type LayoutEngine, type LayoutFacts } from '@coxswain/layout';
import type { LayoutPoint, RunFacts, StagePart } from '../facts.ts';
import { memoryFactsOf, type MemoryFacts } from '../memory/memory-facts.ts';
import { denseShareOf, expertShareOf, parametersOf, type ModelParameters } from '../memory/parameters.ts';
import { pipelineLoadOf } from '../memory/pipeline-load.ts';
import { rankMemoryOf } from '../memory/rank-memory.ts';
import { makespanLowerBound } from '../schedule/makespan-bound.ts';
import { newScheduleScratch } from '../schedule/schedule-scratch.ts';
import { rankOfStage } from '../stages.ts';
import type { BlockCost } from '../time/blocks.ts';
import type { TimeConstants } from '../time/constants.ts';
import { kernelFacts, type KernelFacts } from '../time/kernels.ts';
import { dataTrafficS, optimizerS } from '../time/states.ts';
import { blockCostsOf, relativeSpeedOf, stepTimeS, type BlockCosts } from '../time/step.ts';
import { layoutOfPoint } from './point-and-layout.ts';
import type { RunBase } from './run-base.ts';
import type { Bounds, LayoutModels, Refusal, StateModels } from './search-layouts.ts';
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

/** The models of one run, for every layout of it. */
export function modelsOfRun(base: RunBase, constants: TimeConstants): LayoutModels {
  const models = new RunModels(base, constants);
  return {
    refusalOf: (point) => models.refusalOf(point),
    balancedStages: (point) => models.balancedStages(point),
    meshBounds: (point) => models.meshBounds(point),
    withStates: (point) => models.withStates(point),
  };
}

/** Seconds of one micro-batch over the whole model on one rank, all passes. */
interface WholeModel {
  readonly costs: BlockCosts;
  readonly perLayerS: readonly number[];
  readonly embeddingS: number;
  readonly lossS: number;
  readonly forwardS: number;
  readonly totalS: number;
}

class RunModels {
  readonly #base: RunBase;
  readonly #constants: TimeConstants;
  readonly #scratch = newScheduleScratch();
  readonly #parameters: ModelParameters;
  readonly #kernels: KernelFacts;
  readonly #whole = new Map<string, WholeModel>();
  readonly #balanced = new Map<string, readonly StagePart[]>();
  /** What all GPUs wait for each other, and the sum of the speeds of those of one pipeline over their number. */
  readonly #jitter: number;
  readonly #speed: number;

  constructor(base: RunBase, constants: TimeConstants) {
    const { cluster } = base;
    this.#base = base;
    this.#constants = constants;
    this.#parameters = parametersOf(base.model);
    this.#kernels = kernelFacts(cluster.gpu, base.precision, constants);
    this.#jitter = 1 + constants.jitterPerDoubling * Math.log2(Math.max(1, cluster.gpus / cluster.gpusPerNode));
    this.#speed = Math.max(1, ...(cluster.islands ?? []).map((island) => island.relativeSpeed));
  }

  refusalOf(point: LayoutPoint): Refusal | undefined {
    // Host memory is requested from Kubernetes once a layout is chosen; any amount satisfies the rule that asks for one.
    const layout = layoutOfPoint(point, this.#base.model, 1);
    const [first] = layoutViolations(layout, layoutFactsOf(this.#base, point.microBatchSize));
    return first === undefined ? undefined : { rule: first.rule, message: first.message };
  }

  balancedStages(point: LayoutPoint): readonly StagePart[] {
    const whole = this.#wholeModel(point);
    const key = `${costKeyOf(point)}/${point.pipeline}/${point.chunks}/${point.schedule}`;
    const known = this.#balanced.get(key);
    if (known !== undefined) return known;
    const count = point.pipeline * point.chunks;
    const counts = balancedLayerCounts({
      layersS: whole.perLayerS,
      embeddingS: whole.embeddingS,
      lossS: whole.lossS,
      speeds: Array.from({ length: count }, (_, stage) =>
        relativeSpeedOf({ ...this.#base, layout: point }, rankOfStage(point, stage)),
      ),
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

  meshBounds(mesh: LayoutPoint): Bounds {
    const pipelineS = this.#leastPipelineS(mesh, this.#wholeModel(mesh));
    return { timeS: pipelineS * this.#jitter + this.#constants.stepOverheadS, bytes: 0 };
  }

  withStates(states: LayoutPoint): StateModels {
    const whole = this.#wholeModel(states);
    const memory = memoryFactsOf(this.#runOf(states));
    const options = { kept: whole.costs, scratch: this.#scratch };
    const atLeast = { ...options, makespan: makespanLowerBound };
    const peakBytes = (point: LayoutPoint): number => this.#peakBytes(point, { ...memory, layout: point });
    const timeBoundS = (point: LayoutPoint): number => stepTimeS(this.#runOf(point), this.#constants, atLeast);
    const bounds =
      states.pipeline === 1
        ? { timeS: timeBoundS(states), bytes: peakBytes(states) }
        : { timeS: this.#statesBoundS(states, whole), bytes: this.#statesBoundBytes(states, memory) };
    return {
      bounds,
      timeBoundS,
      peakBytes,
      stepTimeS: (point) => stepTimeS(this.#runOf(point), this.#constants, options),
    };
  }

  #peakBytes(point: LayoutPoint, memory: MemoryFacts): number {
    let peak = 0;
    for (const load of pipelineLoadOf(this.#base.model, point, this.#microBatches(point)).heaviest) {
      peak = Math.max(peak, rankMemoryOf(memory, load).totalBytes);
    }
    return peak;
  }

  /** No pipeline is faster than its ranks working without a pause, on shares as large as their GPUs are fast. */
  #leastPipelineS(point: LayoutPoint, { totalS }: WholeModel): number {
    const imbalance = 1 + this.#constants.stageImbalance * Math.log2(point.pipeline);
    return ((this.#microBatches(point) * totalS) / (point.pipeline * this.#speed)) * imbalance;
  }

  /** The rank that holds most holds at least an equal share; what of it is dense or of experts is left open. */
  #statesBoundS(states: LayoutPoint, whole: WholeModel): number {
    const run = this.#runOf(states);
    const share = this.#meanParameters(states);
    const forwardS = whole.forwardS / states.pipeline;
    const windows =
      states.zeroStage === 3 ? EVERYTHING_HIDES : { forwardS, backwardS: whole.totalS / states.pipeline - forwardS };
    const tailS = Math.min(
      ...[
        { dense: share, experts: 0 },
        { dense: 0, experts: share },
      ]
        .slice(0, this.#base.model.experts === undefined ? 1 : 2)
        .map((held) => dataTrafficS(run, held, windows, this.#constants) + optimizerS(run, held, this.#kernels)),
    );
    return (this.#leastPipelineS(states, whole) + tailS) * this.#jitter + this.#constants.stepOverheadS;
  }

  /** The rank that holds most holds at least an equal share of the layers, with one micro-batch in flight. */
  #statesBoundBytes(states: LayoutPoint, memory: MemoryFacts): number {
    const { kinds, kindOfLayer } = this.#parameters;
    const share = 1 / states.pipeline;
    const layers = kinds.map((_, kind) => kindOfLayer.filter((of) => of === kind).length * share);
    const none = kinds.map(() => 0);
    const fully = states.recompute === 'full';
    const part = rankMemoryOf(memory, {
      layers,
      inFlight: fully ? none : layers,
      inFlightFully: fully ? layers : none,
      embedding: false,
      loss: false,
      mtpLayers: 0,
      mtpInFlight: 0,
      firstInFlight: 1,
      stagesInFlight: 0,
    });
    return part.weights + part.gradients + part.optimizer + (states.offloadActivations > 0 ? 0 : part.activations);
  }

  /** Parameters of one rank if every one held the same, without the vocabulary. */
  #meanParameters(point: LayoutPoint): number {
    let held = 0;
    for (const kind of this.#parameters.kindOfLayer) {
      const layer = this.#parameters.perKind[kind];
      if (layer !== undefined) held += denseShareOf(layer, point) + expertShareOf(layer, point);
    }
    return held / point.pipeline;
  }

  #runOf(layout: LayoutPoint): RunFacts {
    return { ...this.#base, layout };
  }

  #microBatches(point: LayoutPoint): number {
    return this.#base.globalBatchSize / (point.microBatchSize * point.data);
  }

  #wholeModel(point: LayoutPoint): WholeModel {
    const key = costKeyOf(point);
    const known = this.#whole.get(key);
    if (known !== undefined) return known;
    const costs = blockCostsOf(this.#runOf(point), this.#constants);
    const { kinds, kindOfLayer } = this.#parameters;
    const blocksOf = kinds.map(({ mixer, feedForward }) => [
      ...(mixer === 'none' ? [] : [mixer === 'attention' ? costs.attention : costs.stateSpace]),
      ...(feedForward === 'none' ? [] : [feedForward === 'mlp' ? costs.denseMlp : costs.expertMlp]),
    ]);
    const sum = (of: (cost: BlockCost) => number): readonly number[] =>
      blocksOf.map((blocks) => blocks.reduce((seconds, block) => seconds + of(block), 0));
    const perKindS = sum(secondsOf);
    const perKindForwardS = sum((cost) => cost.forwardS);
    const perLayerS = kindOfLayer.map((kind) => perKindS[kind] ?? 0);
    const layersForwardS = kindOfLayer.reduce((seconds, kind) => seconds + (perKindForwardS[kind] ?? 0), 0);
    const embeddingS = secondsOf(costs.embedding);
    const lossS = secondsOf(costs.loss);
    const whole = {
      costs,
      perLayerS,
      embeddingS,
      lossS,
      forwardS: layersForwardS + costs.embedding.forwardS + costs.loss.forwardS,
      totalS: perLayerS.reduce((seconds, layer) => seconds + layer, 0) + embeddingS + lossS,
    };
    this.#whole.set(key, whole);
    return whole;
  }
}

const EVERYTHING_HIDES = { forwardS: Infinity, backwardS: Infinity };

const secondsOf = (cost: BlockCost): number => cost.forwardS + cost.backwardInputS + cost.backwardWeightS;

/** What block costs depend on. */
function costKeyOf(point: LayoutPoint): string {
  const mesh = `${point.tensor}/${point.context}/${point.expert}/${point.expertTensor}/${point.microBatchSize}`;
  return `${mesh}/${point.contextAlgorithm}/${point.rankOrder ?? ''}/${point.recompute}/${point.recomputeModules.length}`;
}
