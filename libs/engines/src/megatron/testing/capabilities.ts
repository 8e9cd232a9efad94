/** What a layout can ask of Megatron-LM: each changes a draft so that it is asked for, with what it needs besides. */
import type { ParallelLayout } from '@coxswain/layout';
import type { JobDraft } from './job-draft.ts';

export type Change = (draft: JobDraft) => void;

type Part = 'sequence' | 'states' | 'pipeline' | 'memory' | 'communication' | 'kernel' | 'checkpointPolicy';

/** Lays values over a part of the layout. */
export function over<P extends Part>(part: P, values: NonNullable<ParallelLayout[P]>): Change {
  return ({ layout }) => {
    layout[part] = { ...layout[part], ...values };
  };
}

export function all(...changes: readonly Change[]): Change {
  return (draft) => {
    for (const change of changes) change(draft);
  };
}

export function degrees(values: Partial<ParallelLayout>): Change {
  return ({ layout }) => Object.assign(layout, values);
}

const distributed = over('states', { zeroStage: 1, implementation: 'distributed-optimizer' });
const tensor = all(degrees({ tensorParallelDegree: 2 }), over('sequence', { sequenceParallel: true }));
const context = degrees({ contextParallelDegree: 4 });
const pipeline = degrees({ pipelineParallelDegree: 2 });
const chunks = all(pipeline, over('pipeline', { chunksPerRank: 2 }));
/** Parsers of releases before core_v0.17 take no kernels of experts that come with Transformer Engine alone. */
export const experts: Change = ({ model, layout }) => {
  model['experts'] = { count: 8, topK: 2, ffnHiddenSize: 1024 };
  layout.dataParallelDegree = 4;
  layout.expert = { expertParallelDegree: 4, expertTensorParallelDegree: 1, ...layout.expert };
  if (layout.tensorParallelDegree > 1) layout.sequence = { ...layout.sequence, sequenceParallel: true };
};

function expert(values: Partial<NonNullable<ParallelLayout['expert']>>): Change {
  return all(experts, ({ layout }) => {
    layout.expert = { expertParallelDegree: 4, ...layout.expert, ...values };
  });
}

function model(values: Readonly<Record<string, unknown>>): Change {
  return (draft) => Object.assign(draft.model, values);
}

function training(values: Readonly<Record<string, unknown>>): Change {
  return (draft) => Object.assign(draft.training, values);
}

const withoutCheckpoint: Change = ({ rest }) => {
  rest.checkpoint = undefined;
};

/** Each by a name of its own. */
export const CAPABILITIES: Readonly<Record<string, Change>> = {
  'tensor parallelism': tensor,
  'tensor parallelism of 4': degrees({ tensorParallelDegree: 4 }),
  'data parallelism of 8': degrees({ dataParallelDegree: 8 }),
  pipeline,
  'pipeline of 4': degrees({ pipelineParallelDegree: 4 }),
  'interleaved pipeline': chunks,
  'group of micro-batches': all(chunks, over('pipeline', { microBatchGroupSize: 4 })),
  'listed stages': all(
    pipeline,
    over('pipeline', {
      stages: [
        { layers: 5, embedding: true },
        { layers: 3, loss: true },
      ],
    }),
  ),
  'counted vocabulary': all(pipeline, over('pipeline', { vocabulary: 'counted-as-layer' }), model({ layers: 14 })),
  'ring of context': all(context, over('sequence', { contextAlgorithm: 'ring' })),
  'gathered context': all(context, over('sequence', { contextAlgorithm: 'allgather' })),
  'ulysses context': all(context, over('sequence', { contextAlgorithm: 'ulysses' })),
  'two levels of context': all(context, over('sequence', { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 2 })),
  'dynamic sequences': all(
    context,
    distributed,
    over('sequence', {
      dynamic: { method: 'hybrid-data-parallel', maxTokensPerRank: 512, perTokenLoss: true },
    }),
  ),
  'pipeline before data': degrees({ rankOrder: ['tensor', 'context', 'expert', 'pipeline', 'data'] }),
  'distributed optimizer': distributed,
  'instances of the optimizer': all(degrees({ dataParallelDegree: 4, dataParallelShardDegree: 2 }), distributed),
  'Megatron-FSDP': all(
    withoutCheckpoint,
    degrees({ dataParallelDegree: 4 }),
    over('states', { zeroStage: 3, implementation: 'megatron-fsdp' }),
  ),
  'Megatron-FSDP of stage 2': all(withoutCheckpoint, over('states', { zeroStage: 2, implementation: 'megatron-fsdp' })),
  'torch FSDP2': over('states', { zeroStage: 3, implementation: 'fsdp2' }),
  'precise optimizer': all(distributed, over('states', { precisionAwareOptimizer: true, optimizerPrecision: 'bf16' })),
  'optimizer in host memory': all(
    distributed,
    over('states', { precisionAwareOptimizer: true }),
    over('memory', { offload: [{ what: 'optimizer', fraction: 0.5, overlap: true }], hostMemoryGibPerGpu: 64 }),
  ),
  'activations in host memory': over('memory', {
    offload: [{ what: 'activations', modules: ['core_attn', 'attn_proj'] }],
    hostMemoryGibPerGpu: 64,
  }),
  'half of activations in host memory': over('memory', {
    offload: [{ what: 'activations', modules: ['core_attn'], fraction: 0.5 }],
    hostMemoryGibPerGpu: 64,
  }),
  sgd: over('states', { optimizer: 'sgd' }),
  muon: over('states', { optimizer: 'muon' }),
  lion: over('states', { optimizer: 'lion' }),
  'selective recomputation': over('memory', { recompute: { mode: 'selective', modules: ['core_attn', 'layernorm'] } }),
  'full recomputation': over('memory', { recompute: { mode: 'full', method: 'block', layers: 1 } }),
  'overlapped gradients': all(
    distributed,
    over('communication', { overlapGradReduce: true, overlapParamGather: true }),
  ),
  'overlapped tensors': all(tensor, over('communication', { overlapTensorParallel: true })),
  'overlapped experts': all(expert({ dispatcher: 'alltoall' }), over('communication', { overlapExpertParallel: true })),
  'transfers that do not overlap': all(
    degrees({ pipelineParallelDegree: 4 }),
    over('pipeline', { chunksPerRank: 2 }),
    over('communication', { overlapPipelineTransfers: false }),
  ),
  'deferred gradient': all(pipeline, over('communication', { deferEmbeddingGradient: true })),
  'reduction in switches': over('communication', { switchReduction: true, timeoutMinutes: 30 }),
  'networks of groups': all(
    pipeline,
    over('communication', { groupNetwork: { pipeline: 'socket', data: 'infiniband' } }),
  ),
  'experts by all-to-all': expert({ dispatcher: 'alltoall', balance: 'aux-loss' }),
  'experts by all-gather': expert({ dispatcher: 'allgather', balance: 'none' }),
  'experts by DeepEP': expert({ dispatcher: 'deepep', balance: 'bias' }),
  'experts by HybridEP': expert({ dispatcher: 'hybridep' }),
  'experts split by tensors': all(tensor, expert({ expertParallelDegree: 2, expertTensorParallelDegree: 2 })),
  'experts that drop': expert({ capacityFactor: 1.5, tokenDropOrder: 'position' }),
  'shards of weights': all(distributed, degrees({ weightShardDegree: 2 })),
  'flash attention': over('kernel', { attention: 'flash' }),
  'unfused attention': over('kernel', { attention: 'unfused' }),
  'learnable softmax': over('kernel', { softmax: 'learnable' }),
  'fp16 products': over('kernel', { precision: 'fp16' }),
  'fp8 products': over('kernel', { precision: 'fp8' }),
  'mxfp8 products': over('kernel', { precision: 'mxfp8' }),
  'nvfp4 products': over('kernel', { precision: 'nvfp4' }),
  'fp32 throughout': training({ precision: 'fp32' }),
  'partial graphs': over('kernel', { cudaGraphs: 'partial' }),
  'full graphs': over('kernel', { cudaGraphs: 'full' }),
  'partial graphs beside experts': all(expert({ dispatcher: 'alltoall' }), over('kernel', { cudaGraphs: 'partial' })),
  'full graphs beside experts': all(
    expert({ dispatcher: 'hybridep' }),
    over('kernel', { cudaGraphs: 'full', precision: 'mxfp8' }),
  ),
  'full graphs beside experts, with nothing saved': all(
    withoutCheckpoint,
    expert({ dispatcher: 'hybridep' }),
    over('kernel', { cudaGraphs: 'full', precision: 'mxfp8' }),
  ),
  deterministic: over('kernel', { deterministic: true }),
  'checkpoints that any layout reads': all(
    distributed,
    over('checkpointPolicy', { format: 'torch_dist', optimizerReshard: 'full' }),
  ),
  'checkpoints beside training': over('checkpointPolicy', { asyncSave: true }),
  'checkpoints on nodes': all(over('checkpointPolicy', { localEverySteps: 10, localReplicas: 2 }), ({ rest }) => {
    rest.scratch = { sizeLimit: '10Gi' };
  }),
  'grouped queries': model({ keyValueHeads: 4 }),
  'latent attention': model({
    latentAttention: { queryRank: 512, keyValueRank: 256, nopeHeadDim: 64, ropeHeadDim: 32, valueHeadDim: 64 },
  }),
  'a table of positions': model({ learnedPositions: 4096, rmsNorm: false, linearBias: true }),
  'a window of attention': model({ attentionWindow: 512, windowedLayers: 6 }),
  'attention sinks': model({ attentionWindow: 512, windowedLayers: 4, attentionSinks: true }),
  'a pattern of layers': model({
    layerPattern: 'M*-MM*-M',
    stateSpace: { stateSize: 64, heads: 16, headDim: 64, groups: 8 },
  }),
  'tokens to come': model({ mtpLayers: 1 }),
  'warm-up, steady and decay': training({ warmupSteps: 10, schedule: { name: 'wsd', decaySteps: 20 } }),
  'weighted data': ({ data }) => {
    delete data['format'];
    Object.assign(data, { claimName: 'corpus', format: 'indexed', paths: [{ path: 'a', weight: 0.3 }, { path: 'b' }] });
  },
};
