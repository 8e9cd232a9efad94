import type { EngineGuide, EngineTrap, EngineWord } from '../engine-guide.ts';

/** Where each word goes; of several flags the first is the word, and the others are what it needs. */
const WORDS: readonly EngineWord[] = [
  {
    word: 'engine.command',
    to: 'the program',
    note: 'absent: pretrain_gpt.py, or that of hybrids where model.layerPattern is given',
  },
  {
    word: 'engine.args',
    to: 'behind what is rendered',
    note: 'read by the options of the release; what contradicts the job is refused',
  },
  { word: 'model.layers', to: '--num-layers' },
  { word: 'model.hiddenSize', to: '--hidden-size' },
  { word: 'model.ffnHiddenSize', to: '--ffn-hidden-size' },
  { word: 'model.attentionHeads', to: '--num-attention-heads' },
  { word: 'model.keyValueHeads', to: '--group-query-attention, --num-query-groups' },
  { word: 'model.headDim', to: '--kv-channels' },
  {
    word: 'model.vocabularySize',
    to: '--vocab-size',
    note: 'where data.tokenizer is absent; a tokenizer knows its own',
  },
  { word: 'model.gatedMlp', to: '--swiglu' },
  { word: 'model.rmsNorm', to: '--normalization' },
  { word: 'model.linearBias', to: '--disable-bias-linear' },
  { word: 'model.dropout', to: '--attention-dropout, --hidden-dropout' },
  { word: 'model.tiedEmbeddings', to: '--untie-embeddings-and-output-weights' },
  { word: 'model.learnedPositions', to: '--position-embedding-type, --max-position-embeddings' },
  { word: 'model.attentionWindow', to: '--window-size' },
  { word: 'model.windowedLayers', to: '--window-attn-skip-freq' },
  { word: 'model.attentionSinks', to: '--softmax-type' },
  { word: 'model.mtpLayers', to: '--mtp-num-layers' },
  {
    word: 'model.experts',
    to: '--num-experts, --moe-router-topk, --moe-ffn-hidden-size, --moe-shared-expert-intermediate-size, --moe-layer-freq, --moe-latent-size',
  },
  {
    word: 'model.latentAttention',
    to: '--multi-latent-attention, --q-lora-rank, --kv-lora-rank, --qk-head-dim, --qk-pos-emb-head-dim, --v-head-dim',
  },
  { word: 'model.stateSpace', to: '--mamba-state-dim, --mamba-num-heads, --mamba-head-dim, --mamba-num-groups' },
  { word: 'model.layerPattern', to: '--hybrid-layer-pattern', note: '--hybrid-override-pattern before core_v0.17' },
  { word: 'model.sequenceLength', to: '--seq-length' },
  { word: 'training.steps', to: '--train-iters, --lr-decay-iters' },
  { word: 'training.tokens', to: '--train-iters', note: 'as many steps as see them' },
  { word: 'training.globalBatchSize', to: '--global-batch-size' },
  { word: 'training.microBatchSize', to: '--micro-batch-size' },
  { word: 'training.optimizer.name', to: '--optimizer', note: 'adamw is its adam' },
  { word: 'training.optimizer.beta1', to: '--adam-beta1' },
  { word: 'training.optimizer.beta2', to: '--adam-beta2' },
  { word: 'training.optimizer.epsilon', to: '--adam-eps' },
  { word: 'training.optimizer.momentum', to: '--sgd-momentum', note: '--muon-momentum of muon' },
  { word: 'training.optimizer.clipNorm', to: '--clip-grad' },
  { word: 'training.schedule.name', to: '--lr-decay-style' },
  { word: 'training.schedule.decaySteps', to: '--lr-wsd-decay-iters' },
  { word: 'training.learningRate', to: '--lr' },
  { word: 'training.minLearningRate', to: '--min-lr' },
  { word: 'training.warmupSteps', to: '--lr-warmup-iters' },
  { word: 'training.weightDecay', to: '--weight-decay' },
  { word: 'training.seed', to: '--seed', note: '1 or more' },
  { word: 'training.precision', to: '--bf16' },
  { word: 'data.path', to: '--data-path', note: 'prefix of .bin and .idx' },
  { word: 'data.paths', to: '--data-path', note: 'each behind its weight' },
  { word: 'data.format', to: '--mock-data', note: 'mock and indexed; others are refused' },
  { word: 'data.split', to: '--split' },
  { word: 'data.tokenizer', to: '--tokenizer-type, --tokenizer-model', note: 'of Hugging Face' },
  { word: 'checkpoint', to: '--save, --save-interval' },
  { word: 'resumeFrom', to: '--load, --ckpt-step', note: 'told by the launcher where there is a checkpoint' },
  {
    word: 'initialWeights',
    to: '--pretrained-checkpoint',
    note: 'torch_dist alone; without optimizer states and step',
  },
  { word: 'layout.tensorParallelDegree', to: '--tensor-model-parallel-size' },
  { word: 'layout.pipelineParallelDegree', to: '--pipeline-model-parallel-size' },
  { word: 'layout.dataParallelDegree', to: 'WORLD_SIZE', note: 'what the other degrees leave of it' },
  { word: 'layout.contextParallelDegree', to: '--context-parallel-size' },
  {
    word: 'layout.dataParallelShardDegree',
    to: '--num-distributed-optimizer-instances',
    note: 'as the number of copies',
  },
  {
    word: 'layout.weightShardDegree',
    to: '--tensor-parallel-num-weight-shards',
    note: 'times tensorParallelDegree; core_v0.19',
  },
  { word: 'layout.rankOrder', to: '--use-tp-pp-dp-mapping' },
  { word: 'layout.expert.expertParallelDegree', to: '--expert-model-parallel-size' },
  { word: 'layout.expert.expertTensorParallelDegree', to: '--expert-tensor-parallel-size' },
  {
    word: 'layout.expert.dispatcher',
    to: '--moe-token-dispatcher-type, --moe-flex-dispatcher-backend',
    note: '--moe-enable-deepep in core_v0.15',
  },
  { word: 'layout.expert.capacityFactor', to: '--moe-expert-capacity-factor' },
  { word: 'layout.expert.tokenDropOrder', to: '--moe-token-drop-policy' },
  { word: 'layout.expert.balance', to: '--moe-router-load-balancing-type, --moe-router-enable-expert-bias' },
  { word: 'layout.pipeline.chunksPerRank', to: '--num-virtual-stages-per-pipeline-rank' },
  { word: 'layout.pipeline.microBatchGroupSize', to: '--microbatch-group-size-per-virtual-pipeline-stage' },
  { word: 'layout.pipeline.stages', to: '--pipeline-model-parallel-layout' },
  {
    word: 'layout.pipeline.vocabulary',
    to: '--account-for-embedding-in-pipeline-split, --account-for-loss-in-pipeline-split',
  },
  { word: 'layout.sequence.sequenceParallel', to: '--sequence-parallel' },
  { word: 'layout.sequence.contextAlgorithm', to: '--cp-comm-type', note: 'p2p, all_gather, a2a, a2a+p2p' },
  { word: 'layout.sequence.ulyssesDegree', to: '--hierarchical-context-parallel-sizes' },
  {
    word: 'layout.sequence.dynamic',
    to: '--hybrid-context-parallel, --max-seqlen-per-dp-cp-rank, --calculate-per-token-loss',
    note: 'from core_v0.16',
  },
  { word: 'layout.states.implementation', to: '--use-distributed-optimizer, --use-megatron-fsdp, --use-torch-fsdp2' },
  { word: 'layout.states.zeroStage', to: '--data-parallel-sharding-strategy', note: 'of Megatron-FSDP' },
  { word: 'layout.states.optimizer', to: '--optimizer' },
  { word: 'layout.states.precisionAwareOptimizer', to: '--use-precision-aware-optimizer' },
  { word: 'layout.states.optimizerPrecision', to: '--exp-avg-dtype, --exp-avg-sq-dtype' },
  {
    word: 'layout.memory.recompute',
    to: '--recompute-granularity, --recompute-modules, --recompute-method, --recompute-num-layers',
  },
  {
    word: 'layout.memory.offload',
    to: '--optimizer-cpu-offload, --optimizer-offload-fraction, --fine-grained-activation-offloading, --offload-modules',
  },
  { word: 'layout.communication.overlapGradReduce', to: '--overlap-grad-reduce' },
  { word: 'layout.communication.overlapParamGather', to: '--overlap-param-gather' },
  { word: 'layout.communication.overlapTensorParallel', to: '--tp-comm-overlap' },
  { word: 'layout.communication.overlapExpertParallel', to: '--overlap-moe-expert-parallel-comm' },
  { word: 'layout.communication.overlapPipelineTransfers', to: '--no-overlap-p2p-communication' },
  { word: 'layout.communication.deferEmbeddingGradient', to: '--defer-embedding-wgrad-compute' },
  { word: 'layout.communication.switchReduction', to: '--use-sharp' },
  { word: 'layout.communication.timeoutMinutes', to: '--distributed-timeout-minutes' },
  {
    word: 'layout.communication.groupNetwork',
    to: '--nccl-communicator-config-path',
    note: 'a file of net_name for each kind of group',
  },
  { word: 'layout.kernel.attention', to: '--attention-backend' },
  { word: 'layout.kernel.softmax', to: '--softmax-type' },
  { word: 'layout.kernel.precision', to: '--bf16, --fp16, --fp8-format, --fp8-recipe, --fp4-format' },
  {
    word: 'layout.kernel.cudaGraphs',
    to: '--cuda-graph-impl, --cuda-graph-modules, --cuda-graph-scope, --moe-paged-stash, --moe-expert-rank-capacity-factor',
    note: 'full beside experts: from core_v0.18, in mxfp8, by HybridEP',
  },
  { word: 'layout.kernel.deterministic', to: '--deterministic-mode, NCCL_ALGO' },
  { word: 'layout.checkpointPolicy.format', to: '--ckpt-format' },
  { word: 'layout.checkpointPolicy.optimizerReshard', to: '--dist-ckpt-optim-fully-reshardable' },
  { word: 'layout.checkpointPolicy.asyncSave', to: '--async-save, --use-persistent-ckpt-worker' },
  { word: 'layout.checkpointPolicy.localEverySteps', to: '--non-persistent-save-interval, --non-persistent-ckpt-type' },
];

const VALIDATION = 'NVIDIA/Megatron-LM core_v0.15.3 to core_v0.19.0, megatron/training/arguments.py (validate_args)';

const TRAPS: readonly EngineTrap[] = [
  {
    what: 'Graphs of parts of a layer hold the whole layer unless its parts are named, and end at the exchange of experts.',
    answer: 'Beside experts they are told attention, router and what comes before the exchange.',
    source:
      'NVIDIA/Megatron-LM core_v0.16.1 to core_v0.19.0, megatron/core/transformer/cuda_graphs.py (_layer_is_graphable)',
  },
  {
    what: 'A graph of a whole step asks nobody how many tokens came to an expert. It needs room that is fixed (HybridEP, --moe-expert-rank-capacity-factor), pages for what is kept, and products that read the counts on the GPU, which are those of mxfp8 on Blackwell.',
    answer:
      'All of it is told from core_v0.18 on, and what does not go with it is refused. Products are fused, as fast as published, only where nothing is saved: their weights lie interleaved, also in checkpoints.',
    source:
      'NVIDIA/Megatron-LM core_v0.18.2, megatron/core/transformer/transformer_config.py, moe/experts.py, moe/token_dispatcher.py; NVIDIA/TransformerEngine v2.14 to v2.16, transformer_engine/pytorch/ops (fuse_grouped_mlp_ops, _is_graph_safe_path_supported)',
  },
  {
    what: 'Scaling of fp8 is delayed unless told, with which layernorm and moe_act are not computed again.',
    answer: 'fp8 is told --fp8-recipe tensorwise: each tensor is scaled by what it holds now.',
    source: 'NVIDIA/Megatron-LM core_v0.15.3 to core_v0.19.0, megatron/core/transformer/transformer_config.py',
  },
  {
    what: 'CUDA_DEVICE_MAX_CONNECTIONS must be 1 for tensor or context parallelism up to Hopper, and must not be 1 for Megatron-FSDP and FSDP2.',
    answer: 'It is set by the layout and the GPU; another value in engine.env is refused.',
    source: VALIDATION,
  },
  {
    what: '--async-save is dropped without --use-persistent-ckpt-worker, with a line in the log.',
    answer: 'Both are told.',
    source: VALIDATION,
  },
  {
    what: '--sequence-parallel is turned off where the tensor degree is 1.',
    answer: 'The layout is refused.',
    source: VALIDATION,
  },
  {
    what: 'From core_v0.18 on muon and lion with the distributed optimizer become a layer-wise one without a word.',
    answer: 'Sharded states with them are refused.',
    source: 'NVIDIA/Megatron-LM core_v0.18.2, megatron/training/arguments.py (validate_args)',
  },
  {
    what: '--cp-comm-type takes any text, and its help offers allgather, which Transformer Engine does not know.',
    answer: 'It is told all_gather.',
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
    what: 'The auxiliary loss of experts has the coefficient 0 unless told, with which it balances nothing.',
    answer: 'It is 0.01 where expert.balance is aux-loss; engine.args may say otherwise.',
    source: 'NVIDIA/Megatron-LM core_v0.16.1, megatron/core/transformer/transformer_config.py',
  },
  {
    what: 'The base of rotary positions is 10000 unless told, also for models that were published with another.',
    answer:
      'What a config.json or the preset is known by is told: base, the scaling of Llama 3, that of DeepSeek (YaRN in latent attention), norms of queries and keys of Qwen 3, biases of Qwen 2; else a note says so.',
    source: 'NVIDIA/Megatron-LM core_v0.16.1, megatron/training/arguments.py',
  },
];

export const MEGATRON_GUIDE: EngineGuide = { words: WORDS, traps: TRAPS };
