import type { ParallelLayout } from '@coxswain/layout';
import { all, beside, type Change, changesOf, degrees, over, setting } from './testing/index.ts';
const unsaved = beside({ checkpoint: undefined });
const states = (values: NonNullable<ParallelLayout['states']>): Change => over('states', values);
const sharded = states({ zeroStage: 1, implementation: 'distributed-optimizer' });

it.each<[string, Change, readonly string[]]>([
  ['stage 1, which its distributed optimizer is', states({ zeroStage: 1 }), ['--use-distributed-optimizer']],
  [
    'stage 2, which Megatron-FSDP alone has',
    all(unsaved, states({ zeroStage: 2 })),
    [
      '--use-megatron-fsdp',
      '--use-distributed-optimizer',
      '--data-parallel-sharding-strategy optim_grads',
      '--no-gradient-accumulation-fusion',
      '--ckpt-format fsdp_dtensor',
      'CUDA_DEVICE_MAX_CONNECTIONS=8',
      'without --save $(COXSWAIN_SAVE_DIR)',
      'without --save-interval 20',
      'without --exit-signal-handler',
      'without --ckpt-format torch_dist',
      'without resumed by --load $(COXSWAIN_RESUME_ROOT) --ckpt-step $(COXSWAIN_RESUME_STEP)',
    ],
  ],
  [
    'stage 3 of Megatron-FSDP',
    all(unsaved, states({ zeroStage: 3, implementation: 'megatron-fsdp' })),
    [
      '--use-megatron-fsdp',
      '--use-distributed-optimizer',
      '--data-parallel-sharding-strategy optim_grads_params',
      '--no-gradient-accumulation-fusion',
      '--ckpt-format fsdp_dtensor',
      'CUDA_DEVICE_MAX_CONNECTIONS=8',
      'without --save $(COXSWAIN_SAVE_DIR)',
      'without --save-interval 20',
      'without --exit-signal-handler',
      'without --ckpt-format torch_dist',
      'without resumed by --load $(COXSWAIN_RESUME_ROOT) --ckpt-step $(COXSWAIN_RESUME_STEP)',
    ],
  ],
  [
    'FSDP2, whose parameters stay gathered at stage 2',
    states({ zeroStage: 2, implementation: 'fsdp2' }),
    [
      '--use-torch-fsdp2',
      '--no-gradient-accumulation-fusion',
      '--torch-fsdp2-no-reshard-after-forward',
      'CUDA_DEVICE_MAX_CONNECTIONS=8',
    ],
  ],
  [
    'copies of shards by the ranks that share one',
    all(sharded, degrees({ dataParallelDegree: 8, dataParallelShardDegree: 2 })),
    ['--use-distributed-optimizer', '--num-distributed-optimizer-instances 4'],
  ],
  [
    'copies of shards by their number',
    all(states({ zeroStage: 1, optimizerInstances: 4 }), degrees({ dataParallelDegree: 8 })),
    ['--use-distributed-optimizer', '--num-distributed-optimizer-instances 4'],
  ],
  [
    'both, where they agree',
    all(
      states({ zeroStage: 1, optimizerInstances: 4 }),
      degrees({ dataParallelDegree: 8, dataParallelShardDegree: 2 }),
    ),
    ['--use-distributed-optimizer', '--num-distributed-optimizer-instances 4'],
  ],
  [
    'moments in half of the memory',
    all(sharded, states({ optimizerPrecision: 'bf16' })),
    [
      '--use-distributed-optimizer',
      '--use-precision-aware-optimizer',
      '--exp-avg-dtype bf16',
      '--exp-avg-sq-dtype bf16',
    ],
  ],
  [
    'moments in 8 bits',
    all(sharded, states({ precisionAwareOptimizer: true, optimizerPrecision: 'fp8' })),
    ['--use-distributed-optimizer', '--use-precision-aware-optimizer', '--exp-avg-dtype fp8', '--exp-avg-sq-dtype fp8'],
  ],
  [
    'an optimizer that knows precisions and keeps fp32',
    all(sharded, states({ precisionAwareOptimizer: true })),
    ['--use-distributed-optimizer', '--use-precision-aware-optimizer'],
  ],
])('states become options of Megatron-LM: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});

it.each<[string, Change, readonly string[]]>([
  [
    'those of DeepSpeed',
    states({ zeroStage: 1, implementation: 'deepspeed' }),
    [
      'states-of-this-engine',
      'layout.states.implementation',
      'states.implementation deepspeed is that of another engine',
      'use distributed-optimizer or megatron-fsdp, or engine deepspeed',
    ],
  ],
  [
    'FSDP2 in fp16',
    all(states({ zeroStage: 3, implementation: 'fsdp2' }), over('kernel', { precision: 'fp16' })),
    ['fsdp2-is-not-fp16', 'layout.states.implementation', 'Megatron-LM has fsdp2 not in fp16', 'use bf16'],
  ],
  [
    'FSDP2 of tied embeddings',
    all(states({ zeroStage: 3, implementation: 'fsdp2' }), setting('model', { tiedEmbeddings: true })),
    [
      'fsdp2-is-untied',
      'layout.states.implementation',
      'Megatron-LM has fsdp2 only for models whose embeddings are not tied',
      'use distributed-optimizer, or set model.tiedEmbeddings to false',
    ],
  ],
  [
    'two numbers of copies',
    all(
      states({ zeroStage: 1, optimizerInstances: 2 }),
      degrees({ dataParallelDegree: 8, dataParallelShardDegree: 2 }),
    ),
    [
      'one-number-of-instances',
      'layout.states.optimizerInstances',
      'dataParallelShardDegree 2 of 8 ranks makes 4 copies of optimizer states, and states.optimizerInstances is 2',
      'leave one of the two out',
    ],
  ],
  [
    'copies of shards without shards',
    all(states({ optimizerInstances: 2 }), degrees({ dataParallelDegree: 4 })),
    [
      'instances-need-sharded-states',
      'layout.states.optimizerInstances',
      'ddp has no copies of sharded states',
      'set states.implementation to distributed-optimizer or megatron-fsdp',
    ],
  ],
  [
    'narrow moments without shards',
    states({ optimizerPrecision: 'bf16' }),
    [
      'precision-aware-needs-distributed-optimizer',
      'layout.states.optimizerPrecision',
      'the precision-aware optimizer goes with the distributed optimizer, not with ddp',
      'set states.zeroStage to 1 and states.implementation to distributed-optimizer',
    ],
  ],
  [
    'narrow moments of another optimizer',
    all(sharded, states({ optimizerPrecision: 'bf16', optimizer: 'sgd' })),
    [
      'precision-aware-needs-adam',
      'layout.states.optimizerPrecision',
      'the precision-aware optimizer is Adam, not sgd',
      'set states.optimizer to adamw',
    ],
  ],
  [
    'narrow moments of an optimizer that may not know them',
    all(sharded, states({ optimizerPrecision: 'bf16', precisionAwareOptimizer: false })),
    [
      'moments-need-precision-aware',
      'layout.states.optimizerPrecision',
      'moments in bf16 need precisionAwareOptimizer, which is false',
      'set states.precisionAwareOptimizer to true',
    ],
  ],
  [
    'shards of Muon',
    all(sharded, states({ optimizer: 'muon' })),
    [
      'emerging-optimizer-is-plain',
      'layout.states.implementation',
      'muon of Megatron-LM goes with neither sharded states nor overlapped gradients',
      'leave both out, or use adamw',
    ],
  ],
  [
    'overlapped gradients of Lion',
    all(states({ optimizer: 'lion' }), over('communication', { overlapGradReduce: true })),
    [
      'emerging-optimizer-is-plain',
      'layout.communication.overlapGradReduce',
      'lion of Megatron-LM goes with neither sharded states nor overlapped gradients',
      'leave both out, or use adamw',
    ],
  ],
])('states that Megatron-LM lacks are refused: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});
