/** Bytes that the ranks of a run exchange in a step: the bytes that the time model prices, summed over blocks, passes and micro-batches. */
import { reducesEachMicroBatch, type RunFacts } from '../facts.ts';
import { isVShaped } from '../stages.ts';
import { parametersOf } from '../memory/parameters.ts';
import {
  attentionHeadsOf,
  blockActivationBytes,
  boundaryBytes,
  expertTokenBytes,
  headExchangeBytes,
  keyValueBytes,
  recomputedLayersShare,
  routedTokensOf,
  stateBytesOf,
  tokensPerRank,
  trainedShareOf,
} from '../time/exchanged-bytes.ts';
import { microBatchesOf } from '../time/pipeline-work.ts';
import { stageKindsOf, type StageKind } from '../time/stage-kinds.ts';
import { parametersOfEnds, parametersOfLayers, parametersPerLayer } from '../time/states.ts';

/**
 * A group of ranks that exchange data. data: ranks that hold the same dense weights, including context ranks. dataShard: data ranks that share one copy
 * of sharded states. dataReplica: ranks that hold the other copies. pipelineEnds: first and last stage; a sample passes between them to its next chunk.
 * embedding: first and last stage, if they share the weights of the embedding.
 */
export type ExchangingGroup =
  | 'tensor'
  | 'context'
  | 'expertTensor'
  | 'expert'
  | 'data'
  | 'dataShard'
  | 'dataReplica'
  | 'expertData'
  | 'pipeline'
  | 'pipelineEnds'
  | 'embedding';

/** The traffic of one kind of group in a step. */
export interface GroupExchange {
  readonly group: ExchangingGroup;
  /** ring: each member to the next. allToAll: each to each other. chain: each to the next and back. */
  readonly pattern: 'ring' | 'allToAll' | 'chain';
  /** Bytes per step from one member to its receiver; for a chain, both directions together. */
  readonly bytesPerPair: number;
}

/** What the average pipeline rank holds and runs for one micro-batch. */
interface AverageRank {
  readonly attention: number;
  /** Blocks whose activations a tensor group gathers and scatters; fractions, as ranks differ. */
  readonly tensorBlocks: number;
  readonly expertBlocks: number;
  readonly embeddings: number;
  readonly losses: number;
  /** Of layers alone, and with embedding and output projection. */
  readonly layerParameters: number;
  readonly denseParameters: number;
  readonly expertParameters: number;
}

/**
 * Exchanges per step of groups with several members. Different stages are averaged, so that the sum over all groups is correct. Savings of DeepEP and
 * HybridEP, which send a token once to several experts of a domain, depend on the placement and are not subtracted. An all-gather dispatcher counts as
 * an all-to-all, as in the time model.
 */
export function exchangesOfRun(run: RunFacts): readonly GroupExchange[] {
  const rank = averageRankOf(run);
  const exchanges = [
    tensorExchange(run, rank),
    contextExchange(run, rank),
    ...expertExchanges(run, rank),
    ...stateExchanges(run, rank),
    ...pipelineExchanges(run),
    embeddingExchange(run),
  ];
  return exchanges.filter(({ bytesPerPair }) => bytesPerPair > 0);
}

function averageRankOf(run: RunFacts): AverageRank {
  const { candidate, model } = run;
  const { kinds, kindOfStage } = stageKindsOf(model, candidate);
  const perLayer = parametersPerLayer(run);
  const isSharded = candidate.vocabulary === 'sharded-over-pp' || candidate.vocabulary === 'interlaced';
  const average = (of: (kind: StageKind) => number): number =>
    kindOfStage.reduce((sum, kind) => sum + of(kinds[kind] as StageKind), 0) / candidate.pipeline;
  const mtpExperts = model.experts === undefined ? 0 : 1;
  const layerParameters = average((kind) => parametersOfLayers(kind, perLayer).dense);
  const expertBlocks = average((kind) => kind.expertMlp + kind.mtpLayers * mtpExperts);
  const attention = average((kind) => kind.attention + kind.mtpLayers);
  const denseBlocks = average((kind) => kind.denseMlp + kind.stateSpace + kind.mtpLayers * (1 - mtpExperts));
  const hasSharedExperts = (model.experts?.sharedFfnHiddenSize ?? 0) > 0;
  return {
    attention,
    tensorBlocks: attention + denseBlocks + (hasSharedExperts ? expertBlocks : 0),
    expertBlocks,
    embeddings: isSharded ? 1 : average((kind) => (kind.embedding ? 1 : 0)),
    losses: (isSharded ? 1 : average((kind) => (kind.loss ? 1 : 0))) + average((kind) => kind.mtpLayers),
    layerParameters,
    denseParameters: layerParameters + average((kind) => parametersOfEnds(run, kind)),
    expertParameters: average((kind) => parametersOfLayers(kind, perLayer).experts),
  };
}

/** Around each block a gather and a scatter forward, the same backward; one of each at the embedding, two of each at the loss. */
function tensorExchange(run: RunFacts, rank: AverageRank): GroupExchange {
  const passes = 2 * (2 + recomputedLayersShare(run));
  const exchanges = rank.tensorBlocks * passes + 2 * rank.embeddings + 4 * rank.losses;
  const bytes = microBatchesOf(run) * exchanges * blockActivationBytes(run, tokensPerRank(run));
  return { group: 'tensor', pattern: 'ring', bytesPerPair: bytes * sentShare(run.candidate.tensor) };
}

/** Once forward, twice backward: keys and values there, their gradients back. */
function contextExchange(run: RunFacts, rank: AverageRank): GroupExchange {
  const { candidate, model } = run;
  const heads = attentionHeadsOf(model, candidate.tensor);
  const tokens = tokensPerRank(run);
  const ways = candidate.context;
  const times = microBatchesOf(run) * rank.attention * (3 + recomputedLayersShare(run));
  if (candidate.contextAlgorithm === 'ulysses') {
    const bytes = (2 * headExchangeBytes(tokens, heads)) / ways;
    return { group: 'context', pattern: 'allToAll', bytesPerPair: ways > 1 ? times * bytes : 0 };
  }
  return { group: 'context', pattern: 'ring', bytesPerPair: times * keyValueBytes(tokens, heads) * (ways - 1) };
}

/** Dispatch and return forward, the same backward; of split experts a gather and a scatter of what was dispatched. */
function expertExchanges(run: RunFacts, rank: AverageRank): readonly GroupExchange[] {
  const { expert, expertTensor } = run.candidate;
  const routed = routedTokensOf(run, tokensPerRank(run));
  const recomputesLayer = run.candidate.recompute === 'selective' && run.candidate.recomputeModules.includes('moe');
  const passes = 2 * (2 + (recomputesLayer ? 1 : recomputedLayersShare(run)));
  const bytes = microBatchesOf(run) * rank.expertBlocks * passes * expertTokenBytes(routed.routed, routed);
  return [
    { group: 'expert', pattern: 'allToAll', bytesPerPair: expert > 1 ? bytes / expert : 0 },
    { group: 'expertTensor', pattern: 'ring', bytesPerPair: bytes * expertTensor * sentShare(expertTensor) },
  ];
}

/**
 * Gradients to their owners and weights back, once per step; where each rank keeps only the gradients that it owns (stage 2), these after every
 * micro-batch (`reducesEachMicroBatch`). Where weights are sharded too, each micro-batch gathers those of the layers twice and reduces
 * their gradients, and the copies are summed once.
 */
function stateExchanges(run: RunFacts, rank: AverageRank): readonly GroupExchange[] {
  const { candidate } = run;
  const { reduced, returned, gathered } = stateBytesOf(run);
  const dense = candidate.data * candidate.context;
  const expertData = Math.max(1, (candidate.tensor * dense) / (candidate.expert * candidate.expertTensor));
  const ring = (group: ExchangingGroup, bytes: number, ways: number): GroupExchange => ({
    group,
    pattern: 'ring',
    bytesPerPair: bytes * sentShare(ways),
  });
  const trained = trainedShareOf(run);
  if (candidate.zeroStage < 3) {
    const times = reducesEachMicroBatch(run) ? microBatchesOf(run) : 1;
    const bytes = trained * (times * reduced + returned);
    return [
      ring('data', rank.denseParameters * bytes, dense),
      ring('expertData', rank.expertParameters * bytes, expertData),
    ];
  }
  const perMicroBatch = microBatchesOf(run) * (2 * gathered + reduced);
  const shard = Math.min(candidate.shardGroup, dense);
  return [
    ring('dataShard', rank.layerParameters * perMicroBatch, shard),
    ring('dataReplica', (trained * rank.denseParameters * (reduced + returned)) / shard, dense / shard),
    ring('expertData', rank.expertParameters * perMicroBatch, expertData),
  ];
}

/** Activations there and their gradients back, for each micro-batch and chunk. V-shaped schedules turn round on the last rank instead of going on with the first. */
function pipelineExchanges(run: RunFacts): readonly GroupExchange[] {
  const { pipeline, chunks, schedule } = run.candidate;
  if (pipeline === 1) return [];
  const once = 2 * microBatchesOf(run) * boundaryBytes(run);
  const rounds = isVShaped(schedule) ? 0 : chunks - 1;
  return [
    { group: 'pipeline', pattern: 'chain', bytesPerPair: once * chunks },
    { group: 'pipelineEnds', pattern: 'chain', bytesPerPair: once * rounds },
  ];
}

/**
 * Gradients of the embedding, summed over the two stages that hold it: reduced and returned, half of it to the one other member each. No time is priced for
 * it.
 */
function embeddingExchange(run: RunFacts): GroupExchange {
  const { model, candidate, gradientBytes } = run;
  const isShared =
    model.tiedEmbeddings &&
    candidate.pipeline > 1 &&
    candidate.vocabulary !== 'sharded-over-pp' &&
    candidate.vocabulary !== 'interlaced' &&
    !isVShaped(candidate.schedule);
  const bytes = (parametersOf(model).embedding / candidate.tensor) * gradientBytes * trainedShareOf(run);
  return { group: 'embedding', pattern: 'ring', bytesPerPair: isShared ? bytes : 0 };
}

/** Of what a ring of so many reduces or gathers, what each member sends on. */
function sentShare(ways: number): number {
  return (ways - 1) / ways;
}
