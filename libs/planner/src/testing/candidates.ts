import { RECOMPUTED_MODULES } from '@coxswain/layout';
import fc from 'fast-check';
import { RANK_ORDERS, SCHEDULES, type CandidateLayout, type StagePart } from '../facts.ts';

/** A candidate of one rank without options, with the given fields replaced. */
export function aCandidate(overrides: Partial<CandidateLayout> = {}): CandidateLayout {
  const { data = 1, context = 1 } = overrides;
  return {
    tensor: 1,
    context,
    pipeline: 1,
    data,
    shardGroup: data * context,
    expert: 1,
    expertTensor: 1,
    sequenceParallel: false,
    contextAlgorithm: 'ring',
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
    microBatchSize: 1,
    overlapTensor: false,
    overlapGradReduce: false,
    overlapParamGather: false,
    overlapExpert: false,
    dispatcher: 'alltoall',
    cudaGraphs: 'none',
    ...overrides,
  };
}

const power = fc.integer({ min: 0, max: 4 }).map((exponent) => 2 ** exponent);
const stage: fc.Arbitrary<StagePart> = fc.record({
  layers: fc.nat(8),
  embedding: fc.boolean(),
  loss: fc.boolean(),
  mtpLayers: fc.nat(2),
});

const choices = fc.record({
  tensor: power,
  context: power,
  pipeline: power,
  data: power,
  expert: power,
  expertTensor: power,
  chunks: fc.integer({ min: 1, max: 4 }),
  microBatchSize: power,
  rankOrder: fc.constantFrom(...RANK_ORDERS),
  sequenceParallel: fc.boolean(),
  contextAlgorithm: fc.constantFrom('ring' as const, 'allgather' as const, 'ulysses' as const),
  schedule: fc.constantFrom(...SCHEDULES),
  stages: fc.option(fc.array(stage, { minLength: 1, maxLength: 6 }), { nil: undefined }),
  vocabulary: fc.constantFrom('end-stages' as const, 'counted-as-layer' as const, 'sharded-over-pp' as const),
  vocabularyBarriers: fc.constantFrom(1 as const, 2 as const),
  zero: fc.constantFrom(
    { zeroStage: 0 as const, zeroImplementation: 'ddp' as const },
    { zeroStage: 1 as const, zeroImplementation: 'distopt' as const },
    { zeroStage: 2 as const, zeroImplementation: 'deepspeed' as const },
    { zeroStage: 3 as const, zeroImplementation: 'fsdp' as const },
  ),
  recompute: fc.constantFrom('none' as const, 'selective' as const, 'full' as const),
  recomputeModules: fc.uniqueArray(fc.constantFrom(...RECOMPUTED_MODULES), { minLength: 1 }),
  blockLayers: fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined }),
  offload: fc.constantFrom(0, 0.25, 1),
  flags: fc.tuple(fc.boolean(), fc.boolean(), fc.boolean(), fc.boolean()),
  dispatcher: fc.constantFrom('allgather' as const, 'alltoall' as const, 'deepep' as const, 'hybridep' as const),
  expertCapacity: fc.option(fc.constantFrom(1, 1.25), { nil: undefined }),
  cudaGraphs: fc.constantFrom('none' as const, 'partial' as const, 'full' as const),
});

/** Any candidate in its plain form: a choice without effect has its default. It may be illegal. */
export function anyCandidate(hasExperts: boolean): fc.Arbitrary<CandidateLayout> {
  return choices.map((from) => {
    const { zero, blockLayers, offload, flags, stages, expertCapacity, rankOrder, ...plain } = from;
    const [overlapTensor, overlapGradReduce, overlapParamGather, overlapExpert] = flags;
    const noPipeline = plain.pipeline === 1 && plain.chunks === 1 && plain.vocabulary === 'end-stages';
    return aCandidate({
      ...plain,
      ...zero,
      overlapTensor,
      overlapGradReduce,
      overlapParamGather,
      overlapExpert,
      offloadOptimizer: zero.zeroStage > 0 ? offload : 0,
      offloadActivations: offload,
      ...(rankOrder === RANK_ORDERS[0] ? {} : { rankOrder }),
      ...(plain.context === 1 ? { contextAlgorithm: 'ring' } : {}),
      ...(noPipeline ? { schedule: '1f1b' } : stages === undefined ? {} : { stages }),
      ...(plain.vocabulary === 'sharded-over-pp' ? {} : { vocabularyBarriers: 1 }),
      ...(plain.recompute === 'selective' ? {} : { recomputeModules: [] }),
      ...(plain.recompute === 'full' && blockLayers !== undefined ? { recomputeLayersPerChunk: blockLayers } : {}),
      ...(hasExperts
        ? expertCapacity === undefined
          ? {}
          : { expertCapacity }
        : { expert: 1, expertTensor: 1, dispatcher: 'alltoall' }),
    });
  });
}
