import { changesOfTitan, type TitanChange } from '../../testing/titan-changes.ts';

const DATA = { claimName: 'corpus', path: 'lines', format: 'jsonl', tokenizer: { path: 'tokenizer' } } as const;
const trained = (values: object): TitanChange => ({ training: { steps: 1000, globalBatchSize: 64, ...values } });
const layout = (values: object): TitanChange => ({ layout: values });
const data = (values: object): TitanChange => ({ data: { ...DATA, ...values } });
const args = (...words: readonly string[]): TitanChange => ({ engine: { args: [...words] } });

it.each<[string, TitanChange, readonly string[]]>([
  [
    'steps, of which a hundred are logged',
    trained({ steps: 250 }),
    [
      'settings.training.steps: 250',
      'settings.metrics.log_freq: 3',
      'without settings.training.steps: 1000',
      'without settings.metrics.log_freq: 10',
    ],
  ],
  [
    'a batch',
    trained({ globalBatchSize: 128 }),
    ['settings.training.global_batch_size: 128', 'without settings.training.global_batch_size: 64'],
  ],
  [
    'samples of one pass',
    trained({ microBatchSize: 4 }),
    ['settings.training.local_batch_size: 4', 'without settings.training.local_batch_size: 1'],
  ],
  [
    'a rate, its decay and its warm-up',
    trained({ learningRate: 0.002, weightDecay: 0, warmupSteps: 10 }),
    [
      'settings.lr_scheduler.warmup_steps: 10',
      'settings.lr_scheduler.min_lr_factor: 0.05',
      'optimizer.lr: 0.002',
      'optimizer.weight_decay: 0',
      'without settings.lr_scheduler.warmup_steps: 0',
      'without settings.lr_scheduler.min_lr_factor: 0.1',
      'without optimizer.lr: 0.001',
      'without optimizer.weight_decay: 0.1',
    ],
  ],
  [
    'a least rate, as a factor',
    trained({ learningRate: 0.001, minLearningRate: 0.00025 }),
    ['settings.lr_scheduler.min_lr_factor: 0.25', 'without settings.lr_scheduler.min_lr_factor: 0.1'],
  ],
  [
    'a cosine',
    trained({ schedule: { name: 'cosine' } }),
    ['settings.lr_scheduler.decay_type: "cosine"', 'without settings.lr_scheduler.decay_type: "linear"'],
  ],
  [
    'one rate, which never falls',
    trained({ schedule: { name: 'constant' } }),
    ['settings.lr_scheduler.decay_ratio: 0'],
  ],
  [
    'a fall over the last steps, as a ratio',
    trained({ schedule: { name: 'wsd', decaySteps: 250 } }),
    ['settings.lr_scheduler.decay_ratio: 0.25'],
  ],
  [
    'Adam and its numbers',
    trained({ optimizer: { name: 'adam', beta1: 0.8, beta2: 0.9, epsilon: 1e-6 } }),
    [
      'optimizer.name: "Adam"',
      'optimizer.beta1: 0.8',
      'optimizer.beta2: 0.9',
      'optimizer.eps: 0.000001',
      'without optimizer.name: "AdamW"',
      'without optimizer.beta1: 0.9',
      'without optimizer.beta2: 0.95',
      'without optimizer.eps: 1e-8',
    ],
  ],
  [
    'a norm above which gradients are clipped',
    trained({ optimizer: { clipNorm: 0.5 } }),
    ['settings.training.max_norm: 0.5'],
  ],
  [
    'gradients that are not clipped, by a norm above all',
    trained({ optimizer: { clipNorm: 0 } }),
    ['settings.training.max_norm: 1e+30'],
  ],
  [
    'a seed of weights and data',
    trained({ seed: 7 }),
    ['settings.debug.seed: 7', 'data.seed: 7', 'without settings.debug.seed: 1234', 'without data.seed: 1234'],
  ],
  [
    'fp32',
    trained({ precision: 'fp32' }),
    [
      'settings.training.mixed_precision_param: "float32"',
      'without settings.training.mixed_precision_param: "bfloat16"',
    ],
  ],
])('training becomes settings of TorchTitan: %s', (_sentence, change, want) => {
  expect(changesOfTitan(change)).toEqual(want);
});

it.each<[string, TitanChange, readonly string[]]>([
  [
    'tensors',
    layout({ tensorParallelDegree: 4 }),
    ['settings.parallelism.tensor_parallel_degree: 4', 'without settings.parallelism.tensor_parallel_degree: 2'],
  ],
  [
    'pieces of samples that the ranks of a tensor share',
    layout({ sequence: { sequenceParallel: true } }),
    [
      'settings.parallelism.enable_sequence_parallel: true',
      'without settings.parallelism.enable_sequence_parallel: false',
    ],
  ],
  [
    'copies of shards',
    layout({ dataParallelShardDegree: 2 }),
    [
      'settings.parallelism.data_parallel_shard_degree: 2',
      'settings.parallelism.data_parallel_replicate_degree: 2',
      'without settings.parallelism.data_parallel_shard_degree: 4',
      'without settings.parallelism.data_parallel_replicate_degree: 1',
    ],
  ],
  [
    'parameters that stay gathered',
    layout({ states: { zeroStage: 3, reshardAfterForward: false } }),
    ['settings.parallelism.fsdp_reshard_after_forward: "never"'],
  ],
  [
    'parameters that never stay gathered',
    layout({ states: { zeroStage: 3, reshardAfterForward: true } }),
    ['settings.parallelism.fsdp_reshard_after_forward: "always"'],
  ],
  [
    'context, whose ranks share states',
    layout({ contextParallelDegree: 2 }),
    [
      'settings.parallelism.context_parallel_degree: 2',
      'note: Context-parallel ranks gather keys and values for FlexAttention; nothing travels a ring.',
      'without settings.parallelism.context_parallel_degree: 1',
    ],
  ],
  [
    'context that blocks balance',
    layout({ contextParallelDegree: 2, sequence: { contextAlgorithm: 'allgather', causalBalance: 'ptrr' } }),
    [
      'settings.parallelism.context_parallel_degree: 2',
      'settings.parallelism.context_parallel_load_balancer: "ptrr"',
      'note: Context-parallel ranks gather keys and values for FlexAttention; nothing travels a ring.',
      'without settings.parallelism.context_parallel_degree: 1',
    ],
  ],
  [
    'context without balance',
    layout({ contextParallelDegree: 2, sequence: { causalBalance: 'none' } }),
    [
      'settings.parallelism.context_parallel_degree: 2',
      'settings.parallelism.context_parallel_load_balancer: null',
      'note: Context-parallel ranks gather keys and values for FlexAttention; nothing travels a ring.',
      'without settings.parallelism.context_parallel_degree: 1',
    ],
  ],
  [
    'all layers computed again',
    layout({ memory: { recompute: { mode: 'full' } } }),
    ['activation_checkpoint.mode: "full"', 'without activation_checkpoint.mode: "none"'],
  ],
  [
    'layers computed again by a budget, in a compiled model',
    layout({ memory: { recompute: { mode: 'budget', budget: 0.5 } } }),
    [
      'settings.compile.enable: true',
      'activation_checkpoint.mode: "memory-budget"',
      'activation_checkpoint.memory_budget: 0.5',
      'note: The model is compiled: what the layout asks for exists in compiled models alone.',
      'without activation_checkpoint.mode: "none"',
    ],
  ],
  [
    'states in host memory',
    layout({ memory: { offload: [{ what: 'parameters' }], hostMemoryGibPerGpu: 64 } }),
    [
      'settings.training.enable_cpu_offload: true',
      'note: Gradients and optimizer states are offloaded with the parameters.',
      '64 GiB of host memory',
      'without 0 GiB of host memory',
    ],
  ],
  [
    'fp8 products, in a compiled model',
    layout({ kernel: { precision: 'fp8' } }),
    [
      'model.precision: "fp8"',
      'settings.compile.enable: true',
      'note: The model is compiled: what the layout asks for exists in compiled models alone.',
    ],
  ],
  [
    'graphs of whole steps',
    layout({ kernel: { cudaGraphs: 'full' } }),
    ['settings.training.disable_cuda_graphs: false', 'without settings.training.disable_cuda_graphs: true'],
  ],
  ['the same numbers in each run', layout({ kernel: { deterministic: true } }), ['settings.debug.deterministic: true']],
  [
    'overlapped tensors, in a compiled model',
    layout({ communication: { overlapTensorParallel: true } }),
    [
      'settings.compile.enable: true',
      'settings.compile.enable_async_tensor_parallel: true',
      'note: The model is compiled: what the layout asks for exists in compiled models alone.',
    ],
  ],
  [
    'minutes of a collective, in seconds',
    layout({ communication: { timeoutMinutes: 2 } }),
    ['settings.comm.init_timeout_seconds: 120', 'settings.comm.train_timeout_seconds: 120'],
  ],
  [
    'saving beside training',
    layout({ checkpointPolicy: { asyncSave: true } }),
    ['settings.checkpoint.async_mode: "async"'],
  ],
])('a layout becomes settings of TorchTitan: %s', (_sentence, change, want) => {
  expect(changesOfTitan(change)).toEqual(want);
});

it.each<[string, TitanChange, readonly string[]]>([
  [
    'steps between checkpoints',
    { checkpoint: { claimName: 'kept', everySteps: 7 } },
    ['settings.checkpoint.interval: 7', 'without settings.checkpoint.interval: 20'],
  ],
  [
    'no checkpoints',
    { checkpoint: undefined },
    [
      '--dump-folder=/tmp/torchtitan',
      'without --dump-folder=$(COXSWAIN_SAVE_DIR)',
      'without settings.checkpoint.enable: true',
      'without settings.checkpoint.interval: 20',
      'without settings.checkpoint.last_save_model_only: false',
      'without settings.checkpoint.keep_latest_k: 0',
      'without resumed by --checkpoint.initial-load-path=$(COXSWAIN_RESUME_FROM) --checkpoint.no-initial-load-model-only --checkpoint.no-initial-load-in-hf',
    ],
  ],
  [
    'weights of Hugging Face to begin with',
    { initialWeights: { claimName: 'weights', path: 'llama', format: 'safetensors' } },
    [
      'settings.checkpoint.initial_load_path: "/coxswain/weights/llama"',
      'settings.checkpoint.initial_load_in_hf: true',
    ],
  ],
  [
    'weights of its own to begin with, and none to save',
    { checkpoint: undefined, initialWeights: { claimName: 'weights', path: 'llama', format: 'dcp' } },
    [
      '--dump-folder=/tmp/torchtitan',
      'settings.checkpoint.load_only: true',
      'settings.checkpoint.initial_load_path: "/coxswain/weights/llama"',
      'without --dump-folder=$(COXSWAIN_SAVE_DIR)',
      'without settings.checkpoint.interval: 20',
      'without settings.checkpoint.last_save_model_only: false',
      'without settings.checkpoint.keep_latest_k: 0',
      'without resumed by --checkpoint.initial-load-path=$(COXSWAIN_RESUME_FROM) --checkpoint.no-initial-load-model-only --checkpoint.no-initial-load-in-hf',
    ],
  ],
  [
    'random tokens',
    { data: { format: 'mock' } },
    [
      'data.format: "mock"',
      'without settings.hf_assets_path: "/coxswain/data/tokenizer"',
      'without data.format: "jsonl"',
      'without data.sources: [{"path":"/coxswain/data/lines","weight":1}]',
    ],
  ],
  ['plain texts', data({ format: 'text' }), ['data.format: "text"', 'without data.format: "jsonl"']],
  [
    'several sources by their weights',
    data({ path: undefined, paths: [{ path: 'a', weight: 0.25 }, { path: 'b' }] }),
    [
      'data.sources: [{"path":"/coxswain/data/a","weight":0.25},{"path":"/coxswain/data/b","weight":1}]',
      'without data.sources: [{"path":"/coxswain/data/lines","weight":1}]',
    ],
  ],
  [
    'a program of the user',
    { engine: { command: ['python3', '-m', 'mine'] } },
    [
      'python3 -m mine',
      'note: The module stands in the directory that COXSWAIN_ENGINE_FILES names; the program has to have it on its path.',
      'without python3 $(COXSWAIN_ENGINE_FILES)/coxswain_torchtitan.py',
    ],
  ],
  [
    'arguments that the job leaves open',
    args('--metrics.enable-wandb', '--profiler.profile-freq', '5'),
    ['--metrics.enable-wandb', '--profiler.profile-freq 5'],
  ],
])('checkpoints and data become settings of TorchTitan: %s', (_sentence, change, want) => {
  expect(changesOfTitan(change)).toEqual(want);
});
