/** The models of the planner as the search asks for them: what one run's layouts cost, and bounds of what many of them cost at once. */
import { gridRules, layoutViolations, type LayoutFacts } from '@coxswain/layout';
import { SCHEDULES, type LayoutPoint, type RunFacts, type Schedule, type StagePart } from '../facts.ts';
import { memoryFactsOf, type MemoryFacts } from '../memory/memory-facts.ts';
import { denseShareOf, expertShareOf, parametersOf, type ModelParameters } from '../memory/parameters.ts';
import { microBatchesInFlight, pipelineLoadOf, type RankLoad } from '../memory/pipeline-load.ts';
import { rankContentsOf, rankMemoryOf, type RankContents, type RankMemory } from '../memory/rank-memory.ts';
import { firstRankMakespanBound, makespanLowerBound, type FirstRankOrders } from '../schedule/makespan-bound.ts';
import { makespanOf } from '../schedule/makespan.ts';
import type { ScheduleInput } from '../schedule/schedule-input.ts';
import { newScheduleScratch } from '../schedule/schedule-scratch.ts';
import { isVShaped, rankOfStage } from '../stages.ts';
import type { BlockCost } from '../time/blocks.ts';
import type { TimeConstants } from '../time/constants.ts';
import { kernelFacts, type KernelFacts } from '../time/kernels.ts';
import { dataTrafficS, shardedTrafficS, type RankParameters } from '../time/states.ts';
import {
  blockCostsOf,
  leastExposedS,
  newWorkBuffers,
  pipelineWorkOf,
  relativeSpeedOf,
  scheduleInputOf,
  stepSecondsOf,
  type BlockCosts,
} from '../time/step-time.ts';
import { layoutOfPoint } from '../request/layout-conversion.ts';
import { layoutFactsOf } from '../request/layout-rule-facts.ts';
import type { RunBase } from '../request/resolved-request.ts';
import type { Bounds, LayoutModels, PassModels, PipelineModels, Refusal } from './branch-and-bound.ts';
import { divisorsOf } from '../space/search-space.ts';
import { balancedLayerCounts } from '../space/stage-partitions.ts';

/** The models of one run, for every layout of it. */
export function modelsOfRun(base: RunBase, constants: TimeConstants): LayoutModels {
  const models = new RunModels(base, constants);
  return {
    refusalOf: (point) => models.refusalOf(point),
    degreeRefusalOf: (point) => models.degreeRefusalOf(point),
    balancedStages: (point) => models.balancedStages(point),
    attentionS: (mesh) => models.attentionS(mesh),
    denseBounds: (mesh) => models.denseBounds(mesh),
    meshBounds: (mesh) => models.meshBounds(mesh),
    withPasses: (leanest) => models.withPasses(leanest),
  };
}

/** Seconds of one micro-batch over the whole model: all passes, and those that it cannot return without. */
type BusySeconds = Pick<WholeModel, 'totalS' | 'roundTripS' | 'endS' | 'shortestLayerS'>;
type PassSeconds = BusySeconds & Pick<WholeModel, 'forwardS' | 'backwardS'>;

/** Seconds of one micro-batch over the whole model on one rank, all passes. */
interface WholeModel {
  readonly costs: BlockCosts;
  /** By layer kind. */
  readonly perKindS: readonly number[];
  readonly embeddingS: number;
  /** Loss and multi-token prediction: what the last stage does whatever its layers. */
  readonly endS: number;
  readonly shortestLayerS: number;
  readonly forwardS: number;
  readonly backwardS: number;
  /** Forward, and gradients of activations. */
  readonly roundTripS: number;
  readonly totalS: number;
}

class RunModels {
  readonly #base: RunBase;
  readonly #constants: TimeConstants;
  readonly #scratch = newScheduleScratch();
  /** Holds the passes of the pipeline that was asked for last. */
  readonly #work = newWorkBuffers();
  readonly #parameters: ModelParameters;
  readonly #kernels: KernelFacts;
  /** Layers of each kind. */
  readonly #layersOfKind: readonly number[];
  readonly #facts = new Map<number, LayoutFacts>();
  readonly #whole = new Map<string, WholeModel>();
  readonly #cheapest = new Map<string, PassSeconds>();
  readonly #balanced = new Map<string, readonly StagePart[]>();
  readonly #makespans = new Map<string, number>();
  readonly #orders: FirstRankOrders = new Map();
  readonly #inFlights = new Map<number, readonly number[]>();
  readonly #stages = new Map<string, readonly StagePart[]>();
  /** What all GPUs wait for each other. */
  readonly #jitter: number;
  readonly #fastest: number;
  readonly #slowest: number;

  constructor(base: RunBase, constants: TimeConstants) {
    const { cluster, model } = base;
    this.#base = base;
    this.#constants = constants;
    this.#parameters = parametersOf(model);
    this.#kernels = kernelFacts(cluster.gpu, base.precision, constants);
    const { kinds, kindOfLayer } = this.#parameters;
    this.#layersOfKind = kinds.map((_, kind) => kindOfLayer.filter((of) => of === kind).length);
    this.#jitter = 1 + constants.jitterPerDoubling * Math.log2(Math.max(1, cluster.gpus / cluster.gpusPerNode));
    const speeds = (cluster.islands ?? []).map((island) => island.relativeSpeed);
    this.#fastest = Math.max(1, ...speeds);
    this.#slowest = Math.min(1, ...speeds);
  }

  refusalOf(point: LayoutPoint): Refusal | undefined {
    // Host memory is requested from Kubernetes once a layout is chosen; any amount satisfies the rule that asks for one.
    const layout = layoutOfPoint(point, this.#base.model, 1);
    const [first] = layoutViolations(layout, this.#factsOf(point.microBatchSize));
    return first === undefined ? undefined : { rule: first.rule, message: first.message };
  }

  degreeRefusalOf(point: LayoutPoint): Refusal | undefined {
    const grid = { ...point, stages: point.stages?.map((stage) => stage) };
    const facts = this.#factsOf(point.microBatchSize);
    const broken = gridRules.find((rule) => !rule.holds(grid, facts));
    return broken === undefined ? undefined : { rule: broken.name, message: broken.explain(grid, facts).message };
  }

  #factsOf(microBatchSize: number): LayoutFacts {
    const known = this.#facts.get(microBatchSize);
    if (known !== undefined) return known;
    const facts = layoutFactsOf(this.#base, microBatchSize);
    this.#facts.set(microBatchSize, facts);
    return facts;
  }

  balancedStages(point: LayoutPoint): readonly StagePart[] {
    const key = `${costKeyOf(point)}/${point.pipeline}/${point.chunks}/${isVShaped(point.schedule)}`;
    const known = this.#balanced.get(key);
    if (known !== undefined) return known;
    const { perKindS, embeddingS, endS } = this.#wholeModel(point);
    const layersS = this.#parameters.kindOfLayer.map((kind) => perKindS[kind] ?? 0);
    const run = this.#runOf(point);
    const speeds = Array.from({ length: point.pipeline * point.chunks }, (_, stage) =>
      relativeSpeedOf(run, rankOfStage(point, stage)),
    );
    const stages = this.#stagesOf(balancedLayerCounts({ layersS, embeddingS, lossS: endS, speeds }));
    this.#balanced.set(key, stages);
    return stages;
  }

  /** One list per layer counts, because the models keep what they know of a list. */
  #stagesOf(counts: readonly number[]): readonly StagePart[] {
    const key = counts.join();
    const known = this.#stages.get(key);
    if (known !== undefined) return known;
    const last = counts.length - 1;
    const stages = counts.map((layers, stage) => ({
      layers,
      embedding: stage === 0,
      loss: stage === last,
      mtpLayers: stage === last ? this.#base.model.mtpLayers : 0,
    }));
    this.#stages.set(key, stages);
    return stages;
  }

  attentionS(mesh: LayoutPoint): number {
    return totalOf(passesOf([this.#wholeModel(mesh).costs.attention]));
  }

  denseBounds(mesh: LayoutPoint): readonly Bounds[] {
    const { experts } = this.#base.model;
    if (experts === undefined) return this.meshBounds(mesh);
    const spread = { ...mesh, expert: experts.count, expertTensor: mesh.tensor };
    return this.#boundsOf(spread, this.#withCheapestExperts(mesh));
  }

  meshBounds(mesh: LayoutPoint): readonly Bounds[] {
    return this.#boundsOf(mesh, this.#wholeModel(mesh));
  }

  /** Either weights are gathered for every micro-batch, or each rank keeps its own. */
  #boundsOf(mesh: LayoutPoint, whole: PassSeconds): readonly Bounds[] {
    const lossBytes = this.#lossBytes(mesh);
    return LEAN_STATES.map((states) => {
      const point = { ...mesh, ...states };
      const bytes = this.#meanBytes(point, memoryFactsOf(this.#runOf(point)));
      return {
        timeS: this.#stepS(this.#leastPipelineS(point, this.#withGathers(point, whole))),
        bytes: Math.max(lossBytes, bytes),
      };
    });
  }

  withPasses(leanest: LayoutPoint): PassModels {
    const whole = this.#wholeModel(leanest);
    const busy = this.#withGathers(leanest, whole);
    const memory = memoryFactsOf(this.#runOf(leanest));
    const memories: (MemoryFacts | undefined)[] = [];
    const memoryOfState = (point: LayoutPoint, index: number): MemoryFacts =>
      (memories[index] ??= memoryFactsOf(this.#runOf(point)));
    const tailS = this.#meanTailS(leanest, whole);
    const bytes = this.#meanBytes(leanest, memory);
    let layers: LayerBytes | undefined;
    return {
      bounds: { timeS: this.#stepS(this.#leastPipelineS(leanest, busy) + tailS), bytes },
      scheduleBounds: ({ schedule, chunks }) => {
        layers ??= this.#layerBytes(leanest, memory);
        return {
          timeS: this.#stepS(this.#leastScheduleS(leanest, schedule, busy) + tailS),
          bytes: Math.max(bytes, this.#scheduleBytes({ ...leanest, schedule, chunks }, layers)),
        };
      },
      withPipeline: (point) => this.#withPipeline(point, { memory, memoryOfState, tailS, whole }),
    };
  }

  #withPipeline(leanest: LayoutPoint, { memory, memoryOfState, tailS, whole }: PassFacts): PipelineModels {
    const run = this.#runOf(leanest);
    const { costs } = leanest.recomputeLayersPerChunk === undefined ? whole : this.#wholeModel(leanest);
    const work = pipelineWorkOf(run, costs, this.#constants, this.#work);
    const input = scheduleInputOf(run, work, this.#constants, this.#work);
    const leastS = makespanLowerBound(input);
    let filled: readonly FilledRank[] | undefined;
    const ranks = (): readonly FilledRank[] => (filled ??= this.#filledRanks(leanest, memory));
    const transferS = dataTrafficS(this.#fewestTransfers(leanest), work.held, work.windows, this.#constants);
    let makespanS: number | undefined;
    let closerS: number | undefined;
    const models = { constants: this.#constants, kernels: this.#kernels };
    const stepOf = (point: LayoutPoint, pipelineS: number): number =>
      stepSecondsOf(this.#runOf(point), work, pipelineS, models).stepTimeS;
    return {
      leastS: this.#stepS(leastS * this.#imbalance(leanest) + Math.max(tailS, transferS)),
      leastBytes: () => leastBytesOf({ ...memory, layout: leanest }, ranks()),
      timeBoundS: (point) => stepOf(point, leastS),
      closerBoundS: (point) => {
        closerS ??= Math.max(leastS, firstRankMakespanBound(input, this.#orders));
        return stepOf(point, closerS);
      },
      peakBytes: (point, index) => peakBytesOf(point, memoryOfState(point, index), ranks()),
      stepTimeS: (point) => {
        makespanS ??= leanest.pipeline === 1 ? leastS : this.#makespanS(leanest, input);
        return stepOf(point, makespanS);
      },
    };
  }

  #filledRanks(leanest: LayoutPoint, memory: MemoryFacts): readonly FilledRank[] {
    const facts = { ...memory, layout: leanest };
    const { heaviest } = pipelineLoadOf(this.#base.model, leanest, this.#microBatches(leanest));
    return heaviest.map((load) => ({ load, contents: rankContentsOf(facts, load) }));
  }

  /** Meshes that differ in what crosses which network often have the same passes: a schedule is simulated once for all of them. */
  #makespanS(point: LayoutPoint, input: ScheduleInput): number {
    const key = [
      ...[input.schedule, input.pipeline, input.chunks, input.microBatches, input.p2p, input.forwardHopS[0] ?? 0],
      ...[input.forwardS, input.backwardInputS, input.backwardWeightS].flatMap((seconds) => [...new Set(seconds)]),
      point.stages?.map(({ layers }) => layers).join(',') ?? point.vocabulary,
    ].join('/');
    const known = this.#makespans.get(key);
    if (known !== undefined) return known;
    const makespanS = makespanOf(input, this.#scratch);
    this.#makespans.set(key, makespanS);
    return makespanS;
  }

  /** A step of which the given seconds are known, and everything else takes no time but what every step takes. */
  #stepS(seconds: number): number {
    return seconds * this.#jitter + this.#constants.stepOverheadS;
  }

  #imbalance(point: LayoutPoint): number {
    return 1 + this.#constants.stageImbalance * Math.log2(point.pipeline);
  }

  /**
   * No pipeline is faster than its ranks working without a pause, on shares as large as their GPUs are fast; none is faster than its fullest
   * rank if all layers are as short as the shortest, or than one micro-batch on its way down and back.
   */
  #leastPipelineS(point: LayoutPoint, busy: BusySeconds): number {
    const fullestS = leastRankS(point.pipeline, this.#base.model.layers, busy);
    const busyS = this.#microBatches(point) * Math.max(busy.totalS / point.pipeline, fullestS);
    return (Math.max(busyS, busy.roundTripS) / this.#fastest) * this.#imbalance(point);
  }

  /**
   * With a fused backward pass and one chunk, rank r waits for one micro-batch to pass the ranks above it, and they wait for its gradient:
   * m w(r) + w(0) + … + w(r - 1) seconds, whatever the shares w. The longest of these is least where all are equal, and is then
   * W / (1 - (1 - 1/m)^p) for work W.
   */
  #leastScheduleS(point: LayoutPoint, schedule: Schedule, whole: BusySeconds): number {
    const isPlain = schedule === '1f1b' || schedule === 'gpipe';
    if (!isPlain || point.pipeline === 1 || this.#fastest !== this.#slowest) return this.#leastPipelineS(point, whole);
    const filled = 1 - Math.pow(1 - 1 / this.#microBatches(point), point.pipeline);
    return (whole.totalS / filled / this.#fastest) * this.#imbalance(point);
  }

  /**
   * Least transfers of gradients and weights: the rank that holds most holds at least an equal share of the layers; what of it is dense or of
   * experts is left open, but for what no other layers than those with experts can make up.
   */
  #meanTailS(leanest: LayoutPoint, whole: WholeModel): number {
    const run = this.#fewestTransfers(leanest);
    const windows = this.#widestWindows(leanest, whole);
    const trafficS = (held: RankParameters): number => dataTrafficS(run, held, windows, this.#constants);
    const { all, withExperts } = this.#meanParameters(leanest);
    const share = all.dense + all.experts;
    const denseS = trafficS({ dense: share, experts: 0 });
    if (this.#base.model.experts === undefined) return denseS;
    const { embedding, head } = this.#parameters;
    const others = (all.dense - withExperts.dense) * leanest.pipeline + (embedding + head) / leanest.tensor;
    const sure = Math.max(0, 1 - others / (withExperts.dense + withExperts.experts));
    return Math.max(
      Math.min(denseS, trafficS({ dense: 0, experts: share })),
      trafficS({ dense: sure * withExperts.dense, experts: sure * withExperts.experts }),
    );
  }

  /** Stage 0 returns wider gradients than stages 1 and 2 return weights. */
  #fewestTransfers(leanest: LayoutPoint): RunFacts {
    return this.#runOf(leanest.zeroStage === 3 ? leanest : { ...leanest, zeroStage: 1 });
  }

  /** With the gathers of fully sharded weights, as far as they cannot hide behind all the computing of the same direction. */
  #withGathers(point: LayoutPoint, whole: PassSeconds): BusySeconds {
    if (point.zeroStage < 3) return whole;
    const run = this.#runOf(point);
    const { all } = this.#meanParameters(point);
    const held = { dense: all.dense * point.pipeline, experts: all.experts * point.pipeline };
    const { gatherS, reduceS } = shardedTrafficS(run, held, this.#constants);
    const windows = this.#widestWindows({ ...point, zeroStage: 2 }, whole);
    const wide = point.pipeline * this.#slowest;
    const gathersS =
      leastExposedS(windows.forwardS * wide, gatherS, this.#constants) +
      leastExposedS(windows.backwardS * wide, gatherS + reduceS, this.#constants);
    return { ...whole, totalS: whole.totalS + gathersS, roundTripS: whole.roundTripS + gathersS };
  }

  /** Everything that a rank computes, more than a mean rank rather than less. */
  #widestWindows(point: LayoutPoint, whole: PassSeconds): { readonly forwardS: number; readonly backwardS: number } {
    if (point.zeroStage === 3 || point.offloadActivations > 0) return { forwardS: Infinity, backwardS: Infinity };
    const launchS = MOST_CHUNKS * this.#constants.hostPassS;
    const forwardS = whole.forwardS / point.pipeline + launchS;
    const backwardS = whole.backwardS / point.pipeline + launchS;
    return { forwardS: forwardS / this.#slowest, backwardS: backwardS / this.#slowest };
  }

  /** Parameters of one rank if every one held the same, without the vocabulary: of all layers, and of those with experts. */
  #meanParameters(point: LayoutPoint): { readonly all: RankParameters; readonly withExperts: RankParameters } {
    const all = { dense: 0, experts: 0 };
    const withExperts = { dense: 0, experts: 0 };
    for (let kind = 0; kind < this.#layersOfKind.length; kind++) {
      const layer = this.#parameters.perKind[kind];
      if (layer === undefined) continue;
      const perRank = (this.#layersOfKind[kind] ?? 0) / point.pipeline;
      const held = { dense: perRank * denseShareOf(layer, point), experts: perRank * expertShareOf(layer, point) };
      for (const sum of held.experts > 0 ? [all, withExperts] : [all]) {
        sum.dense += held.dense;
        sum.experts += held.experts;
      }
    }
    return { all, withExperts };
  }

  /** The rank that holds most holds at least an equal share of the layers, with one micro-batch in flight. */
  #meanBytes(states: LayoutPoint, memory: MemoryFacts): number {
    const layers = this.#layersOfKind.map((count) => count / states.pipeline);
    const none = layers.map(() => 0);
    const fully = states.recompute === 'full';
    const part = rankMemoryOf(memory, {
      ...EMPTY_LOAD,
      layers,
      inFlight: fully ? none : layers,
      inFlightFully: fully ? layers : none,
    });
    return statesOf(part) + (states.offloadActivations > 0 ? 0 : part.activations);
  }

  /**
   * However layers are cut: if rank r keeps i(r) micro-batches in flight, its layers take k (a + i(r)) bytes or more, with a the least ratio of
   * a layer's states to its activations k. All layers together then need sum of k / sum of 1 / (a + i(r)) bytes on some rank.
   */
  #scheduleBytes(point: LayoutPoint, { kept, ratio }: LayerBytes): number {
    if (point.pipeline === 1 || kept === 0) return 0;
    let places = 0;
    for (const inFlight of this.#inFlight(point)) places += 1 / (ratio + inFlight);
    return kept / places;
  }

  #layerBytes(point: LayoutPoint, memory: MemoryFacts): LayerBytes {
    const perKind = point.recompute === 'full' ? memory.perKindFully : memory.perKind;
    let kept = 0;
    let ratio = Infinity;
    for (let kind = 0; kind < this.#layersOfKind.length; kind++) {
      const layers = this.#layersOfKind[kind] ?? 0;
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
    const layers = this.#layersOfKind.map((_, index) => (index === kind ? 1 : 0));
    const none = layers.map(() => 0);
    return statesOf(rankMemoryOf(memory, { ...EMPTY_LOAD, layers, inFlight: none, inFlightFully: none }));
  }

  /** Micro-batches in flight in the chunk of each rank that holds fewest. */
  #inFlight(point: LayoutPoint): readonly number[] {
    const { pipeline, schedule, chunks } = point;
    const microBatches = this.#microBatches(point);
    const counted = schedule === 'gpipe' ? microBatches : Math.min(microBatches, 3 * pipeline * chunks);
    const key = ((counted * 65_536 + pipeline) * 64 + chunks) * 16 + SCHEDULES.indexOf(schedule);
    const known = this.#inFlights.get(key);
    if (known !== undefined) return known;
    const perRank = Array.from({ length: pipeline }, (_, rank) =>
      Math.min(
        ...Array.from({ length: chunks }, (__, chunk) => microBatchesInFlight(point, rank, chunk, microBatches)),
      ),
    );
    this.#inFlights.set(key, perRank);
    return perRank;
  }

  /** Logits of the last stage, whatever else is chosen. */
  #lossBytes(mesh: LayoutPoint): number {
    const none = this.#layersOfKind.map(() => 0);
    const load = { ...EMPTY_LOAD, layers: none, inFlight: none, inFlightFully: none, loss: true };
    return rankMemoryOf(memoryFactsOf(this.#runOf(mesh)), load).vocabulary;
  }

  #runOf(layout: LayoutPoint): RunFacts {
    return { ...this.#base, layout };
  }

  #microBatches(point: LayoutPoint): number {
    return this.#base.globalBatchSize / (point.microBatchSize * point.data);
  }

  /** The whole model with experts dealt out in whichever way costs least, and leaves most to hide transfers behind. */
  #withCheapestExperts(mesh: LayoutPoint): PassSeconds {
    const key = costKeyOf(mesh);
    const known = this.#cheapest.get(key);
    if (known !== undefined) return known;
    const count = this.#base.model.experts?.count ?? 1;
    const cheapest = {
      forwardS: 0,
      backwardS: 0,
      roundTripS: Infinity,
      totalS: Infinity,
      endS: Infinity,
      shortestLayerS: Infinity,
    };
    for (const expertTensor of new Set([1, mesh.tensor])) {
      for (const expert of divisorsOf(count)) {
        const whole = this.#wholeModel({ ...mesh, expert, expertTensor });
        cheapest.forwardS = Math.max(cheapest.forwardS, whole.forwardS);
        cheapest.backwardS = Math.max(cheapest.backwardS, whole.backwardS);
        cheapest.roundTripS = Math.min(cheapest.roundTripS, whole.roundTripS);
        cheapest.endS = Math.min(cheapest.endS, whole.endS);
        cheapest.shortestLayerS = Math.min(cheapest.shortestLayerS, whole.shortestLayerS);
        cheapest.totalS = Math.min(cheapest.totalS, whole.totalS);
      }
    }
    this.#cheapest.set(key, cheapest);
    return cheapest;
  }

  #wholeModel(point: LayoutPoint): WholeModel {
    const key = costKeyOf(point);
    const known = this.#whole.get(key);
    if (known !== undefined) return known;
    const { model } = this.#base;
    const costs = blockCostsOf(this.#runOf(point), this.#constants);
    const perKind = this.#parameters.kinds.map(({ mixer, feedForward }) =>
      passesOf([
        ...(mixer === 'none' ? [] : [mixer === 'attention' ? costs.attention : costs.stateSpace]),
        ...(feedForward === 'none' ? [] : [feedForward === 'mlp' ? costs.denseMlp : costs.expertMlp]),
      ]),
    );
    const mtpMlp = model.experts === undefined ? costs.denseMlp : costs.expertMlp;
    const mtp = passesOf([costs.attention, mtpMlp, costs.loss]);
    const end = passesOf([costs.loss]);
    addPasses(end, mtp, model.mtpLayers);
    const embedding = passesOf([costs.embedding]);
    const all = passesOf([]);
    addPasses(all, end, 1);
    addPasses(all, embedding, 1);
    this.#layersOfKind.forEach((layers, kind) => addPasses(all, perKind[kind] ?? passesOf([]), layers));
    const whole = {
      costs,
      perKindS: perKind.map(totalOf),
      embeddingS: totalOf(embedding),
      endS: totalOf(end),
      shortestLayerS: Math.min(...perKind.map(totalOf)),
      forwardS: all.forwardS,
      backwardS: all.inputS + all.weightS,
      roundTripS: all.forwardS + all.inputS,
      totalS: totalOf(all),
    };
    this.#whole.set(key, whole);
    return whole;
  }
}

/** Activations that all layers keep of one micro-batch, and the least ratio of a layer's states to them. */
interface LayerBytes {
  readonly kept: number;
  readonly ratio: number;
}

/** What all pipelines of one group of passes share. */
interface PassFacts {
  /** Of the leanest states. */
  readonly memory: MemoryFacts;
  readonly memoryOfState: (point: LayoutPoint, stateIndex: number) => MemoryFacts;
  /** Least seconds for gradients and weights. */
  readonly tailS: number;
  readonly whole: WholeModel;
}

/** As little as states and activations can take, with weights kept and with weights gathered. */
const LEAN_STATES = ([2, 3] as const).map(
  (zeroStage) => ({ zeroStage, zeroImplementation: 'fsdp', recompute: 'full', offloadOptimizer: 1 }) as const,
);
const MOST_CHUNKS = 32;

const EMPTY_LOAD = {
  embedding: false,
  loss: false,
  mtpLayers: 0,
  mtpInFlight: 0,
  firstInFlight: 1,
  stagesInFlight: 0,
} as const;

function statesOf(part: RankMemory): number {
  return part.weights + part.gradients + part.optimizer;
}

interface FilledRank {
  readonly load: RankLoad;
  readonly contents: RankContents;
}

/** What a rank holds whatever its states are, with states as small as the facts have them. */
function leastBytesOf(facts: MemoryFacts, ranks: readonly FilledRank[]): number {
  let least = 0;
  for (const { load, contents } of ranks) {
    const part = rankMemoryOf(facts, load, contents);
    least = Math.max(least, statesOf(part) + part.activations + part.vocabulary);
  }
  return least;
}

function peakBytesOf(point: LayoutPoint, memory: MemoryFacts, ranks: readonly FilledRank[]): number {
  const facts = { ...memory, layout: point };
  let peak = 0;
  for (const { load, contents } of ranks) peak = Math.max(peak, rankMemoryOf(facts, load, contents).totalBytes);
  return peak;
}

/** Layers are whole: the rank with the end of the model takes k of them, and some other rank at least its share of the rest, rounded up. */
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

/** Seconds of the three passes. */
interface Passes {
  forwardS: number;
  inputS: number;
  weightS: number;
}

function passesOf(blocks: readonly BlockCost[]): Passes {
  const passes = { forwardS: 0, inputS: 0, weightS: 0 };
  for (const block of blocks) {
    passes.forwardS += block.forwardS;
    passes.inputS += block.backwardInputS;
    passes.weightS += block.backwardWeightS;
  }
  return passes;
}

function addPasses(sum: Passes, passes: Passes, times: number): void {
  sum.forwardS += times * passes.forwardS;
  sum.inputS += times * passes.inputS;
  sum.weightS += times * passes.weightS;
}

function totalOf(passes: Passes): number {
  return passes.forwardS + passes.inputS + passes.weightS;
}

/** What block costs depend on. */
function costKeyOf(point: LayoutPoint): string {
  const { recompute, recomputeModules, recomputeLayersPerChunk: block } = point;
  const mesh = `${point.tensor}/${point.context}/${point.expert}/${point.expertTensor}/${point.microBatchSize}`;
  const order = point.context > 1 ? `${point.contextAlgorithm}/${point.rankOrder ?? ''}` : '';
  const again = recompute === 'selective' ? recomputeModules.join() : recompute;
  return `${mesh}/${order}/${again}${block === undefined ? '' : `/${block}/${point.pipeline * point.chunks}`}`;
}
