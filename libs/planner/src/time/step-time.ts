/** How long does one training step take? */
import { microBatches, type RunFacts, type Schedule } from '../facts.ts';
import { parametersOf } from '../memory/parameters.ts';
import { makespanOf } from '../schedule/makespan.ts';
import type { ScheduleInput } from '../schedule/schedule-input.ts';
import { newScheduleScratch, type ScheduleScratch } from '../schedule/schedule-scratch.ts';
import { isVShaped, rankOfStage } from '../stages.ts';
import {
  addCost,
  attentionBlock,
  denseMlpBlock,
  embeddingCost,
  expertBlock,
  lossCost,
  noCost,
  PARTS,
  stateSpaceBlock,
  type BlockCost,
  type BlockFacts,
  type Part,
} from './blocks.ts';
import type { TimeConstants } from './constants.ts';
import { groupsOf } from './groups.ts';
import { kernelFacts, softExcess, type KernelFacts } from './kernels.ts';
import { handOverS } from './links.ts';
import type { StageBlocks } from './stage-blocks.ts';
import { stageKindsOf, type StageKind, type StageKinds } from './stage-kinds.ts';
import {
  dataTrafficS,
  heaviestRank,
  optimizerS,
  parametersPerLayer,
  shardedTrafficS,
  type RankParameters,
} from './states.ts';

/** Parts of a step in the order they are shown. */
export const STEP_PARTS = [
  ...PARTS,
  'offload',
  'bubble',
  'dataTraffic',
  'optimizer',
  'fixed',
] as const satisfies readonly string[];
export type StepPart = Part | 'offload' | 'bubble' | 'dataTraffic' | 'optimizer' | 'fixed';

export interface StepTime {
  readonly stepTimeS: number;
  /** Seconds on the slowest rank; the sum is `stepTimeS`. */
  readonly partsS: Readonly<Record<StepPart, number>>;
  /** Share of the step in which the slowest rank waits for other stages. */
  readonly bubbleShare: number;
}

/** Costs of every kind of block for one micro-batch: they depend on neither the pipeline nor data parallelism, so a search keeps them. */
export interface BlockCosts {
  readonly attention: BlockCost;
  readonly denseMlp: BlockCost;
  readonly expertMlp: BlockCost;
  readonly stateSpace: BlockCost;
  readonly embedding: BlockCost;
  readonly loss: BlockCost;
}

const NO_COST = noCost();
const BYTES = 2;

function blockFacts(run: RunFacts, constants: TimeConstants): BlockFacts {
  const { layout } = run;
  const hostShare =
    layout.cudaGraphs === 'full' ? constants.graphsFull : layout.cudaGraphs === 'partial' ? constants.graphsPartial : 1;
  return {
    run,
    kernels: kernelFacts(run.cluster.gpu, run.precision, constants),
    constants,
    tokens: (layout.microBatchSize * run.sequenceLength) / layout.context,
    sequenceWays: layout.sequenceParallel ? layout.tensor : 1,
    hostShare,
  };
}

export function blockCostsOf(run: RunFacts, constants: TimeConstants): BlockCosts {
  const facts = blockFacts(run, constants);
  const { model, layout } = run;
  const pattern = model.layerPattern;
  const has = (letters: string): boolean =>
    pattern !== undefined && [...letters].some((letter) => pattern.includes(letter));
  const shardedOverPipeline = layout.vocabulary === 'sharded-over-pp' || layout.vocabulary === 'interlaced';
  const ways = shardedOverPipeline ? layout.pipeline : 1;
  const dense = pattern === undefined ? model.experts === undefined || model.experts.denseLayers > 0 : has('-');
  return {
    attention: attentionBlock(facts),
    denseMlp: dense ? denseMlpBlock(facts) : NO_COST,
    expertMlp: model.experts === undefined ? NO_COST : expertBlock(facts),
    stateSpace: has('ML') ? stateSpaceBlock(facts) : NO_COST,
    embedding: embeddingCost(facts, ways),
    loss: lossCost(facts, ways),
  };
}

/** `partsS` receives where the time goes; an empty one receives nothing. */
function costOfStage(
  run: RunFacts,
  blocks: StageBlocks,
  costs: BlockCosts,
  { constants, partsS }: { readonly constants: TimeConstants; readonly partsS: Float64Array },
): BlockCost {
  const sum: BlockCost = { forwardS: 0, backwardInputS: 0, backwardWeightS: 0, partsS };
  addCost(sum, costs.attention, blocks.attention + blocks.mtpLayers);
  addCost(sum, costs.denseMlp, blocks.denseMlp);
  addCost(sum, costs.expertMlp, blocks.expertMlp);
  addCost(sum, costs.stateSpace, blocks.stateSpace);
  if (blocks.mtpLayers > 0) {
    addCost(sum, run.model.experts === undefined ? costs.denseMlp : costs.expertMlp, blocks.mtpLayers);
    addCost(sum, costs.loss, blocks.mtpLayers);
  }
  const sharded = run.layout.vocabulary === 'sharded-over-pp' || run.layout.vocabulary === 'interlaced';
  if (sharded) {
    const share = 1 / run.layout.chunks;
    addCost(sum, costs.embedding, share);
    addCost(sum, costs.loss, share);
    const barriersS = constants.vocabularyBarrierS * run.layout.vocabularyBarriers * share;
    sum.forwardS += barriersS / 2;
    sum.backwardInputS += barriersS / 2;
    addPart(sum, 'vocabulary', barriersS);
  } else {
    if (blocks.embedding) addCost(sum, costs.embedding, 1);
    if (blocks.loss) addCost(sum, costs.loss, 1);
  }
  const passS = constants.hostPassS * (run.layout.cudaGraphs === 'full' ? constants.graphsFull : 1);
  sum.forwardS += passS;
  sum.backwardInputS += passS;
  addPart(sum, 'launch', 2 * passS);
  return sum;
}

function addPart(sum: BlockCost, part: Part, seconds: number): void {
  const index = PARTS.indexOf(part);
  sum.partsS[index] = (sum.partsS[index] ?? 0) + seconds;
}

/** Gathers of fully sharded weights hide behind the layers they run beside, and slow them down. */
function addShardedTraffic(run: RunFacts, sum: BlockCost, parameters: RankParameters, constants: TimeConstants): void {
  const { gatherS, reduceS } = shardedTrafficS(run, parameters, constants);
  if (gatherS <= 0) return;
  const forward = exposedBeside(sum.forwardS, gatherS, constants);
  const backwardS = sum.backwardInputS + sum.backwardWeightS;
  const backward = exposedBeside(backwardS, gatherS + reduceS, constants);
  sum.forwardS += forward;
  sum.backwardInputS += backward;
  addPart(sum, 'shardTraffic', forward + backward);
}

function exposedBeside(computeS: number, trafficS: number, constants: TimeConstants): number {
  return constants.interference * Math.min(trafficS, computeS) + leastExposedS(computeS, trafficS, constants);
}

/**
 * What stays of gathers beside computation without what they slow it down. Convex and homogeneous: of several stages together it is never more
 * than the sum over the stages.
 */
export function leastExposedS(computeS: number, trafficS: number, constants: TimeConstants): number {
  const hidden = trafficS * (1 - constants.shardedExposed) - computeS;
  return constants.shardedExposed * trafficS + softExcess(hidden, 0.1 * computeS);
}

/** Activations or weights that move over PCIe while the passes run. */
function offloadExposedS(run: RunFacts, costs: BlockCost, layers: number, constants: TimeConstants): number {
  const { layout, cluster, model } = run;
  if (layout.offloadActivations === 0 && layout.offloadWeights === 0) return 0;
  const tokens = (layout.microBatchSize * run.sequenceLength) / layout.context / layout.tensor;
  const activationBytes =
    layout.offloadActivations * layers * tokens * (model.hiddenSize * 12 + model.ffnHiddenSize * 6);
  const weightBytes = layout.offloadWeights * layers * 12 * model.hiddenSize * model.hiddenSize * BYTES;
  const movedS = (activationBytes + weightBytes) / (cluster.gpu.pcieGbPerS * 1e9);
  return constants.offloadExposed * movedS + softExcess(movedS - costs.forwardS, 0.1 * movedS);
}

/** Speed of the GPUs that a pipeline rank runs on, relative to the first island's. */
export function relativeSpeedOf(run: RunFacts, rank: number): number {
  const { islands } = run.cluster;
  if (islands === undefined || islands.length === 0) return 1;
  const first = rank * groupsOf(run.layout).pipeline.stride;
  let end = 0;
  for (const island of islands) {
    end += island.gpus;
    if (first < end) return island.relativeSpeed;
  }
  return islands.at(-1)?.relativeSpeed ?? 1;
}

/** Passes of one micro-batch on the stages of one kind, what they hold, and where their time goes. */
interface StageCost extends BlockCost {
  readonly dense: number;
  readonly experts: number;
  /** Added to the forward and to the backward pass. */
  readonly offloadS: number;
}

/** What the stages of a run are computed from. */
interface StageFacts {
  readonly run: RunFacts;
  readonly costs: BlockCosts;
  readonly constants: TimeConstants;
  readonly perLayer: readonly RankParameters[];
  /** Whether somebody asks where the time goes. */
  readonly hasParts: boolean;
}

const NO_PARTS = new Float64Array(0);

function costOfKind(facts: StageFacts, kind: StageKind): StageCost {
  const { run, constants, perLayer } = facts;
  const { layout, model } = run;
  const partsS = facts.hasParts ? new Float64Array(PARTS.length) : NO_PARTS;
  const cost = costOfStage(run, kind, facts.costs, { constants, partsS });
  const held = { dense: 0, experts: 0 };
  for (let index = 0; index < perLayer.length; index++) {
    const layers = kind.layersOfKind[index] ?? 0;
    held.dense += layers * (perLayer[index]?.dense ?? 0);
    held.experts += layers * (perLayer[index]?.experts ?? 0);
  }
  if (layout.zeroStage === 3) addShardedTraffic(run, cost, held, constants);
  const parameters = parametersOf(model);
  const isSharded = layout.vocabulary === 'sharded-over-pp' || layout.vocabulary === 'interlaced';
  const ways = layout.tensor * (isSharded ? layout.pipeline : 1);
  if (kind.embedding) held.dense += parameters.embedding / ways;
  if (kind.loss) held.dense += parameters.head / ways;
  return { ...cost, ...held, offloadS: offloadExposedS(run, cost, kind.layers, constants) };
}

/** Times of the passes of one micro-batch, and what the ranks hold: nothing here depends on ZeRO stages below 3 or on offloaded optimizers. */
export interface PipelineWork {
  readonly schedule: Schedule;
  readonly stages: StageKinds;
  /** By kind of stage. */
  readonly costs: readonly StageCost[];
  /** By virtual stage. */
  readonly forwardS: Float64Array;
  readonly backwardInputS: Float64Array;
  readonly backwardWeightS: Float64Array;
  /** Seconds that the slowest rank computes, and its index. */
  readonly busyS: number;
  readonly slowestRank: number;
  /** Parameters on the rank that holds most. */
  readonly held: RankParameters;
  /** Seconds per rank that computing gives transfers to hide behind. */
  readonly windows: { readonly forwardS: number; readonly backwardS: number };
}

/** Arrays that the work of one pipeline after another is written into. */
export interface WorkBuffers {
  numbers: Float64Array;
  /** All alike. */
  hopsS: Float64Array;
}

export function newWorkBuffers(): WorkBuffers {
  return { numbers: new Float64Array(0), hopsS: new Float64Array(0) };
}

/**
 * The work of a run's pipeline. With `buffers` it holds until they are used again, and says nothing of where the time goes.
 */
export function pipelineWorkOf(
  run: RunFacts,
  costs: BlockCosts,
  constants: TimeConstants,
  buffers?: WorkBuffers,
): PipelineWork {
  const { layout, model } = run;
  const { pipeline } = layout;
  const schedule = scheduleOf(layout.schedule, pipeline, layout.chunks);
  const stages = stageKindsOf(model, layout);
  const facts: StageFacts = {
    run,
    costs,
    constants,
    perLayer: parametersPerLayer(run),
    hasParts: buffers === undefined,
  };
  const stageCosts = stages.kinds.map((kind) => costOfKind(facts, kind));
  const count = stages.kindOfStage.length;
  const numbers = numbersOf(buffers, 3 * (count + pipeline));
  const forwardS = numbers.subarray(0, count);
  const backwardInputS = numbers.subarray(count, 2 * count);
  const backwardWeightS = numbers.subarray(2 * count, 3 * count);
  const ranks = numbers.subarray(3 * count, 3 * (count + pipeline)).fill(0);
  const busyS = ranks.subarray(0, pipeline);
  const dense = ranks.subarray(pipeline, 2 * pipeline);
  const experts = ranks.subarray(2 * pipeline, 3 * pipeline);
  const isFolded = isVShaped(schedule);
  const hasIslands = (run.cluster.islands ?? []).length > 0;
  let forwardSumS = 0;
  let backwardSumS = 0;
  for (let stage = 0; stage < count; stage++) {
    const cost = stageCosts[stages.kindOfStage[stage] ?? 0];
    if (cost === undefined) continue;
    const along = stage % pipeline;
    const rank = isFolded && stage >= pipeline ? pipeline - 1 - along : along;
    const speed = hasIslands ? relativeSpeedOf(run, rank) : 1;
    const passesForwardS = (cost.forwardS + cost.offloadS) / speed;
    const passesBackwardS = (cost.backwardInputS + cost.offloadS) / speed;
    const weightS = cost.backwardWeightS / speed;
    forwardS[stage] = passesForwardS;
    backwardInputS[stage] = passesBackwardS;
    backwardWeightS[stage] = weightS;
    forwardSumS += passesForwardS;
    backwardSumS += passesBackwardS + weightS;
    busyS[rank] = (busyS[rank] ?? 0) + passesForwardS + passesBackwardS + weightS;
    dense[rank] = (dense[rank] ?? 0) + cost.dense;
    experts[rank] = (experts[rank] ?? 0) + cost.experts;
  }
  let slowestRank = 0;
  for (let rank = 1; rank < pipeline; rank++) if ((busyS[rank] ?? 0) > (busyS[slowestRank] ?? 0)) slowestRank = rank;
  return {
    schedule,
    stages,
    costs: stageCosts,
    forwardS,
    backwardInputS,
    backwardWeightS,
    busyS: busyS[slowestRank] ?? 0,
    slowestRank,
    held: heaviestRank({ dense, experts }),
    windows: { forwardS: forwardSumS / pipeline, backwardS: backwardSumS / pipeline },
  };
}

function numbersOf(buffers: WorkBuffers | undefined, length: number): Float64Array {
  if (buffers === undefined) return new Float64Array(length);
  if (buffers.numbers.length < length) buffers.numbers = new Float64Array(2 * length);
  return buffers.numbers;
}

function microBatchesOf(run: RunFacts): number {
  return Math.max(1, Math.ceil(microBatches(run)));
}

/** What the schedule of a run is simulated from; with `buffers` until these are used again. */
export function scheduleInputOf(
  run: RunFacts,
  work: PipelineWork,
  constants: TimeConstants,
  buffers?: WorkBuffers,
): ScheduleInput {
  const { schedule, forwardS, backwardInputS, backwardWeightS } = work;
  const { layout, cluster, model } = run;
  const boundaryBytes =
    ((layout.microBatchSize * run.sequenceLength) / layout.context / (layout.sequenceParallel ? layout.tensor : 1)) *
    model.hiddenSize *
    BYTES;
  const hops = hopsOf(
    handOverS(cluster, groupsOf(layout).pipeline, boundaryBytes, constants),
    forwardS.length,
    buffers,
  );
  return {
    schedule,
    pipeline: layout.pipeline,
    chunks: layout.chunks,
    microBatches: microBatchesOf(run),
    forwardS,
    backwardInputS,
    backwardWeightS,
    forwardHopS: hops,
    backwardHopS: hops,
    p2p: schedule === '1f1b' || schedule === 'gpipe' ? 'blocking' : 'overlapped',
  };
}

function hopsOf(hopS: number, count: number, buffers: WorkBuffers | undefined): Float64Array {
  if (buffers === undefined) return new Float64Array(count).fill(hopS);
  if (buffers.hopsS.length < count) buffers.hopsS = new Float64Array(2 * count).fill(hopS);
  else if (buffers.hopsS[0] !== hopS) buffers.hopsS.fill(hopS);
  return buffers.hopsS;
}

/** The seconds that add up to a step. */
export interface StepSeconds {
  readonly pipelineS: number;
  readonly dataS: number;
  readonly optimizerS: number;
  readonly fixedS: number;
  readonly stepTimeS: number;
}

/** A step whose pipeline takes `makespanS`: with gradients, optimizer, fixed work, and waits that grow with the machine. */
export function stepSecondsOf(
  run: RunFacts,
  work: Pick<PipelineWork, 'held' | 'windows'>,
  makespanS: number,
  { constants, kernels }: { readonly constants: TimeConstants; readonly kernels: KernelFacts },
): StepSeconds {
  const { layout, cluster } = run;
  const pipelineS = makespanS * (1 + constants.stageImbalance * Math.log2(layout.pipeline));
  const dataS = dataTrafficS(run, work.held, work.windows, constants);
  const stepOptimizerS = optimizerS(run, work.held, kernels);
  const nodes = Math.max(1, cluster.gpus / cluster.gpusPerNode);
  const worldS = (pipelineS + dataS + stepOptimizerS) * constants.jitterPerDoubling * Math.log2(nodes);
  const fixedS = constants.stepOverheadS + worldS;
  const seconds = pipelineS + dataS + stepOptimizerS + fixedS;
  return { pipelineS, dataS, optimizerS: stepOptimizerS, fixedS, stepTimeS: seconds };
}

/** Seconds of one step: the simulated pipeline on the predicted passes of every stage, then gradients, optimizer and fixed work. */
export function predictStepTime(
  run: RunFacts,
  constants: TimeConstants,
  options: { readonly kept?: BlockCosts; readonly scratch?: ScheduleScratch } = {},
): StepTime {
  const work = pipelineWorkOf(run, options.kept ?? blockCostsOf(run, constants), constants);
  const input = scheduleInputOf(run, work, constants);
  const busyS = microBatchesOf(run) * work.busyS;
  const makespanS = run.layout.pipeline === 1 ? busyS : makespanOf(input, options.scratch ?? newScheduleScratch());
  const kernels = kernelFacts(run.cluster.gpu, run.precision, constants);
  const step = stepSecondsOf(run, work, makespanS, { constants, kernels });
  const partsS = Object.fromEntries(STEP_PARTS.map((part) => [part, 0])) as Record<StepPart, number>;
  addPartsOfRank(run, work, partsS);
  partsS.bubble = step.pipelineS - busyS;
  partsS.dataTraffic = step.dataS;
  partsS.optimizer = step.optimizerS;
  partsS.fixed = step.fixedS;
  return {
    stepTimeS: step.stepTimeS,
    partsS,
    bubbleShare: partsS.bubble / step.stepTimeS,
  };
}

/** Where the slowest rank's time goes, over all micro-batches. */
function addPartsOfRank(run: RunFacts, work: PipelineWork, partsS: Record<StepPart, number>): void {
  const { schedule, stages, slowestRank } = work;
  const shape = { pipeline: run.layout.pipeline, schedule };
  const times = microBatchesOf(run) / relativeSpeedOf(run, slowestRank);
  stages.kindOfStage.forEach((kind, stage) => {
    const cost = work.costs[kind];
    if (cost === undefined || rankOfStage(shape, stage) !== slowestRank) return;
    PARTS.forEach((part, index) => {
      partsS[part] += times * (cost.partsS[index] ?? 0);
    });
    partsS.offload += times * 2 * cost.offloadS;
  });
}

/** Several chunks on plain 1F1B are the interleaved schedule; one chunk on the interleaved schedule is plain 1F1B. */
function scheduleOf(schedule: Schedule, pipeline: number, chunks: number): Schedule {
  if (pipeline === 1) return 'gpipe';
  if (schedule === '1f1b' && chunks > 1) return 'interleaved-1f1b';
  if (schedule === 'interleaved-1f1b' && chunks === 1) return '1f1b';
  return schedule;
}
