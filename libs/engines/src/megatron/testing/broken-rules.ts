/** Which rules are there to break, what breaks each and no other, and which of them does Megatron-LM itself not see when it parses? */
import { all, CAPABILITIES, type Change, degrees, experts, over } from './capabilities.ts';

export interface BrokenRule {
  readonly rule: string;
  readonly change: Change;
  /** What a user would tell Megatron-LM who has no such rule: a refused word is told nothing. */
  readonly means?: readonly string[];
  /** Why Megatron-LM takes it: it ends later, on the cluster, or does something else without a word. Absent: it refuses. */
  readonly hole?: string;
  /** Releases that take it, by their minor; absent: all. */
  readonly holeIn?: readonly number[];
}

const capability = (name: string): Change => CAPABILITIES[name] ?? all();
const training = (values: Readonly<Record<string, unknown>>): Change => {
  return (draft) => Object.assign(draft.training, values);
};
const model = (values: Readonly<Record<string, unknown>>): Change => {
  return (draft) => Object.assign(draft.model, values);
};
const distributed = over('states', { zeroStage: 1, implementation: 'distributed-optimizer' });

export const BROKEN_RULES: readonly BrokenRule[] = [
  {
    rule: 'tensorDividesAttentionHeads',
    change: all(degrees({ tensorParallelDegree: 32 }), model({ attentionHeads: 16, keyValueHeads: 16 })),
  },
  {
    rule: 'tensorFitsKeyValueHeads',
    change: all(
      degrees({ tensorParallelDegree: 4 }),
      model({ attentionHeads: 24, keyValueHeads: 6, hiddenSize: 1536 }),
    ),
  },
  { rule: 'pipelineDividesLayers', change: all(degrees({ pipelineParallelDegree: 4 }), model({ layers: 10 })) },
  {
    rule: 'stagesCoverModel',
    change: all(
      degrees({ pipelineParallelDegree: 2 }),
      over('pipeline', {
        stages: [
          { layers: 4, embedding: true },
          { layers: 3, loss: true },
        ],
      }),
    ),
  },
  {
    rule: 'stagesBeginWithEmbeddingAndEndWithLoss',
    change: all(
      degrees({ pipelineParallelDegree: 2 }),
      over('pipeline', { stages: [{ layers: 4 }, { layers: 4, loss: true }] }),
    ),
  },
  {
    rule: 'chunksNeedPipeline',
    change: over('pipeline', { chunksPerRank: 2 }),
  },
  {
    rule: 'interleavedPairNeedsOverlap',
    change: all(capability('interleaved pipeline'), over('communication', { overlapPipelineTransfers: false })),
  },
  {
    rule: 'contextDividesSequence',
    change: all(degrees({ contextParallelDegree: 8 }), model({ sequenceLength: 2040 })),
  },
  {
    rule: 'ulyssesRingFactors',
    change: all(degrees({ contextParallelDegree: 4 }), over('sequence', { contextAlgorithm: 'ulysses-ring' })),
    means: ['--cp-comm-type', 'a2a+p2p'],
  },
  {
    rule: 'dataTimesMicroBatchDividesGlobalBatch',
    change: all(degrees({ dataParallelDegree: 3 })),
    hole: 'the number of micro-batches is computed when training is set up (num_microbatches_calculator.py)',
    holeIn: [15, 16, 17],
  },
  {
    rule: 'expertParallelDividesExperts',
    change: all(experts, degrees({ dataParallelDegree: 3 }), training({ globalBatchSize: 48 }), ({ layout }) => {
      layout.expert = { ...layout.expert, expertParallelDegree: 3 };
    }),
  },
  {
    rule: 'expertGridFillsStage',
    change: all(experts, degrees({ dataParallelDegree: 2 })),
    hole: 'groups of experts are made when ranks meet (parallel_state.py)',
  },
  {
    rule: 'expertsWithTensorNeedSequenceParallel',
    change: all(experts, degrees({ tensorParallelDegree: 2 }), ({ layout }) => {
      layout.sequence = { ...layout.sequence, sequenceParallel: false };
    }),
    hole: 'the layer of experts asks when it is made (moe_layer.py); core_v0.15 ends at once, at a name that it forgot to import',
    holeIn: [16, 17, 18, 19],
  },
  {
    rule: 'param-gather-overlaps-with-gradients',
    change: all(distributed, over('communication', { overlapParamGather: true })),
    means: ['--overlap-param-gather'],
  },
  {
    rule: 'tensor-overlap-needs-sequence-parallel',
    change: all(degrees({ tensorParallelDegree: 2 }), over('communication', { overlapTensorParallel: true })),
    means: ['--tp-comm-overlap'],
  },
  {
    rule: 'expert-overlap-needs-exchange',
    change: all(
      experts,
      over('communication', { overlapExpertParallel: true }),
      over('memory', { recompute: { mode: 'full' } }),
      ({ layout }) => {
        layout.expert = { expertParallelDegree: 4, ...layout.expert, dispatcher: 'alltoall' };
      },
    ),
    means: ['--overlap-moe-expert-parallel-comm'],
  },
  {
    rule: 'sequence-parallel-needs-tensor',
    change: all(degrees({ tensorParallelDegree: 1 }), over('sequence', { sequenceParallel: true })),
    means: ['--sequence-parallel'],
    hole: 'turned off with a warning (validate_args)',
  },
  {
    rule: 'megatronFsdpHasItsFormat',
    change: all(capability('Megatron-FSDP'), over('states', { optimizer: 'muon' })),
    means: ['--optimizer', 'muon'],
  },
  {
    rule: 'format-fits-states',
    change: all(distributed, over('checkpointPolicy', { format: 'torch_dcp' })),
    means: ['--ckpt-format', 'torch_dcp'],
  },
  {
    rule: 'fsdp2OnMegatronIsAlone',
    change: all(capability('torch FSDP2'), degrees({ pipelineParallelDegree: 2 })),
  },
  {
    rule: 'fsdp2-is-not-fp16',
    change: all(capability('torch FSDP2'), over('kernel', { precision: 'fp16' })),
  },
  {
    rule: 'mtp-is-not-of-learned-positions',
    change: model({ mtpLayers: 1, learnedPositions: 4096 }),
    means: ['--mtp-num-layers', '1'],
  },
  { rule: 'fsdp2-is-untied', change: all(capability('torch FSDP2'), model({ tiedEmbeddings: true })) },
  {
    rule: 'emerging-optimizer-is-plain',
    change: all(distributed, over('states', { optimizer: 'muon' }), over('communication', { overlapGradReduce: true })),
    hole: 'sharded states become layer-wise ones without a word (validate_args)',
    holeIn: [18, 19],
  },
  {
    rule: 'optimizerOffloadIsPrecisionAware',
    change: all(distributed, over('memory', { offload: [{ what: 'optimizer' }], hostMemoryGibPerGpu: 32 })),
  },
  {
    rule: 'precision-aware-needs-distributed-optimizer',
    change: over('states', { precisionAwareOptimizer: true, zeroStage: 0, implementation: 'ddp' }),
    means: ['--use-precision-aware-optimizer'],
    hole: 'the configuration of the optimizer asks when training is set up (optimizer_config.py)',
  },
  {
    rule: 'offloaded-modules',
    change: over('memory', { offload: [{ what: 'activations', modules: ['attn_proj'] }], hostMemoryGibPerGpu: 32 }),
    means: ['--fine-grained-activation-offloading', '--offload-modules', 'attn_proj'],
  },
  {
    rule: 'modules-of-recompute',
    change: over('memory', { recompute: { mode: 'selective', modules: ['mamba'] } }),
    means: ['--recompute-modules', 'mamba'],
  },
  {
    rule: 'recompute-words-fit-mode',
    change: over('memory', { recompute: { mode: 'selective', layers: 2 } }),
    means: ['--recompute-granularity', 'selective', '--recompute-num-layers', '2'],
  },
  {
    rule: 'stages-or-counted-vocabulary',
    change: all(capability('listed stages'), over('pipeline', { vocabulary: 'counted-as-layer' })),
    means: ['--account-for-embedding-in-pipeline-split', '--account-for-loss-in-pipeline-split'],
  },
  {
    rule: 'attention-of-transformer-engine',
    change: over('kernel', { attention: 'local' }),
    means: ['--attention-backend', 'local'],
  },
  {
    rule: 'dynamicSequencesOnMegatron',
    change: all(capability('dynamic sequences'), degrees({ pipelineParallelDegree: 2 })),
  },
  {
    rule: 'rate-falls',
    change: training({ learningRate: 0.0001, minLearningRate: 0.001 }),
    means: ['--lr', '0.0001', '--min-lr', '0.001'],
  },
  {
    rule: 'positions-cover-samples',
    change: model({ learnedPositions: 1024 }),
    means: ['--seq-length', '2048', '--max-position-embeddings', '1024'],
  },
  {
    rule: 'whole-graphs-give-experts-room',
    change: all(experts, over('kernel', { cudaGraphs: 'full' })),
    means: ['--cuda-graph-impl', 'local'],
    hole: 'validation asks in core_v0.16 and core_v0.17 alone; dropless experts of changing sizes end while the graph is captured',
    holeIn: [15, 18, 19],
  },
  {
    rule: 'partial-graphs-recompute-within',
    change: all(
      experts,
      over('kernel', { cudaGraphs: 'partial' }),
      over('memory', { recompute: { mode: 'full', method: 'block', layers: 1 } }),
    ),
    means: ['--cuda-graph-impl', 'transformer_engine'],
    hole: 'core_v0.15 does not ask',
    holeIn: [15],
  },
  {
    rule: 'deferred-gradient-needs-pipeline',
    change: all(degrees({ pipelineParallelDegree: 1 }), over('communication', { deferEmbeddingGradient: true })),
    means: ['--defer-embedding-wgrad-compute'],
  },
  {
    rule: 'seed-is-positive',
    change: training({ seed: 0 }),
    means: ['--seed', '0'],
    hole: 'random states are made when ranks meet (initialize.py, _set_random_seed)',
  },
  {
    rule: 'rate-within-steps',
    change: training({ steps: 10, warmupSteps: 10, schedule: undefined }),
    means: ['--train-iters', '10', '--lr-decay-iters', '10', '--lr-warmup-iters', '10'],
    hole: 'the schedule of rates asks when training is set up (optimizer_param_scheduler.py)',
  },
];
