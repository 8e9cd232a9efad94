/** Cost of one micro-batch on a pipeline stage: the sum of its blocks, with the traffic that overlaps them. */
import type { CandidateLayout, GraphedPart, RunFacts } from '../facts.ts';
import { activationFactsOf, layerActivationsOf } from '../memory/activations.ts';
import { parametersOf } from '../memory/parameters.ts';
import { attentionBlock } from './attention.ts';
import { addCost, noCost, PARTS, type BlockCost, type BlockInputs, type Part } from './block-cost.ts';
import { COEFFICIENTS, type TimeConstants } from './constants.ts';
import { recomputedLayersShare, tokensPerRank } from './exchanged-bytes.ts';
import { expertBlock } from './experts.ts';
import { denseMlpBlock } from './feed-forward.ts';
import { kernelFacts, softExcess } from './kernels.ts';
import type { StageBlocks } from './stage-blocks.ts';
import type { StageKind } from './stage-kinds.ts';
import { stateSpaceBlock } from './state-space.ts';
import { parametersOfEnds, parametersOfLayers, shardedTrafficS, unitsOfLayers, type RankParameters } from './states.ts';
import { embeddingCost, lossCost } from './vocabulary.ts';

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

function blockInputs(run: RunFacts, constants: TimeConstants): BlockInputs {
  const { candidate } = run;
  return {
    run,
    kernels: kernelFacts(run.cluster.gpu, run.precision, constants, run.tf32),
    constants,
    tokens: tokensPerRank(run),
    sequenceWays: candidate.sequenceParallel ? candidate.tensor : 1,
    hostShare: 1,
  };
}

/** The same for blocks of one kind. Attention and mixers are graphs as a whole; a layer of experts keeps dispatch and experts outside. */
function inputsOf(inputs: BlockInputs, part: GraphedPart | undefined): BlockInputs {
  return { ...inputs, hostShare: hostLeft(inputs.run.candidate, part, inputs.constants) };
}

function hostLeft(
  { cudaGraphs, graphedParts }: RunFacts['candidate'],
  part: GraphedPart | undefined,
  constants: TimeConstants,
): number {
  if (cudaGraphs === 'full') return constants.graphsFull;
  if (cudaGraphs === 'none') return 1;
  if (part === undefined) return constants.graphsPartial;
  if (graphedParts?.includes(part) === false) return 1;
  return part === 'router' ? constants.graphsPartial : constants.graphsFull;
}

type BlockOf = (inputs: BlockInputs) => BlockCost;

interface PricedBlock {
  readonly cost: BlockOf;
  readonly part: GraphedPart | undefined;
  /** Of its layers, those that multiply in bf16 whatever the run does. */
  readonly bf16Share: number;
}

/** What a block costs in the mean of its layers. */
function blockOf(inputs: BlockInputs, { cost, part, bf16Share }: PricedBlock, constants: TimeConstants): BlockCost {
  if (!(bf16Share > 0)) return cost(inputsOf(inputs, part));
  const inBf16 = blockInputs({ ...inputs.run, precision: 'bf16' }, constants);
  const mean = noCost();
  addCost(mean, cost(inputsOf(inputs, part)), 1 - bf16Share);
  addCost(mean, cost(inputsOf(inBf16, part)), bf16Share);
  return mean;
}

/** Cache of block costs that layouts of a search share. */
export type KeptBlock = (block: keyof BlockCosts, compute: () => BlockCost) => BlockCost;

const notKept: KeptBlock = (_, compute) => compute();

/** Costs of every kind of block of a run. */
export function blockCostsOf(run: RunFacts, constants: TimeConstants, kept: KeptBlock = notKept): BlockCosts {
  const inputs = blockInputs(run, constants);
  const { model, candidate } = run;
  const pattern = model.layerPattern;
  const has = (letters: string): boolean =>
    pattern !== undefined && [...letters].some((letter) => pattern.includes(letter));
  const shardedOverPipeline = candidate.vocabulary === 'sharded-over-pp' || candidate.vocabulary === 'interlaced';
  const ways = shardedOverPipeline ? candidate.pipeline : 1;
  const dense = pattern === undefined ? model.experts === undefined || model.experts.denseLayers > 0 : has('-');
  const { layersShare = 0 } = run.keptInBf16 ?? {};
  const block = (cost: BlockOf, part?: GraphedPart): BlockCost =>
    blockOf(inputs, { cost, part, bf16Share: layersShare }, constants);
  return {
    attention: kept('attention', () => attentionOf(inputs, constants)),
    denseMlp: dense ? kept('denseMlp', () => block(denseMlpBlock)) : NO_COST,
    expertMlp: model.experts === undefined ? NO_COST : kept('expertMlp', () => block(expertBlock, 'router')),
    stateSpace: has('ML') ? kept('stateSpace', () => block(stateSpaceBlock, 'stateSpace')) : NO_COST,
    embedding: kept('embedding', () => embeddingCost(inputs, ways)),
    loss: kept('loss', () => lossCost(inputs, ways)),
  };
}

/** The cost of attention only. */
export function attentionCostOf(run: RunFacts, constants: TimeConstants): BlockCost {
  return attentionOf(blockInputs(run, constants), constants);
}

function attentionOf(inputs: BlockInputs, constants: TimeConstants): BlockCost {
  const { attention = false, layersShare = 0 } = inputs.run.keptInBf16 ?? {};
  return blockOf(
    inputs,
    { cost: attentionBlock, part: 'attention', bf16Share: attention ? 1 : layersShare },
    constants,
  );
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
  const sharded = run.candidate.vocabulary === 'sharded-over-pp' || run.candidate.vocabulary === 'interlaced';
  if (sharded) {
    const share = 1 / run.candidate.chunks;
    addCost(sum, costs.embedding, share);
    addCost(sum, costs.loss, share);
    const barriersS = constants.vocabularyBarrierS * run.candidate.vocabularyBarriers * share;
    sum.forwardS += barriersS / 2;
    sum.backwardInputS += barriersS / 2;
    addPart(sum, 'vocabulary', barriersS);
  } else {
    if (blocks.embedding) addCost(sum, costs.embedding, 1);
    if (blocks.loss) addCost(sum, costs.loss, 1);
  }
  const passS = constants.hostPassS * (run.candidate.cudaGraphs === 'full' ? constants.graphsFull : 1);
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
function addShardedTraffic(
  { run, constants, perLayer }: StageInputs,
  kind: StageKind,
  sum: BlockCost,
  parameters: RankParameters,
): void {
  const { gatherS, reduceS } = shardedTrafficS(run, parameters, unitsOfLayers(kind, perLayer), constants);
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
  return constants.shardedExposed * trafficS + softExcess(hidden, COEFFICIENTS.bend * computeS);
}

/** Activations or weights that move over PCIe while the passes run. */
function offloadExposedS(run: RunFacts, costs: BlockCost, kind: StageKind, constants: TimeConstants): number {
  const { candidate, cluster, model } = run;
  if (candidate.offloadActivations === 0 && candidate.offloadWeights === 0) return 0;
  const activationBytes = candidate.offloadActivations * activationBytesOf(run, kind);
  const parameters = kind.layers * COEFFICIENTS.parametersPerSquaredHidden * model.hiddenSize * model.hiddenSize;
  const weightBytes = candidate.offloadWeights * parameters * BYTES;
  const movedS = (activationBytes + weightBytes) / (cluster.gpu.pcieGbPerS * 1e9);
  return constants.offloadExposed * movedS + softExcess(movedS - costs.forwardS, COEFFICIENTS.bend * movedS);
}

/** What the layers of a stage keep of one micro-batch, as the memory model counts it: what leaves GPU memory has to pass the link to the host. */
function activationBytesOf(run: RunFacts, { layersOfKind }: Pick<StageKind, 'layersOfKind'>): number {
  const { recompute } = run.candidate;
  const facts = activationFactsOf(run);
  const keptBy = (how: CandidateLayout['recompute']): number =>
    parametersOf(run.model).kinds.reduce(
      (bytes, kind, index) =>
        bytes + (layersOfKind[index] ?? 0) * layerActivationsOf(run.model, kind, { ...facts, recompute: how }).kept,
      0,
    );
  if (recompute !== 'full') return keptBy(recompute);
  const fully = recomputedLayersShare(run);
  return fully * keptBy('full') + (fully === 1 ? 0 : (1 - fully) * keptBy('none'));
}

/** Passes of one micro-batch on the stages of one kind, what they hold, and where their time goes. */
export interface StageCost extends BlockCost {
  readonly dense: number;
  readonly experts: number;
  /** Added to the forward and to the backward pass. */
  readonly offloadS: number;
}

/** What the stages of a run are computed from. */
export interface StageInputs {
  readonly run: RunFacts;
  readonly costs: BlockCosts;
  readonly constants: TimeConstants;
  readonly perLayer: readonly RankParameters[];
  /** Whether the breakdown by part is needed. */
  readonly hasParts: boolean;
}

const NO_PARTS = new Float64Array(0);

/** The cost of a stage of one kind. */
export function costOfKind(inputs: StageInputs, kind: StageKind): StageCost {
  const { run, constants, perLayer } = inputs;
  const { candidate } = run;
  const partsS = inputs.hasParts ? new Float64Array(PARTS.length) : NO_PARTS;
  const cost = costOfStage(run, kind, inputs.costs, { constants, partsS });
  const layers = parametersOfLayers(kind, perLayer);
  if (candidate.zeroStage === 3) addShardedTraffic(inputs, kind, cost, layers);
  const held = { ...layers, dense: layers.dense + parametersOfEnds(run, kind) };
  return { ...cost, ...held, offloadS: offloadExposedS(run, cost, kind, constants) };
}
