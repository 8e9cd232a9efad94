import type { EngineGuide, EngineTrap, FieldMapping } from '../engine-guide.ts';

/** Where each field goes. Of several flags the first carries the value, and the others are what it needs. */
const FIELDS: readonly FieldMapping[] = [
  {
    field: 'engine.command',
    to: 'the program',
    note: 'absent: pretrain_gpt.py, or that of hybrids where model.layerPattern is given',
  },
  {
    field: 'engine.args',
    to: 'behind what is rendered',
    note: 'read by the options of the release; what contradicts the job is refused',
  },
  {
    field: 'engine.options',
    to: '--name VALUE',
    note: 'what sets a field is read into it; what contradicts one is refused; the rest is not priced',
  },
  { field: 'model.layers', to: '--num-layers' },
  { field: 'model.hiddenSize', to: '--hidden-size' },
  { field: 'model.ffnHiddenSize', to: '--ffn-hidden-size' },
  { field: 'model.attentionHeads', to: '--num-attention-heads' },
  { field: 'model.keyValueHeads', to: '--group-query-attention, --num-query-groups' },
  { field: 'model.headDim', to: '--kv-channels' },
  {
    field: 'model.vocabularySize',
    to: '--vocab-size',
    note: 'where data.tokenizer is absent; a tokenizer knows its own',
  },
  { field: 'model.gatedMlp', to: '--swiglu' },
  { field: 'model.rmsNorm', to: '--normalization' },
  { field: 'model.linearBias', to: '--disable-bias-linear' },
  { field: 'model.dropout', to: '--attention-dropout, --hidden-dropout' },
  { field: 'model.tiedEmbeddings', to: '--untie-embeddings-and-output-weights' },
  { field: 'model.learnedPositions', to: '--position-embedding-type, --max-position-embeddings' },
  { field: 'model.attentionWindow', to: '--window-size' },
  { field: 'model.windowedLayers', to: '--window-attn-skip-freq' },
  { field: 'model.attentionSinks', to: '--softmax-type' },
  { field: 'model.mtpLayers', to: '--mtp-num-layers' },
  {
    field: 'model.experts',
    to: '--num-experts, --moe-router-topk, --moe-ffn-hidden-size, --moe-shared-expert-intermediate-size, --moe-layer-freq, --moe-latent-size',
  },
  {
    field: 'model.latentAttention',
    to: '--multi-latent-attention, --q-lora-rank, --kv-lora-rank, --qk-head-dim, --qk-pos-emb-head-dim, --v-head-dim',
  },
  { field: 'model.stateSpace', to: '--mamba-state-dim, --mamba-num-heads, --mamba-head-dim, --mamba-num-groups' },
  { field: 'model.layerPattern', to: '--hybrid-layer-pattern', note: '--hybrid-override-pattern before core_v0.17' },
  { field: 'model.sequenceLength', to: '--seq-length' },
  { field: 'training.steps', to: '--train-iters, --lr-decay-iters' },
  { field: 'training.tokens', to: '--train-iters', note: 'as many steps as see them' },
  { field: 'training.globalBatchSize', to: '--global-batch-size' },
  {
    field: 'training.batchRampUp',
    to: '--rampup-batch-size',
    note: 'Megatron-LM then counts in samples: --train-samples, --lr-warmup-samples, --lr-decay-samples',
  },
  { field: 'training.microBatchSize', to: '--micro-batch-size' },
  { field: 'training.optimizer.name', to: '--optimizer', note: 'adamw is its adam' },
  { field: 'training.optimizer.beta1', to: '--adam-beta1' },
  { field: 'training.optimizer.beta2', to: '--adam-beta2' },
  { field: 'training.optimizer.epsilon', to: '--adam-eps' },
  { field: 'training.optimizer.momentum', to: '--sgd-momentum', note: '--muon-momentum of muon' },
  { field: 'training.optimizer.clipNorm', to: '--clip-grad' },
  { field: 'training.schedule.name', to: '--lr-decay-style' },
  { field: 'training.schedule.decaySteps', to: '--lr-wsd-decay-iters' },
  { field: 'training.learningRate', to: '--lr' },
  { field: 'training.minLearningRate', to: '--min-lr' },
  { field: 'training.warmupSteps', to: '--lr-warmup-iters' },
  { field: 'training.weightDecay', to: '--weight-decay' },
  { field: 'training.seed', to: '--seed', note: '1 or more' },
  { field: 'training.precision', to: '--bf16' },
  { field: 'data.path', to: '--data-path', note: 'prefix of .bin and .idx' },
  { field: 'data.paths', to: '--data-path', note: 'each behind its weight' },
  { field: 'data.format', to: '--mock-data', note: 'mock and indexed; others are refused' },
  { field: 'data.split', to: '--split' },
  { field: 'data.tokenizer', to: '--tokenizer-type, --tokenizer-model', note: 'of Hugging Face' },
  { field: 'checkpoint', to: '--save, --save-interval' },
  { field: 'resumeFrom', to: '--load, --ckpt-step', note: 'set by the launcher if the ranks resume from a checkpoint' },
  {
    field: 'initialWeights',
    to: '--pretrained-checkpoint',
    note: 'torch_dist alone; without optimizer states and step',
  },
  { field: 'layout.tensorParallelDegree', to: '--tensor-model-parallel-size' },
  { field: 'layout.pipelineParallelDegree', to: '--pipeline-model-parallel-size' },
  { field: 'layout.dataParallelDegree', to: 'WORLD_SIZE', note: 'what the other degrees leave of it' },
  { field: 'layout.contextParallelDegree', to: '--context-parallel-size' },
  {
    field: 'layout.dataParallelShardDegree',
    to: '--num-distributed-optimizer-instances',
    note: 'as the number of copies',
  },
  {
    field: 'layout.weightShardDegree',
    to: '--tensor-parallel-num-weight-shards',
    note: 'times tensorParallelDegree; core_v0.19',
  },
  { field: 'layout.rankOrder', to: '--use-tp-pp-dp-mapping' },
  { field: 'layout.expert.expertParallelDegree', to: '--expert-model-parallel-size' },
  { field: 'layout.expert.expertTensorParallelDegree', to: '--expert-tensor-parallel-size' },
  {
    field: 'layout.expert.dispatcher',
    to: '--moe-token-dispatcher-type, --moe-flex-dispatcher-backend',
    note: '--moe-enable-deepep in core_v0.15',
  },
  { field: 'layout.expert.capacityFactor', to: '--moe-expert-capacity-factor' },
  { field: 'layout.expert.tokenDropOrder', to: '--moe-token-drop-policy' },
  { field: 'layout.expert.balance', to: '--moe-router-load-balancing-type, --moe-router-enable-expert-bias' },
  { field: 'layout.pipeline.chunksPerRank', to: '--num-virtual-stages-per-pipeline-rank' },
  { field: 'layout.pipeline.microBatchGroupSize', to: '--microbatch-group-size-per-virtual-pipeline-stage' },
  { field: 'layout.pipeline.stages', to: '--pipeline-model-parallel-layout' },
  {
    field: 'layout.pipeline.vocabulary',
    to: '--account-for-embedding-in-pipeline-split, --account-for-loss-in-pipeline-split',
  },
  { field: 'layout.sequence.sequenceParallel', to: '--sequence-parallel' },
  { field: 'layout.sequence.contextAlgorithm', to: '--cp-comm-type', note: 'p2p, all_gather, a2a, a2a+p2p' },
  { field: 'layout.sequence.ulyssesDegree', to: '--hierarchical-context-parallel-sizes' },
  {
    field: 'layout.sequence.dynamic',
    to: '--hybrid-context-parallel, --max-seqlen-per-dp-cp-rank, --calculate-per-token-loss',
    note: 'from core_v0.16',
  },
  { field: 'layout.states.implementation', to: '--use-distributed-optimizer, --use-megatron-fsdp, --use-torch-fsdp2' },
  { field: 'layout.states.zeroStage', to: '--data-parallel-sharding-strategy', note: 'of Megatron-FSDP' },
  { field: 'layout.states.optimizer', to: '--optimizer' },
  { field: 'layout.states.precisionAwareOptimizer', to: '--use-precision-aware-optimizer' },
  { field: 'layout.states.optimizerPrecision', to: '--exp-avg-dtype, --exp-avg-sq-dtype' },
  {
    field: 'layout.states.gradientPrecision',
    to: '--grad-reduce-in-bf16, --main-grads-dtype, --accumulate-allreduce-grads-in-fp32',
  },
  {
    field: 'layout.memory.recompute',
    to: '--recompute-granularity, --recompute-modules, --recompute-method, --recompute-num-layers',
  },
  {
    field: 'layout.memory.offload',
    to: '--optimizer-cpu-offload, --optimizer-offload-fraction, --fine-grained-activation-offloading, --offload-modules',
  },
  { field: 'layout.communication.overlapGradReduce', to: '--overlap-grad-reduce' },
  { field: 'layout.communication.overlapParamGather', to: '--overlap-param-gather' },
  { field: 'layout.communication.overlapTensorParallel', to: '--tp-comm-overlap' },
  { field: 'layout.communication.overlapExpertParallel', to: '--overlap-moe-expert-parallel-comm' },
  { field: 'layout.communication.overlapPipelineTransfers', to: '--no-overlap-p2p-communication' },
  { field: 'layout.communication.deferEmbeddingGradient', to: '--defer-embedding-wgrad-compute' },
  { field: 'layout.communication.switchReduction', to: '--use-sharp' },
  { field: 'layout.communication.timeoutMinutes', to: '--distributed-timeout-minutes' },
  {
    field: 'layout.communication.groupNetwork',
    to: '--nccl-communicator-config-path',
    note: 'a file of net_name for each kind of group',
  },
  { field: 'layout.kernel.attention', to: '--attention-backend' },
  { field: 'layout.kernel.softmax', to: '--softmax-type' },
  { field: 'layout.kernel.precision', to: '--bf16, --fp16, --fp8-format, --fp8-recipe, --fp4-format' },
  {
    field: 'layout.kernel.cudaGraphs',
    to: '--cuda-graph-impl, --cuda-graph-modules, --cuda-graph-scope, --moe-paged-stash, --moe-expert-rank-capacity-factor',
    note: 'full beside experts: from core_v0.18, in mxfp8, by HybridEP',
  },
  { field: 'layout.kernel.deterministic', to: '--deterministic-mode, NCCL_ALGO' },
  { field: 'layout.checkpointPolicy.format', to: '--ckpt-format' },
  { field: 'layout.checkpointPolicy.optimizerReshard', to: '--dist-ckpt-optim-fully-reshardable' },
  { field: 'layout.checkpointPolicy.asyncSave', to: '--async-save, --use-persistent-ckpt-worker' },
  {
    field: 'layout.checkpointPolicy.localEverySteps',
    to: '--non-persistent-save-interval, --non-persistent-ckpt-type',
  },
];

const VALIDATION = 'NVIDIA/Megatron-LM core_v0.15.3 to core_v0.19.0, megatron/training/arguments.py (validate_args)';

const TRAPS: readonly EngineTrap[] = [
  {
    what: 'Graphs of parts of a layer hold the whole layer unless its parts are named, and end at the exchange of experts.',
    answer: 'For models with experts Coxswain captures attention, router and what precedes the exchange.',
    source:
      'NVIDIA/Megatron-LM core_v0.16.1 to core_v0.19.0, megatron/core/transformer/cuda_graphs.py (_layer_is_graphable)',
  },
  {
    what: 'A graph of a whole step cannot read how many tokens came to an expert. It needs room of a fixed size (HybridEP, --moe-expert-rank-capacity-factor), pages for what is kept, and products that read the counts on the GPU, which are those of mxfp8 on Blackwell.',
    answer:
      'From core_v0.18 on Coxswain sets all of it, and refuses what does not go with it. Products are fused, at the published speed, only if the job saves nothing: their weights are interleaved, also in checkpoints.',
    source:
      'NVIDIA/Megatron-LM core_v0.18.2, megatron/core/transformer/transformer_config.py, moe/experts.py, moe/token_dispatcher.py; NVIDIA/TransformerEngine v2.14 to v2.16, transformer_engine/pytorch/ops (fuse_grouped_mlp_ops, _is_graph_safe_path_supported)',
  },
  {
    what: 'fp8 scaling defaults to delayed, which excludes recomputing layernorm and moe_act.',
    answer: 'Coxswain sets --fp8-recipe tensorwise for fp8: each tensor is scaled by its current content.',
    source: 'NVIDIA/Megatron-LM core_v0.15.3 to core_v0.19.0, megatron/core/transformer/transformer_config.py',
  },
  {
    what: 'CUDA_DEVICE_MAX_CONNECTIONS must be 1 for tensor or context parallelism up to Hopper, and must not be 1 for Megatron-FSDP and FSDP2.',
    answer: 'It is set by the layout and the GPU; another value in engine.env is refused.',
    source: VALIDATION,
  },
  {
    what: '--async-save is dropped without --use-persistent-ckpt-worker, with a line in the log.',
    answer: 'Coxswain sets both.',
    source: VALIDATION,
  },
  {
    what: '--sequence-parallel is turned off where the tensor degree is 1.',
    answer: 'The layout is refused.',
    source: VALIDATION,
  },
  {
    what: 'From core_v0.18 on muon and lion with the distributed optimizer become a layer-wise optimizer without a message.',
    answer: 'Sharded states with them are refused.',
    source: 'NVIDIA/Megatron-LM core_v0.18.2, megatron/training/arguments.py (validate_args)',
  },
  {
    what: '--cp-comm-type takes any text, and its help offers allgather, which Transformer Engine does not know.',
    answer: 'Coxswain sets all_gather.',
    source: 'NVIDIA/TransformerEngine d0067d0da, attention/dot_product_attention/context_parallel.py',
  },
  {
    what: 'An expert grid of more ranks than a pipeline stage has is accepted, and ends when groups are made.',
    answer: 'A rule of layouts refuses it (expertGridFillsStage).',
    source: 'npm run campaign -- engine-judges',
  },
  {
    what: 'Seed 0 and a warm-up as long as the training are accepted by the parser and end the ranks.',
    answer: 'Both are refused.',
    source:
      'NVIDIA/Megatron-LM core_v0.16.1, megatron/training/initialize.py and megatron/core/optimizer_param_scheduler.py',
  },
  {
    what: 'The null tokenizer adds a token for the end of a document up to core_v0.17, and none from core_v0.18 on.',
    answer: '--vocab-size is one less where it does.',
    source:
      'NVIDIA/Megatron-LM core_v0.17.1 and core_v0.18.2, megatron/core/tokenizers/text/libraries/null_tokenizer.py',
  },
  {
    what: 'The coefficient of the auxiliary loss of experts defaults to 0, which balances nothing.',
    answer: 'Coxswain sets 0.01 if expert.balance is aux-loss; engine.args can override it.',
    source: 'NVIDIA/Megatron-LM core_v0.16.1, megatron/core/transformer/transformer_config.py',
  },
  {
    what: 'The base of rotary positions defaults to 10000, also for models that were published with another base.',
    answer:
      'Coxswain sets what config.json or the preset defines: base, scaling of Llama 3 and of DeepSeek (YaRN in latent attention), norms of queries and keys of Qwen 3, biases of Qwen 2. If it cannot, it adds a note.',
    source: 'NVIDIA/Megatron-LM core_v0.16.1, megatron/training/arguments.py',
  },
];

/** The guide of engine `megatron-lm`. */
export const MEGATRON_GUIDE: EngineGuide = { fields: FIELDS, traps: TRAPS };
