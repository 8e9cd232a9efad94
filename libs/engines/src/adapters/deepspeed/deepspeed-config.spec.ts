import { changesOfScript, type ScriptChange } from '../../testing/script-changes.ts';

const TRAINING = { steps: 1000, globalBatchSize: 64, microBatchSize: 2 };
const trained = (values: object): ScriptChange => ({ training: { ...TRAINING, ...values } });
const states = (values: object, more: object = {}): ScriptChange => ({ layout: { states: values, ...more } });
type Memory = NonNullable<NonNullable<ScriptChange['layout']>['memory']>;
type Offload = NonNullable<Memory['offload']>[number];
const offload = (rule: Offload, zeroStage = 3): ScriptChange => ({
  layout: { states: { zeroStage }, memory: { offload: [rule], hostMemoryGibPerGpu: 64 } },
});

it.each<[string, ScriptChange, readonly string[]]>([
  [
    'a batch, by passes of one rank',
    trained({ globalBatchSize: 128 }),
    [
      'train_batch_size: 128',
      'gradient_accumulation_steps: 8',
      'without train_batch_size: 64',
      'without gradient_accumulation_steps: 4',
    ],
  ],
  [
    'samples of one pass',
    trained({ microBatchSize: 4 }),
    [
      'train_micro_batch_size_per_gpu: 4',
      'gradient_accumulation_steps: 2',
      'without train_micro_batch_size_per_gpu: 2',
      'without gradient_accumulation_steps: 4',
    ],
  ],
  [
    'steps, of which a hundred are printed',
    trained({ steps: 300 }),
    ['steps_per_print: 3', 'without steps_per_print: 10'],
  ],
  [
    'few steps, each of which is printed',
    trained({ steps: 99 }),
    ['steps_per_print: 1', 'without steps_per_print: 10'],
  ],
  [
    'a rate and its decay',
    trained({ learningRate: 0.002, weightDecay: 0 }),
    [
      'optimizer.params.lr: 0.002',
      'optimizer.params.weight_decay: 0',
      'without optimizer.params.lr: 0.001',
      'without optimizer.params.weight_decay: 0.1',
    ],
  ],
  [
    'numbers of the optimizer',
    trained({ optimizer: { beta1: 0.8, beta2: 0.9, epsilon: 1e-6 } }),
    ['optimizer.params.betas: [0.8,0.9]', 'optimizer.params.eps: 0.000001'],
  ],
  ['a norm above which gradients are clipped', trained({ optimizer: { clipNorm: 0.5 } }), ['gradient_clipping: 0.5']],
  [
    'another optimizer',
    trained({ optimizer: { name: 'lamb' } }),
    ['optimizer.type: "Lamb"', 'without optimizer.type: "AdamW"'],
  ],
  [
    'the optimizer of the layout',
    states({ optimizer: 'lion' }),
    ['optimizer.type: "Lion"', 'without optimizer.type: "AdamW"'],
  ],
  [
    'momentum of Muon',
    trained({ optimizer: { name: 'muon', momentum: 0.95 } }),
    ['optimizer.type: "Muon"', 'optimizer.params.momentum: 0.95', 'without optimizer.type: "AdamW"'],
  ],
  [
    'a cosine, whose least rate is a ratio',
    trained({ schedule: { name: 'cosine' }, learningRate: 0.001, minLearningRate: 0.00025, warmupSteps: 50 }),
    [
      'scheduler.type: "WarmupCosineLR"',
      'scheduler.params.total_num_steps: 1000',
      'scheduler.params.cos_min_ratio: 0.25',
      'scheduler.params.warmup_num_steps: 50',
      'scheduler.params.warmup_type: "linear"',
      'without note: training.schedule is absent: the script makes its own schedule, with warm-up and minimum rate from job.json.',
    ],
  ],
  [
    'one rate, after a warm-up of one step at least',
    trained({ schedule: { name: 'constant' } }),
    [
      'scheduler.type: "WarmupLR"',
      'scheduler.params.warmup_min_lr: 0',
      'scheduler.params.warmup_max_lr: 0.001',
      'scheduler.params.warmup_num_steps: 1',
      'scheduler.params.warmup_type: "linear"',
      'note: DeepSpeed warms up for two steps at least.',
      'without note: training.schedule is absent: the script makes its own schedule, with warm-up and minimum rate from job.json.',
    ],
  ],
  [
    'a line, which falls to zero',
    trained({ schedule: { name: 'linear' }, warmupSteps: 10 }),
    [
      'scheduler.type: "WarmupDecayLR"',
      'scheduler.params.total_num_steps: 1000',
      'scheduler.params.warmup_min_lr: 0',
      'scheduler.params.warmup_max_lr: 0.001',
      'scheduler.params.warmup_num_steps: 10',
      'scheduler.params.warmup_type: "linear"',
      'note: WarmupDecayLR falls to 0 and ignores training.minLearningRate.',
      'without note: training.schedule is absent: the script makes its own schedule, with warm-up and minimum rate from job.json.',
    ],
  ],
  ['fp32, which no field names', trained({ precision: 'fp32' }), ['without bf16.enabled: true']],
  [
    'fp16 products',
    { layout: { kernel: { precision: 'fp16' } } },
    ['fp16.enabled: true', 'without bf16.enabled: true'],
  ],
])("training becomes fields of DeepSpeed's file: %s", (_sentence, change, want) => {
  expect(changesOfScript('deepspeed', change)).toEqual(want);
});

it.each<[string, ScriptChange, readonly string[]]>([
  ['stage 1', states({ zeroStage: 1 }), ['zero_optimization.stage: 1', 'without zero_optimization.stage: 0']],
  [
    'gradients beside the backward pass',
    { layout: { communication: { overlapGradReduce: true } } },
    ['zero_optimization.overlap_comm: true', 'without zero_optimization.overlap_comm: false'],
  ],
  [
    'gathered parameters, where gradients say nothing',
    { layout: { states: { zeroStage: 3 }, communication: { overlapParamGather: false } } },
    ['zero_optimization.stage: 3', 'without zero_optimization.stage: 0'],
  ],
  [
    'a second copy of weights in small groups',
    states({ zeroStage: 3, secondaryShardDegree: 4 }),
    [
      'zero_optimization.stage: 3',
      'zero_optimization.overlap_comm: true',
      'zero_optimization.zero_hpz_partition_size: 4',
      'without zero_optimization.stage: 0',
      'without zero_optimization.overlap_comm: false',
    ],
  ],
  [
    'tensors, beside which no batch is checked',
    { layout: { tensorParallelDegree: 2 } },
    ['tensor_parallel.autotp_size: 2', 'without train_batch_size: 64'],
  ],
  [
    'a pipeline',
    { layout: { pipelineParallelDegree: 2 } },
    [
      'pipeline.stages: 2',
      'note: The script makes a PipelineModule with as many stages as pipeline.stages of the rendered file.',
    ],
  ],
  [
    'Ulysses',
    { layout: { contextParallelDegree: 2, sequence: { contextAlgorithm: 'ulysses' } } },
    [
      'sequence_parallel_size: 2',
      'note: The script registers Ulysses (UlyssesSPAttentionHF) with sequence_parallel_size.',
    ],
  ],
  [
    'experts that it finds itself',
    { layout: { expert: { expertParallelDegree: 4 } } },
    [
      'expert_parallel.enabled: true',
      'expert_parallel.autoep_size: 4',
      'expert_parallel.expert_tensor_parallel_size: 1',
      'note: DeepSpeed finds the experts of a Hugging Face model itself (AutoEP).',
      'note: The script reads layout.expert.expertParallelDegree from job.json, or does not do it.',
    ],
  ],
  [
    'experts of the script, for their capacity',
    { layout: { expert: { expertParallelDegree: 4, capacityFactor: 1.5 } } },
    [
      'note: The script makes its MoE layers (deepspeed.moe.layer.MoE) from layout.expert in job.json.',
      'note: The script reads layout.expert.expertParallelDegree, layout.expert.capacityFactor from job.json, or does not do it.',
    ],
  ],
  [
    'experts of the script, for the order in which tokens leave',
    { layout: { expert: { expertParallelDegree: 4, capacityFactor: 1, tokenDropOrder: 'random' } } },
    [
      'note: The script makes its MoE layers (deepspeed.moe.layer.MoE) from layout.expert in job.json.',
      'note: The script reads layout.expert.expertParallelDegree, layout.expert.tokenDropOrder from job.json, or does not do it.',
    ],
  ],
  [
    'layers that are computed again',
    { layout: { memory: { recompute: { mode: 'full' } } } },
    [
      'activation_checkpointing.partition_activations: false',
      'activation_checkpointing.cpu_checkpointing: false',
      'note: Recomputation is configured; the script calls deepspeed.checkpointing around its layers.',
      'note: The script reads layout.memory.recompute.mode from job.json, or does not do it.',
    ],
  ],
  [
    'activations that wait in host memory',
    {
      layout: {
        memory: { offload: [{ what: 'activations' }], recompute: { mode: 'full' }, hostMemoryGibPerGpu: 16 },
      },
    },
    [
      'activation_checkpointing.partition_activations: false',
      'activation_checkpointing.cpu_checkpointing: true',
      'note: Recomputation is configured; the script calls deepspeed.checkpointing around its layers.',
      'note: The script reads layout.memory.recompute.mode from job.json, or does not do it.',
      '16 GiB of host memory',
      'without 0 GiB of host memory',
    ],
  ],
  [
    'states of the optimizer in host memory',
    offload({ what: 'optimizer' }, 1),
    [
      'zero_optimization.stage: 1',
      'zero_optimization.offload_optimizer.device: "cpu"',
      'zero_optimization.offload_optimizer.pin_memory: true',
      '64 GiB of host memory',
      'without zero_optimization.stage: 0',
      'without 0 GiB of host memory',
    ],
  ],
  [
    'a part of them',
    offload({ what: 'optimizer', fraction: 0.5, subgroupElements: 1000 }),
    [
      'zero_optimization.stage: 3',
      'zero_optimization.overlap_comm: true',
      'zero_optimization.sub_group_size: 1000',
      'zero_optimization.offload_optimizer.device: "cpu"',
      'zero_optimization.offload_optimizer.ratio: 0.5',
      'zero_optimization.offload_optimizer.pin_memory: true',
      '64 GiB of host memory',
      'without zero_optimization.stage: 0',
      'without zero_optimization.overlap_comm: false',
      'without 0 GiB of host memory',
    ],
  ],
  [
    'states of the optimizer on a disk, read and written beside computation',
    { ...offload({ what: 'optimizer', to: 'nvme', overlap: true }), scratch: { sizeLimit: '10Gi' } },
    [
      'zero_optimization.stage: 3',
      'zero_optimization.overlap_comm: true',
      'zero_optimization.offload_optimizer.device: "nvme"',
      'zero_optimization.offload_optimizer.pin_memory: true',
      'zero_optimization.offload_optimizer.pipeline_read: true',
      'zero_optimization.offload_optimizer.pipeline_write: true',
      'zero_optimization.offload_optimizer.nvme_path: "/coxswain/scratch"',
      '64 GiB of host memory',
      'without zero_optimization.stage: 0',
      'without zero_optimization.overlap_comm: false',
      'without 0 GiB of host memory',
    ],
  ],
  [
    'parameters in host memory',
    offload({ what: 'parameters' }),
    [
      'zero_optimization.stage: 3',
      'zero_optimization.overlap_comm: true',
      'zero_optimization.offload_param.device: "cpu"',
      'zero_optimization.offload_param.pin_memory: true',
      '64 GiB of host memory',
      'without zero_optimization.stage: 0',
      'without zero_optimization.overlap_comm: false',
      'without 0 GiB of host memory',
    ],
  ],
  [
    'parameters on a disk',
    { ...offload({ what: 'parameters', to: 'nvme' }), scratch: { sizeLimit: '10Gi' } },
    [
      'zero_optimization.stage: 3',
      'zero_optimization.overlap_comm: true',
      'zero_optimization.offload_param.device: "nvme"',
      'zero_optimization.offload_param.pin_memory: true',
      'zero_optimization.offload_param.nvme_path: "/coxswain/scratch"',
      '64 GiB of host memory',
      'without zero_optimization.stage: 0',
      'without zero_optimization.overlap_comm: false',
      'without 0 GiB of host memory',
    ],
  ],
  [
    'a universal checkpoint',
    { layout: { checkpointPolicy: { format: 'deepspeed-universal' } } },
    [
      'checkpoint.load_universal: true',
      'note: checkpoint.load_universal is set: what is resumed from has to be converted by ds_to_universal before.',
    ],
  ],
  [
    'minutes of a collective, in a variable',
    { layout: { communication: { timeoutMinutes: 45 } } },
    ['DEEPSPEED_TIMEOUT=45'],
  ],
])("a layout becomes fields of DeepSpeed's file: %s", (_sentence, change, want) => {
  expect(changesOfScript('deepspeed', change)).toEqual(want);
});

it.each<[string, ScriptChange, readonly string[]]>([
  [
    'has arguments of its own behind the rendered ones',
    { engine: { args: ['--data', '{data.path}', '--layers', '{model.layers}'] } },
    ['--data /coxswain/data/lines', '--layers 32'],
  ],
  ['has variables', { engine: { env: [{ name: 'A', value: 'b' }] } }, ['A=b']],
  [
    'has no place to save into',
    { checkpoint: undefined },
    [
      'without note: The script saves into COXSWAIN_SAVE_DIR, and loads from COXSWAIN_RESUME_ROOT the tag that COXSWAIN_RESUME_FROM ends with.',
    ],
  ],
  [
    'is started by torchrun',
    { engine: { startedBy: 'torchrun' } },
    [
      'torchrun',
      '--nnodes=$(GROUP_WORLD_SIZE)',
      '--nproc-per-node=$(LOCAL_WORLD_SIZE)',
      '--node-rank=$(GROUP_RANK)',
      '--master-addr=$(MASTER_ADDR)',
      '--master-port=$(MASTER_PORT)',
      '--max-restarts=0',
      '--no-python python3 train.py',
      'started by torchrun',
      'without python3 train.py',
      'without started by launcher',
    ],
  ],
  [
    'is told what has no effect',
    { layout: { sequence: { sequenceParallel: true } } },
    [
      'note: The script reads layout.sequence.sequenceParallel from job.json, or does not do it.',
      'note: layout.sequence.sequenceParallel has no effect: layout.tensorParallelDegree is 1.',
    ],
  ],
])('the script that DeepSpeed runs: %s', (_sentence, change, want) => {
  expect(changesOfScript('deepspeed', change)).toEqual(want);
});
