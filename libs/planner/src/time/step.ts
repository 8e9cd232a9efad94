/** How long does one training step take? */
import { microBatches, type RunFacts, type Schedule } from '../facts.ts';
import { parametersOf } from '../memory/parameters.ts';
import { newScheduleScratch, type ScheduleScratch } from '../schedule/schedule-scratch.ts';
import { makespanOf } from '../schedule/makespan.ts';
import { rankOfStage, stagePartsOf } from '../stages.ts';
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
import { kernelFacts, softExcess } from './kernels.ts';
import { handOverS } from './links.ts';
import { blocksOfStages, type StageBlocks } from './stage-blocks.ts';
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
  /** Passes of one micro-batch by virtual stage, for drawing: forward, input gradient, weight gradient. */
  readonly passesS: {
    readonly forwardS: Float64Array;
    readonly backwardInputS: Float64Array;
    readonly backwardWeightS: Float64Array;
    readonly hopS: number;
  };
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

function costOfStage(run: RunFacts, blocks: StageBlocks, costs: BlockCosts, constants: TimeConstants): BlockCost {
  const sum = noCost();
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
  const hidden = Math.min(trafficS, computeS);
  return (
    constants.interference * hidden +
    constants.shardedExposed * trafficS +
    softExcess(trafficS * (1 - constants.shardedExposed) - computeS, 0.1 * computeS)
  );
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
function relativeSpeedOf(run: RunFacts, rank: number): number {
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

/**
 * Seconds of one step: the simulated pipeline on the predicted passes of every stage, then gradients, optimizer and fixed work.
 *
 * `kept` are block costs of an earlier run that differs only in pipeline, data parallelism or schedule.
 */
export function predictStepTime(
  run: RunFacts,
  constants: TimeConstants,
  options: { readonly kept?: BlockCosts; readonly scratch?: ScheduleScratch } = {},
): StepTime {
  const { layout, cluster, model } = run;
  const costs = options.kept ?? blockCostsOf(run, constants);
  const stageParts = stagePartsOf(model, layout);
  const stages = blocksOfStages(model, stageParts);
  const count = stages.length;
  const schedule = scheduleOf(layout.schedule, layout.pipeline, layout.chunks);
  const m = Math.max(1, Math.ceil(microBatches(run)));
  const perLayer = parametersPerLayer(run);
  const parameters = parametersOf(model);
  const forwardS = new Float64Array(count);
  const backwardInputS = new Float64Array(count);
  const backwardWeightS = new Float64Array(count);
  const perRank = Array.from({ length: layout.pipeline }, () => ({ dense: 0, experts: 0, busyS: 0, offloadS: 0 }));
  const rankParts = perRank.map(() => new Float64Array(PARTS.length));
  let layer = 0;
  stages.forEach((blocks, stage) => {
    const rank = rankOfStage({ pipeline: layout.pipeline, schedule }, stage);
    const cost = costOfStage(run, blocks, costs, constants);
    const held = { dense: 0, experts: 0 };
    const layers = stageParts[stage]?.layers ?? 0;
    for (let i = 0; i < layers; i++, layer++) {
      const kind = perLayer[parameters.kindOfLayer[layer] ?? 0];
      held.dense += kind?.dense ?? 0;
      held.experts += kind?.experts ?? 0;
    }
    if (layout.zeroStage === 3) addShardedTraffic(run, cost, held, constants);
    const ways =
      layout.tensor *
      (layout.vocabulary === 'sharded-over-pp' || layout.vocabulary === 'interlaced' ? layout.pipeline : 1);
    if (blocks.embedding) held.dense += parameters.embedding / ways;
    if (blocks.loss) held.dense += parameters.head / ways;
    const offloadS = offloadExposedS(run, cost, layers, constants);
    const speed = relativeSpeedOf(run, rank);
    forwardS[stage] = (cost.forwardS + offloadS) / speed;
    backwardInputS[stage] = (cost.backwardInputS + offloadS) / speed;
    backwardWeightS[stage] = cost.backwardWeightS / speed;
    const of = perRank[rank];
    const parts = rankParts[rank];
    if (of === undefined || parts === undefined) return;
    of.dense += held.dense;
    of.experts += held.experts;
    of.offloadS += (2 * offloadS) / speed;
    of.busyS += (cost.forwardS + cost.backwardInputS + cost.backwardWeightS + 2 * offloadS) / speed;
    for (let part = 0; part < PARTS.length; part++) parts[part] = (parts[part] ?? 0) + (cost.partsS[part] ?? 0) / speed;
  });
  const groups = groupsOf(layout);
  const boundaryBytes =
    ((layout.microBatchSize * run.sequenceLength) / layout.context / (layout.sequenceParallel ? layout.tensor : 1)) *
    model.hiddenSize *
    BYTES;
  const hopS = handOverS(cluster, groups.pipeline, boundaryBytes, constants);
  const hops = new Float64Array(count).fill(hopS);
  let slowest = 0;
  perRank.forEach((rank, index) => {
    if (rank.busyS > (perRank[slowest]?.busyS ?? 0)) slowest = index;
  });
  const busyS = m * (perRank[slowest]?.busyS ?? 0);
  const pipelineS =
    layout.pipeline === 1
      ? busyS
      : makespanOf(
          {
            schedule,
            pipeline: layout.pipeline,
            chunks: layout.chunks,
            microBatches: m,
            forwardS,
            backwardInputS,
            backwardWeightS,
            forwardHopS: hops,
            backwardHopS: hops,
            p2p: schedule === '1f1b' || schedule === 'gpipe' ? 'blocking' : 'overlapped',
          },
          options.scratch ?? newScheduleScratch(),
        ) *
        (1 + constants.stageImbalance * Math.log2(layout.pipeline));
  const held = heaviestRank(run, perRank);
  const slowestStageForwardS = forwardS.reduce((sum, seconds) => sum + seconds, 0) / layout.pipeline;
  const slowestStageBackwardS =
    backwardInputS.reduce((sum, seconds, stage) => sum + seconds + (backwardWeightS[stage] ?? 0), 0) / layout.pipeline;
  const kernels = kernelFacts(cluster.gpu, run.precision, constants);
  const dataS = dataTrafficS(
    run,
    held,
    { forwardS: slowestStageForwardS, backwardS: slowestStageBackwardS },
    constants,
  );
  const stepOptimizerS = optimizerS(run, held, kernels);
  const nodes = Math.max(1, cluster.gpus / cluster.gpusPerNode);
  const worldS = (pipelineS + dataS + stepOptimizerS) * constants.jitterPerDoubling * Math.log2(nodes);
  const fixedS = constants.stepOverheadS + worldS;
  const stepTimeS = pipelineS + dataS + stepOptimizerS + fixedS;
  const partsS = Object.fromEntries(STEP_PARTS.map((part) => [part, 0])) as Record<StepPart, number>;
  PARTS.forEach((part, index) => {
    partsS[part] = m * (rankParts[slowest]?.[index] ?? 0);
  });
  partsS.offload = m * (perRank[slowest]?.offloadS ?? 0);
  partsS.bubble = pipelineS - busyS;
  partsS.dataTraffic = dataS;
  partsS.optimizer = stepOptimizerS;
  partsS.fixed = fixedS;
  return {
    stepTimeS,
    partsS,
    bubbleShare: partsS.bubble / stepTimeS,
    passesS: { forwardS, backwardInputS, backwardWeightS, hopS },
  };
}

/** Several chunks on plain 1F1B are the interleaved schedule; one chunk on the interleaved schedule is plain 1F1B. */
function scheduleOf(schedule: Schedule, pipeline: number, chunks: number): Schedule {
  if (pipeline === 1) return 'gpipe';
  if (schedule === '1f1b' && chunks > 1) return 'interleaved-1f1b';
  if (schedule === 'interleaved-1f1b' && chunks === 1) return '1f1b';
  return schedule;
}
