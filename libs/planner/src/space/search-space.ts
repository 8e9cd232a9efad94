/**
 * The space of layouts that the search chooses from.
 *
 * For one model, batch and number of GPUs the space is every combination of
 *
 * - tensor x context x pipeline x data = GPUs, each a divisor of it, with no more stages than layers, and tensor groups that lie whole in a scale-up domain,
 *   or in a node where that is larger: placement puts no others; samples are not cut into crumbs (`searched-grids.ts`);
 * - expert (divisors of the number of experts) and expert tensor (1, or as many as tensor), for models with experts;
 * - micro-batch: every divisor of a replica's batch up to 8, and beyond that the powers of two up to 64; a batch that data parallelism does not
 *   divide leaves micro-batch 1, which the rules then refuse;
 * - where context > 1, of ring, all-gather and Ulysses, as far as they serve the softmax of the model and its kernels (`context-choices.ts`), the one with the
 *   fastest attention, as they take the same memory;
 * - rank order: tensor innermost and context inside data (it talks in every layer), with the pipeline anywhere; orders that put the same members
 *   of every group into every network tier count once; with experts the pipeline stays outermost, because both grids must fold inside one stage, and so it does
 *   where every stage has to lie in one island;
 * - ZeRO stage 0 to 3, where there is anything to shard; from stage 1 on the states of all data and context ranks, or only of those that share
 *   a tier (HSDP), of a pipeline those that share a node where weights are gathered too (`shard-groups.ts`); as far as the engine takes it (`shared-states.ts`);
 * - recomputation by the named policies of `RECOMPUTE_POLICIES`; core attention only without FlashAttention;
 * - optimizer states in host memory: none, half or all, from ZeRO 1 on, which one replica takes for this alone; activations in host memory: none or all, without a pipeline and
 *   without recomputation;
 * - with a pipeline: every schedule; interleaved with each number of chunks up to 16 that divides the layers of the fullest even stage,
 *   V-shaped ones with their 2, as far as there is something for each stage; layers distributed evenly or balanced (with vocabulary ends and unequal islands at their predicted speed),
 *   equal distributions counting once. Embedding and loss in the place of one layer each only where asked for: balancing does what that rule of thumb stands for.
 *
 * A request may narrow each of these (`pinned`, `allow`). With `allow.evenOnly` what remains is every layout whose tensor divides the attention
 * heads, whose data divides the batch, and whose chunks all have the same number of layers.
 *
 * What the engine should do anyway is not searched: sequence parallelism with tensor > 1; overlap of gradient reduction and parameter gathering; the
 * kernels of the engine that are best for the model and the GPU (`engine-tools.ts`).
 * The search never answers with anything outside of this space, and with nothing less than the best inside it.
 */
import { divisorsOf, type ModelShape } from '@coxswain/layout';
import {
  RANK_ORDERS,
  SCHEDULES,
  type ClusterFacts,
  type CandidateLayout,
  type RankOrder,
  type Schedule,
} from '../facts.ts';
import {
  ZERO_STAGES,
  type AllowedChoices,
  type Partition,
  type PinnedAxes,
  type RecomputePolicy,
} from '../contract.ts';
import { isVShaped } from '../stages.ts';
import { staysInDomain } from '../time/tiers.ts';
import { choicesOf, contextAlgorithmsOf } from './context-choices.ts';
import { graphsOfGrid, PLAIN_TOOLS, type EngineTools } from './engine-tools.ts';
import { modulesOf } from './recomputed-modules.ts';
import { isOfSomeLayers, modeOf, USUAL_RECOMPUTATION } from '../recomputation-policies.ts';
import { isSearchedGrid } from './searched-grids.ts';
import { distinctRankOrders } from './rank-tiers.ts';
import { gatherGroupsOf, shardGroupsOf } from './shard-groups.ts';
import { activationSharesOf, mayCopy, optimizerSharesOf } from './shared-states.ts';
import type { StateSharing } from './shared-states.ts';

/** Inputs of the space. */
export interface SpaceFacts {
  readonly model: ModelShape;
  /** All its `gpus` are used. */
  readonly cluster: ClusterFacts;
  readonly globalBatchSize: number;
  readonly sequenceLength: number;
  readonly flashAttention: boolean;
  readonly pinned: PinnedAxes;
  readonly allow: AllowedChoices;
  /** ZeRO stages that are standard for the engine. Absent: 0 and 1. */
  readonly plainZeroStages?: readonly number[];
  /** Absent: the engine can shard states over any ranks. */
  readonly sharing?: StateSharing;
  /** Kernels and overlaps of the engine. Absent: {@link PLAIN_TOOLS}. */
  readonly tools?: EngineTools;
}

/** Degrees of dense weights and tokens: the first level of the search. */
export interface DenseMesh {
  readonly tensor: number;
  readonly context: number;
  readonly pipeline: number;
  readonly data: number;
  readonly microBatchSize: number;
  readonly contextAlgorithm: CandidateLayout['contextAlgorithm'];
  readonly rankOrder: RankOrder;
  /** Absent: {@link PLAIN_TOOLS}. */
  readonly tools?: EngineTools;
}

/** Degrees of experts: the second level. */
export interface ExpertGrid {
  readonly expert: number;
  readonly expertTensor: number;
  /** CUDA graphs, if the expert degrees decide them. Absent: as in the tools. */
  readonly cudaGraphs?: CandidateLayout['cudaGraphs'] | undefined;
}

/** All degrees of a layout. */
export type Mesh = DenseMesh & ExpertGrid;

/** States and activations that a rank keeps. The third level decides the part that changes the passes, the last level the rest. */
export interface StateChoice {
  readonly zeroStage: CandidateLayout['zeroStage'];
  readonly shardGroup: number;
  readonly recompute: RecomputePolicy;
  readonly offloadOptimizer: number;
  readonly offloadActivations: number;
}

/** Distribution of layers and schedule: the fourth level. */
export interface PipelineChoice {
  readonly schedule: Schedule;
  readonly chunks: number;
  readonly partition: Partition;
}

const MAX_MICRO_BATCH = 64;
const MAX_CHUNKS = 16;

const USUAL_PARTITIONS: readonly Partition[] = ['even', 'balanced'];
const ORDERS_WITH_CONTEXT_INSIDE = RANK_ORDERS.filter((order) => order.indexOf('cp') < order.indexOf('dp'));

type DenseGrid = Pick<DenseMesh, 'tensor' | 'context' | 'pipeline' | 'data'>;

/** Every dense mesh, legal or not, in ascending order of tensor, context, pipeline and micro-batch. */
export function* denseMeshesOf(space: SpaceFacts, algorithmOf: AlgorithmOf): Generator<DenseMesh> {
  for (const grid of denseGridsOf(space)) {
    const orders = rankOrdersOf(space, grid);
    const algorithms = contextAlgorithmsOf(space, grid.context);
    for (const microBatchSize of microBatchSizesOf(space, grid)) {
      for (const rankOrder of orders) {
        const mesh: DenseMesh = {
          ...grid,
          microBatchSize,
          contextAlgorithm: algorithms[0] ?? 'ring',
          rankOrder,
          ...(space.tools === undefined ? {} : { tools: space.tools }),
        };
        yield algorithms.length > 1 ? { ...mesh, contextAlgorithm: algorithmOf(mesh, algorithms) } : mesh;
      }
    }
  }
}

/** Chooses the context algorithm with the fastest attention on a mesh. */
export type AlgorithmOf = (mesh: DenseMesh, algorithms: readonly ContextAlgorithm[]) => ContextAlgorithm;
type ContextAlgorithm = CandidateLayout['contextAlgorithm'];

function denseGridsOf(space: SpaceFacts): readonly DenseGrid[] {
  const { pinned } = space;
  const { gpus } = space.cluster;
  const longestPipeline = Math.max(1, space.model.layers);
  const grids: DenseGrid[] = [];
  const isOpen = (value: number, wanted: number | undefined): boolean => wanted === undefined || wanted === value;
  // Three degrees say the fourth.
  const isAsked =
    pinned.tensor !== undefined || [pinned.context, pinned.pipeline, pinned.data].every((one) => one !== undefined);
  const canSplitSamples = contextAlgorithmsOf(space, 2).length > 0;
  for (const tensor of divisorsOf(gpus)) {
    if (!isOpen(tensor, pinned.tensor)) continue;
    if (!isAsked && !staysInDomain(space.cluster, { size: tensor, stride: 1 })) continue;
    for (const context of divisorsOf(gpus / tensor)) {
      if (!isOpen(context, pinned.context)) continue;
      if (context > 1 && pinned.context === undefined && !canSplitSamples) continue;
      for (const pipeline of divisorsOf(gpus / (tensor * context))) {
        if (!isOpen(pipeline, pinned.pipeline)) continue;
        if (pipeline > longestPipeline && pinned.pipeline === undefined) break;
        const grid = { tensor, context, pipeline, data: gpus / (tensor * context * pipeline) };
        if (isOpen(grid.data, pinned.data) && isSearchedGrid(space, grid)) grids.push(grid);
      }
    }
  }
  return grids;
}

/** Every division of experts on a dense mesh. */
export function expertGridsOf(space: SpaceFacts, grid: Pick<DenseMesh, 'tensor' | 'tools'>): readonly ExpertGrid[] {
  const { experts } = space.model;
  if (experts === undefined) return [{ expert: 1, expertTensor: 1 }];
  const { pinned } = space;
  return choicesOf(pinned.expert, undefined, divisorsOf(experts.count)).flatMap((expert) =>
    choicesOf(pinned.expertTensor, undefined, [...new Set([1, grid.tensor])]).map((expertTensor) => ({
      expert,
      expertTensor,
      cudaGraphs: graphsOfGrid(grid.tools ?? PLAIN_TOOLS, { expert, expertTensor }),
    })),
  );
}

function microBatchSizesOf(space: SpaceFacts, grid: DenseGrid): readonly number[] {
  const replicaBatch = space.globalBatchSize / grid.data;
  const divisors = Number.isInteger(replicaBatch) ? divisorsOf(replicaBatch) : [1];
  return choicesOf(
    space.pinned.microBatchSize,
    undefined,
    divisors.filter((size) => size <= 8 || (size <= MAX_MICRO_BATCH && Number.isInteger(Math.log2(size)))),
  );
}

function rankOrdersOf(space: SpaceFacts, grid: DenseGrid): readonly RankOrder[] {
  const orders = choicesOf(space.pinned.rankOrder, space.allow.rankOrders, ORDERS_WITH_CONTEXT_INSIDE);
  const isOutermost = space.model.experts !== undefined || space.cluster.stagesInOneIsland === true;
  const folding = isOutermost ? orders.filter((order) => order.endsWith('pp')) : orders;
  return distinctRankOrders(grid, space.cluster, folding);
}

/** Every choice of states, from the least sharded, recomputed and offloaded. */
export function stateChoicesOf(space: SpaceFacts, mesh: DenseMesh): readonly StateChoice[] {
  const { pinned, allow } = space;
  const replicas = mesh.data * mesh.context;
  const offloads = allow.offload !== false;
  const mostSharded = replicas > 1 ? 3 : offloads ? 1 : 0;
  const isAlone = replicas === 1 && pinned.zeroStage === undefined;
  const offered = (allow.zeroStages ?? ZERO_STAGES).filter((stage) => stage > 0 || mayCopy(space, mesh));
  const stages = ZERO_STAGES.filter((stage) =>
    pinned.zeroStage === undefined ? stage <= mostSharded && offered.includes(stage) : stage === pinned.zeroStage,
  );
  const policies = choicesOf(pinned.recompute, allow.recompute, USUAL_RECOMPUTATION).filter(
    (policy) => policy !== 'core-attention' || !space.flashAttention || pinned.recompute !== undefined,
  );
  const sharing = shardGroupsOf(space, mesh);
  const groups = [[replicas], sharing, sharing, gatherGroupsOf(space, mesh, sharing)];
  const choices: StateChoice[] = [];
  for (const zeroStage of stages) {
    const optimizerShares = offloads ? optimizerSharesOf(space, { zeroStage, isAlone }) : [0];
    for (const shardGroup of groups[zeroStage] ?? []) {
      for (const recompute of policies) {
        for (const offloadOptimizer of choicesOf(pinned.offloadOptimizer, undefined, optimizerShares)) {
          const mayOffload = offloads && mesh.pipeline === 1 && recompute === 'none';
          const shares = mayOffload ? activationSharesOf(space) : [0];
          for (const offloadActivations of choicesOf(pinned.offloadActivations, undefined, shares)) {
            choices.push({ zeroStage, shardGroup, recompute, offloadOptimizer, offloadActivations });
          }
        }
      }
    }
  }
  return choices;
}

/** State choices with the same passes, each with its index. */
export interface PassGroup {
  readonly members: readonly { readonly choice: StateChoice; readonly index: number }[];
  /** The member whose states take least memory. */
  readonly minMemory: StateChoice;
}

/** Groups choices by what changes the passes: recomputation, offloaded activations and gathering of sharded weights. */
export function passGroupsOf(choices: readonly StateChoice[]): readonly PassGroup[] {
  const groups = new Map<string, { choice: StateChoice; index: number }[]>();
  for (const [index, choice] of choices.entries()) {
    const gathering = choice.zeroStage === 3 ? choice.shardGroup : 0;
    const key = `${choice.recompute}/${gathering}/${choice.offloadActivations}`;
    const members = groups.get(key);
    if (members === undefined) groups.set(key, [{ choice, index }]);
    else members.push({ choice, index });
  }
  return [...groups.values()].flatMap((members) => {
    const [first, ...others] = members.map(({ choice }) => choice);
    if (first === undefined) return [];
    return [
      { members, minMemory: others.reduce((least, choice) => (takesLess(choice, least) ? choice : least), first) },
    ];
  });
}

function takesLess(choice: StateChoice, than: StateChoice): boolean {
  if (choice.zeroStage !== than.zeroStage) return choice.zeroStage > than.zeroStage;
  if (choice.shardGroup !== than.shardGroup) return choice.shardGroup > than.shardGroup;
  return choice.offloadOptimizer > than.offloadOptimizer;
}

/** Every schedule and distribution of layers; one default choice without a pipeline. */
export function pipelineChoicesOf(space: SpaceFacts, mesh: Pick<DenseMesh, 'pipeline'>): readonly PipelineChoice[] {
  const { pinned, allow } = space;
  if (mesh.pipeline === 1) return [{ schedule: '1f1b', chunks: 1, partition: 'even' }];
  const perRank = Math.ceil(space.model.layers / mesh.pipeline);
  // Each with a layer, but for two with an end of the model.
  const mostStages = space.model.layers + 2;
  const evenOnly = allow.evenOnly === true;
  const partitions = partitionsOf(space);
  const choices: PipelineChoice[] = [];
  for (const schedule of choicesOf(pinned.schedule, allow.schedules, SCHEDULES)) {
    for (const chunks of chunksOf(schedule, perRank, pinned.chunks)) {
      if (pinned.chunks === undefined && mesh.pipeline * chunks > mostStages) continue;
      if (chunks > perRank || (evenOnly && space.model.layers % (mesh.pipeline * chunks) !== 0)) continue;
      for (const partition of partitions) choices.push({ schedule, chunks, partition });
    }
  }
  return choices;
}

/** The allowed partitions in the order of `PARTITIONS`. `StagePartitions` drops duplicates. */
export function partitionsOf({ pinned, allow }: Pick<SpaceFacts, 'pinned' | 'allow'>): readonly Partition[] {
  return choicesOf(pinned.partition, allow.partitions, allow.partitions ?? USUAL_PARTITIONS).filter(
    (partition) => allow.evenOnly !== true || partition === 'even',
  );
}

function chunksOf(schedule: Schedule, perRank: number, pinned: number | undefined): readonly number[] {
  if (schedule !== 'interleaved-1f1b') {
    const chunks = isVShaped(schedule) ? 2 : 1;
    return pinned === undefined || pinned === chunks ? [chunks] : [];
  }
  if (pinned !== undefined) return pinned > 1 ? [pinned] : [];
  return divisorsOf(perRank).filter((chunks) => chunks > 1 && chunks <= MAX_CHUNKS);
}

/** The candidate of a mesh, with defaults for later levels: one chunk of even stages on 1F1B. */
export function candidateOfMesh(mesh: Mesh): CandidateLayout {
  const tools = mesh.tools ?? PLAIN_TOOLS;
  return {
    tensor: mesh.tensor,
    context: mesh.context,
    pipeline: mesh.pipeline,
    data: mesh.data,
    shardGroup: mesh.data * mesh.context,
    expert: mesh.expert,
    expertTensor: mesh.expertTensor,
    rankOrder: mesh.rankOrder,
    sequenceParallel: mesh.tensor > 1,
    contextAlgorithm: mesh.contextAlgorithm,
    schedule: '1f1b',
    chunks: 1,
    vocabulary: 'end-stages',
    vocabularyBarriers: 1,
    zeroStage: 0,
    zeroImplementation: 'ddp',
    recompute: 'none',
    recomputeModules: [],
    offloadOptimizer: 0,
    offloadActivations: 0,
    offloadWeights: 0,
    microBatchSize: mesh.microBatchSize,
    overlapTensor: tools.overlapTensor && mesh.tensor > 1,
    overlapGradReduce: true,
    overlapParamGather: true,
    overlapExpert: tools.overlapExpert && mesh.pipeline === 1,
    dispatcher: tools.dispatcher,
    cudaGraphs: mesh.cudaGraphs ?? tools.cudaGraphs,
    // Present even if undefined: objects with the same fields are faster to read.
    recomputeLayersPerChunk: undefined,
    stages: undefined,
  };
}

const IMPLEMENTATION_OF_STAGE = ['ddp', 'distopt', 'fsdp', 'fsdp'] as const;

/** The candidate with a choice of states. */
export function withStates(candidate: CandidateLayout, states: StateChoice, model: ModelShape): CandidateLayout {
  const mode = modeOf(states.recompute);
  const modules = modulesOf(states.recompute, model);
  return {
    ...candidate,
    zeroStage: states.zeroStage,
    zeroImplementation: IMPLEMENTATION_OF_STAGE[states.zeroStage],
    shardGroup: states.shardGroup,
    recompute: mode,
    recomputeModules: modules,
    // Megatron-Core asserts both (transformer_config.py): what overlaps is not dispatched again. Its main branch of 2026 computes whole chunks again, in the open.
    overlapExpert: candidate.overlapExpert && mode !== 'full' && !modules.includes('moe'),
    offloadOptimizer: states.offloadOptimizer,
    offloadActivations: states.offloadActivations,
    cudaGraphs: graphsBeside(candidate.cudaGraphs, states, mode === 'full' || modules.includes('moe')),
  };
}

/**
 * A graph of a whole step cannot wait for activations that are in host memory, and what is computed again must not reach over the edge of one of a part
 * (Megatron-Core asserts it).
 */
function graphsBeside(
  graphs: CandidateLayout['cudaGraphs'],
  { offloadActivations }: StateChoice,
  recomputesWide: boolean,
): CandidateLayout['cudaGraphs'] {
  if (graphs === 'full') return offloadActivations > 0 ? 'none' : 'full';
  return recomputesWide ? 'none' : graphs;
}

/** The candidate of a branch whose pipeline is not decided: recomputation of some layers counts as one layer. */
export function withPassGroup(
  candidate: CandidateLayout,
  { minMemory }: PassGroup,
  model: ModelShape,
): CandidateLayout {
  const decided = withStates(candidate, minMemory, model);
  return isOfSomeLayers(minMemory.recompute) ? { ...decided, recomputeLayersPerChunk: 1 } : decided;
}
