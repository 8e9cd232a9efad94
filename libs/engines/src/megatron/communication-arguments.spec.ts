import type { ParallelLayout } from '@coxswain/layout';
import { all, CAPABILITIES, type Change, changesOf, degrees, experts, over, setting } from './testing/index.ts';
const sharded = over('states', { zeroStage: 1, implementation: 'distributed-optimizer' });
const talk = (values: NonNullable<ParallelLayout['communication']>): Change => over('communication', values);
const chunks = all(degrees({ pipelineParallelDegree: 4 }), over('pipeline', { chunksPerRank: 2 }));
const exchanged = CAPABILITIES['experts by all-to-all'] ?? experts;

it.each<[string, Change, readonly string[]]>([
  ['gradients beside the backward pass', talk({ overlapGradReduce: true }), ['--overlap-grad-reduce']],
  [
    'parameters beside the forward pass, with gradients',
    all(sharded, talk({ overlapGradReduce: true, overlapParamGather: true })),
    ['--use-distributed-optimizer', '--overlap-grad-reduce', '--overlap-param-gather'],
  ],
  [
    'tensors beside their products',
    all(
      degrees({ tensorParallelDegree: 2 }),
      over('sequence', { sequenceParallel: true }),
      talk({ overlapTensorParallel: true }),
    ),
    [
      '--tensor-model-parallel-size 2',
      '--sequence-parallel',
      '--tp-comm-overlap',
      'CUDA_DEVICE_MAX_CONNECTIONS=1',
      'without --tensor-model-parallel-size 1',
    ],
  ],
  [
    'transfers of chunks, which overlap anyway',
    all(chunks, talk({ overlapPipelineTransfers: true })),
    [
      '--pipeline-model-parallel-size 4',
      '--num-virtual-stages-per-pipeline-rank 2',
      'without --pipeline-model-parallel-size 1',
    ],
  ],
  [
    'transfers of chunks, one after the other',
    all(chunks, talk({ overlapPipelineTransfers: false })),
    [
      '--pipeline-model-parallel-size 4',
      '--num-virtual-stages-per-pipeline-rank 2',
      '--no-overlap-p2p-communication',
      'without --pipeline-model-parallel-size 1',
    ],
  ],
  [
    'the gradient of the embedding at the end of a pipeline',
    all(degrees({ pipelineParallelDegree: 2 }), talk({ deferEmbeddingGradient: true })),
    ['--pipeline-model-parallel-size 2', '--defer-embedding-wgrad-compute', 'without --pipeline-model-parallel-size 1'],
  ],
  ['sums in switches', talk({ switchReduction: true }), ['--use-sharp']],
  ['minutes of a collective', talk({ timeoutMinutes: 45 }), ['--distributed-timeout-minutes 45']],
  [
    'networks of tensors and context',
    talk({ groupNetwork: { tensor: 'socket', context: 'roce' } }),
    [
      '--nccl-communicator-config-path $(COXSWAIN_ENGINE_FILES)/nccl.yaml',
      'tp:',
      '  net_name: Socket',
      'ep_tp:',
      '  net_name: Socket',
      'cp:',
      '  net_name: IB',
      'tp_cp:',
      '  net_name: IB',
    ],
  ],
  [
    'a network of experts',
    talk({ groupNetwork: { expert: 'infiniband' } }),
    [
      '--nccl-communicator-config-path $(COXSWAIN_ENGINE_FILES)/nccl.yaml',
      'ep:',
      '  net_name: IB',
      'tp_ep_mp:',
      '  net_name: IB',
    ],
  ],
])('communication becomes options of Megatron-LM: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});

it.each<[string, Change, readonly string[]]>([
  [
    'parameters without gradients',
    all(sharded, talk({ overlapParamGather: true })),
    [
      'param-gather-overlaps-with-gradients',
      'layout.communication.overlapParamGather',
      'Megatron-LM overlaps the gathering of parameters only with sharded states, and together with that of gradients',
      'set communication.overlapGradReduce to true and states.zeroStage to 1, or leave overlapParamGather out',
    ],
  ],
  [
    'parameters without shards',
    talk({ overlapGradReduce: true, overlapParamGather: true }),
    [
      'param-gather-overlaps-with-gradients',
      'layout.communication.overlapParamGather',
      'Megatron-LM overlaps the gathering of parameters only with sharded states, and together with that of gradients',
      'set communication.overlapGradReduce to true and states.zeroStage to 1, or leave overlapParamGather out',
    ],
  ],
  [
    'tensors without pieces of samples',
    all(degrees({ tensorParallelDegree: 2 }), talk({ overlapTensorParallel: true })),
    [
      'tensor-overlap-needs-sequence-parallel',
      'layout.communication.overlapTensorParallel',
      'Megatron-LM overlaps tensor parallelism only where sequenceParallel is on',
      'set sequence.sequenceParallel to true, with tensorParallelDegree above 1',
    ],
  ],
  [
    'tensors of one rank',
    talk({ overlapTensorParallel: true }),
    [
      'tensor-overlap-needs-sequence-parallel',
      'layout.communication.overlapTensorParallel',
      'Megatron-LM overlaps tensor parallelism only where sequenceParallel is on',
      'set sequence.sequenceParallel to true, with tensorParallelDegree above 1',
    ],
  ],
  [
    'transfers of a pipeline without chunks',
    all(degrees({ pipelineParallelDegree: 2 }), talk({ overlapPipelineTransfers: true })),
    [
      'pipeline-overlap-needs-chunks',
      'layout.communication.overlapPipelineTransfers',
      'Megatron-LM overlaps transfers of a pipeline only where a rank has several chunks',
      'leave it out, or give pipeline.chunksPerRank',
    ],
  ],
  [
    'the gradient of the embedding without a pipeline',
    talk({ deferEmbeddingGradient: true }),
    [
      'deferred-gradient-needs-pipeline',
      'layout.communication.deferEmbeddingGradient',
      'the gradient of the embedding waits for the drain of a pipeline, with fused accumulation and an output layer of its own',
      'leave communication.deferEmbeddingGradient out',
    ],
  ],
  [
    'the gradient of a tied embedding',
    all(
      degrees({ pipelineParallelDegree: 2 }),
      setting('model', { tiedEmbeddings: true }),
      talk({ deferEmbeddingGradient: true }),
    ),
    [
      'deferred-gradient-needs-pipeline',
      'layout.communication.deferEmbeddingGradient',
      'the gradient of the embedding waits for the drain of a pipeline, with fused accumulation and an output layer of its own',
      'leave communication.deferEmbeddingGradient out',
    ],
  ],
  [
    'experts on one rank',
    talk({ overlapExpertParallel: true }),
    [
      'expert-overlap-needs-exchange',
      'layout.communication.overlapExpertParallel',
      'Megatron-LM cannot overlap the exchange of experts where expert.expertParallelDegree is 1',
      'leave communication.overlapExpertParallel out',
    ],
  ],
  [
    'experts whose tokens are gathered',
    all(CAPABILITIES['experts by all-gather'] ?? experts, talk({ overlapExpertParallel: true })),
    [
      'expert-overlap-needs-exchange',
      'layout.communication.overlapExpertParallel',
      'Megatron-LM cannot overlap the exchange of experts where the dispatcher is allgather',
      'leave communication.overlapExpertParallel out',
    ],
  ],
  [
    'experts in fp32',
    all(exchanged, setting('training', { precision: 'fp32' }), talk({ overlapExpertParallel: true })),
    [
      'expert-overlap-needs-exchange',
      'layout.communication.overlapExpertParallel',
      'Megatron-LM cannot overlap the exchange of experts where training.precision is fp32',
      'leave communication.overlapExpertParallel out',
    ],
  ],
  [
    'experts in layers that are computed again',
    all(exchanged, over('memory', { recompute: { mode: 'full' } }), talk({ overlapExpertParallel: true })),
    [
      'expert-overlap-needs-exchange',
      'layout.communication.overlapExpertParallel',
      'Megatron-LM cannot overlap the exchange of experts where recomputation is full',
      'leave communication.overlapExpertParallel out',
    ],
  ],
  [
    'experts that are computed again',
    all(
      exchanged,
      over('memory', { recompute: { mode: 'selective', modules: ['moe'] } }),
      talk({ overlapExpertParallel: true }),
    ),
    [
      'expert-overlap-needs-exchange',
      'layout.communication.overlapExpertParallel',
      'Megatron-LM cannot overlap the exchange of experts where layers of experts are computed again',
      'leave communication.overlapExpertParallel out',
    ],
  ],
  [
    'experts before several layers of later tokens',
    all(exchanged, setting('model', { mtpLayers: 2 }), talk({ overlapExpertParallel: true })),
    [
      'expert-overlap-needs-exchange',
      'layout.communication.overlapExpertParallel',
      'Megatron-LM cannot overlap the exchange of experts where there are several MTP layers',
      'leave communication.overlapExpertParallel out',
    ],
  ],
  [
    'experts in a pipeline without chunks',
    all(exchanged, degrees({ pipelineParallelDegree: 2 }), talk({ overlapExpertParallel: true })),
    [
      'expert-overlap-needs-exchange',
      'layout.communication.overlapExpertParallel',
      'Megatron-LM cannot overlap the exchange of experts where the pipeline is not interleaved',
      'leave communication.overlapExpertParallel out',
    ],
  ],
])('communication that Megatron-LM lacks is refused: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});
