import { all, beside, type Change, changesOf, degrees, over } from './testing/index.ts';
const sharded = over('states', { zeroStage: 1, implementation: 'distributed-optimizer' });
const megatronFsdp = over('states', { zeroStage: 3, implementation: 'megatron-fsdp' });
const unsaved = beside({ checkpoint: undefined });
const scratch = beside({ scratch: { sizeLimit: '10Gi' } });

it.each<[string, Change, readonly string[]]>([
  [
    'steps between them',
    beside({ checkpoint: { claimName: 'kept', everySteps: 7 } }),
    ['--save-interval 7', 'without --save-interval 20'],
  ],
  [
    'none, so that nothing is saved or loaded',
    unsaved,
    [
      'without --save $(COXSWAIN_SAVE_DIR)',
      'without --save-interval 20',
      'without --exit-signal-handler',
      'without resumed by --load $(COXSWAIN_RESUME_ROOT) --ckpt-step $(COXSWAIN_RESUME_STEP)',
    ],
  ],
  [
    'the format of Megatron-FSDP, which nothing saves',
    all(unsaved, megatronFsdp),
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
    'FSDP2, whose states the plain format holds',
    over('states', { zeroStage: 3, implementation: 'fsdp2' }),
    ['--use-torch-fsdp2', '--no-gradient-accumulation-fusion', 'CUDA_DEVICE_MAX_CONNECTIONS=8'],
  ],
  [
    'the format of DCP without checkpoints, by FSDP2',
    all(
      unsaved,
      over('states', { zeroStage: 3, implementation: 'fsdp2' }),
      over('checkpointPolicy', { format: 'torch_dcp' }),
    ),
    [
      '--use-torch-fsdp2',
      '--no-gradient-accumulation-fusion',
      '--ckpt-format torch_dcp',
      'CUDA_DEVICE_MAX_CONNECTIONS=8',
      'without --save $(COXSWAIN_SAVE_DIR)',
      'without --save-interval 20',
      'without --exit-signal-handler',
      'without --ckpt-format torch_dist',
      'without resumed by --load $(COXSWAIN_RESUME_ROOT) --ckpt-step $(COXSWAIN_RESUME_STEP)',
    ],
  ],
  [
    'saving beside training, with the worker that it needs',
    over('checkpointPolicy', { asyncSave: true }),
    ['--async-save', '--use-persistent-ckpt-worker'],
  ],
  [
    'states of the optimizer that every layout reads',
    all(sharded, over('checkpointPolicy', { optimizerReshard: 'full' })),
    ['--use-distributed-optimizer', '--dist-ckpt-optim-fully-reshardable'],
  ],
  [
    'the same where states are not sharded, in a note',
    over('checkpointPolicy', { optimizerReshard: 'full' }),
    ['note: optimizer states that are not sharded are read by any layout'],
  ],
  [
    'copies on nodes, one each',
    all(scratch, over('checkpointPolicy', { localEverySteps: 10 })),
    [
      '--non-persistent-save-interval 10',
      '--non-persistent-ckpt-type local',
      '--non-persistent-local-ckpt-dir /coxswain/scratch/checkpoints',
      'note: the image needs nvidia_resiliency_ext for copies on the nodes',
    ],
  ],
  [
    'copies on nodes, twice',
    all(scratch, over('checkpointPolicy', { localEverySteps: 5, localReplicas: 2 })),
    [
      '--non-persistent-save-interval 5',
      '--non-persistent-ckpt-type local',
      '--non-persistent-local-ckpt-dir /coxswain/scratch/checkpoints',
      '--replication',
      '--replication-factor 2',
      '--replication-jump 1',
      'note: the image needs nvidia_resiliency_ext for copies on the nodes',
    ],
  ],
  [
    'copies on nodes, which jump over the ranks of a tensor',
    all(
      scratch,
      degrees({ tensorParallelDegree: 4 }),
      over('checkpointPolicy', { localEverySteps: 5, localReplicas: 2 }),
    ),
    [
      '--tensor-model-parallel-size 4',
      '--non-persistent-save-interval 5',
      '--non-persistent-ckpt-type local',
      '--non-persistent-local-ckpt-dir /coxswain/scratch/checkpoints',
      '--replication',
      '--replication-factor 2',
      '--replication-jump 4',
      'CUDA_DEVICE_MAX_CONNECTIONS=1',
      'note: the image needs nvidia_resiliency_ext for copies on the nodes',
      'without --tensor-model-parallel-size 1',
    ],
  ],
  [
    'weights to begin with',
    beside({ initialWeights: { claimName: 'weights', path: 'llama/dist', format: 'torch_dist' } }),
    ['--pretrained-checkpoint /coxswain/weights/llama/dist'],
  ],
])('checkpoints become options of Megatron-LM: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});

it.each<[string, Change, readonly string[]]>([
  [
    'a format of DeepSpeed',
    over('checkpointPolicy', { format: 'deepspeed-universal' }),
    [
      'format-of-megatron',
      'layout.checkpointPolicy.format',
      'Megatron-LM does not save deepspeed-universal',
      'use torch_dist',
    ],
  ],
  [
    'the format of Megatron-FSDP without it',
    over('checkpointPolicy', { format: 'fsdp_dtensor' }),
    [
      'format-fits-states',
      'layout.checkpointPolicy.format',
      'checkpoints of format fsdp_dtensor go with states.implementation megatron-fsdp, which is ddp',
      'leave checkpointPolicy.format out',
    ],
  ],
  [
    'the plain format for Megatron-FSDP',
    all(megatronFsdp, over('checkpointPolicy', { format: 'torch_dist' })),
    [
      'megatronFsdpHasItsFormat',
      'layout.checkpointPolicy.format',
      'layout.checkpointPolicy.format torch_dist cannot hold the states of megatron-fsdp; use fsdp_dtensor',
      'change the layout as the rule says; docs/reference/generated/layout-rules.md lists all rules',
    ],
  ],
  [
    'the format of DCP for shards of the optimizer',
    all(sharded, over('checkpointPolicy', { format: 'torch_dcp' })),
    [
      'format-fits-states',
      'layout.checkpointPolicy.format',
      'checkpoints of format torch_dcp go with states.implementation fsdp2, which is distributed-optimizer',
      'leave checkpointPolicy.format out',
    ],
  ],
  [
    'the legacy format for FSDP2',
    all(
      unsaved,
      over('states', { zeroStage: 3, implementation: 'fsdp2' }),
      over('checkpointPolicy', { format: 'legacy' }),
    ),
    [
      'format-fits-states',
      'layout.checkpointPolicy.format',
      'states that fsdp2 shards are not saved in the legacy format',
      'leave checkpointPolicy.format out',
    ],
  ],
  [
    'the legacy format, whose end nobody sees',
    over('checkpointPolicy', { format: 'legacy' }),
    [
      'checkpoints-are-seen',
      'checkpoint',
      'a checkpoint of format torch cannot be recognised as complete, so the job would never resume from one',
      'save torch_dist, which goes with distributed-optimizer and ddp, or leave checkpoint out',
    ],
  ],
  [
    'Megatron-FSDP beside a claim',
    megatronFsdp,
    [
      'checkpoints-are-seen',
      'checkpoint',
      'a checkpoint of format fsdp_dtensor cannot be recognised as complete, so the job would never resume from one',
      'save torch_dist, which goes with distributed-optimizer and ddp, or leave checkpoint out',
    ],
  ],
  [
    'replicas of copies that there are not',
    over('checkpointPolicy', { localReplicas: 2 }),
    [
      'replicas-of-local-copies',
      'layout.checkpointPolicy.localReplicas',
      'localReplicas counts local copies, and the layout asks for none',
      'give checkpointPolicy.localEverySteps',
    ],
  ],
  [
    'copies on nodes without scratch',
    over('checkpointPolicy', { localEverySteps: 10 }),
    [
      'local-copies-need-scratch',
      'layout.checkpointPolicy.localEverySteps',
      'copies on the nodes are kept in the scratch of a pod, and the job has none',
      'give scratch, or leave checkpointPolicy.localEverySteps out',
    ],
  ],
  [
    'copies on nodes that every layout should read',
    all(scratch, sharded, over('checkpointPolicy', { localEverySteps: 10, optimizerReshard: 'full' })),
    [
      'local-copies-are-not-resharded',
      'layout.checkpointPolicy.optimizerReshard',
      'local checkpoints of Megatron-LM are read by the layout that saved them alone',
      'leave checkpointPolicy.localEverySteps out, or optimizerReshard',
    ],
  ],
  [
    'weights as safetensors',
    beside({ initialWeights: { claimName: 'weights', path: 'llama', format: 'safetensors' } }),
    [
      'initial-weights-of-megatron',
      'initialWeights.format',
      'Megatron-LM begins with weights in torch_dist, not in safetensors',
      'convert them by AutoBridge of Megatron-Bridge',
    ],
  ],
  [
    'weights as DCP',
    beside({ initialWeights: { claimName: 'weights', path: 'llama', format: 'dcp' } }),
    [
      'initial-weights-of-megatron',
      'initialWeights.format',
      'Megatron-LM begins with weights in torch_dist, not in dcp',
      'convert them by tools/checkpoint of Megatron-LM',
    ],
  ],
])('checkpoints that Megatron-LM cannot have are refused: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});
