import type { ParallelLayout } from './parallel-layout.ts';

/** Every engine whose layouts can be checked. */
export const LAYOUT_ENGINES = [
  'reference',
  'command',
  'megatron-lm',
  'megatron-bridge',
  'torchtitan',
  'torchtitan-toml',
  'deepspeed',
  'megatron-deepspeed',
  'galvatron',
  'mindspeed',
  'mindformers',
  'flagscale',
  'colossalai',
  'libai',
  'redco',
  'areal',
  'verl',
  'nemo-rl',
  'zero-bubble',
  'vocabulary-parallelism',
  'skippipe',
  'deep-optimizer-states',
  'linear-moe',
  'zo2',
  'natural-galore',
  'rcm',
  'hugging-face',
  'custom',
] as const;
/** A training program that layouts are rendered for. A fork with options that its upstream lacks has its own name. */
export type LayoutEngine = (typeof LAYOUT_ENGINES)[number];

/** The engine and layout that a checkpoint was saved with. */
export interface SavedState {
  readonly engine?: LayoutEngine | undefined;
  readonly layout: ParallelLayout;
}

/** Kinds of NICs between nodes. `efa` is AWS's Elastic Fabric Adapter; `other` is another RDMA network, such as Slingshot. */
export const NIC_KINDS = ['infiniband', 'roce', 'efa', 'omnipath', 'ethernet', 'other'] as const;
/** One of {@link NIC_KINDS}. */
export type NicKind = (typeof NIC_KINDS)[number];

/** Consecutive nodes with one kind of GPU and one network. */
export interface NetworkIsland {
  readonly nodes: number;
  readonly network: NicKind;
}

/**
 * What layout rules read besides the layout: the model, the batch, the engine and the machines. A rule is not applied if its facts are absent.
 * Names and units are those of ModelShape and of a job's training section.
 */
export interface LayoutFacts {
  readonly layers?: number | undefined;
  readonly hiddenSize?: number | undefined;
  readonly ffnHiddenSize?: number | undefined;
  readonly attentionHeads?: number | undefined;
  readonly keyValueHeads?: number | undefined;
  readonly headDim?: number | undefined;
  readonly vocabularySize?: number | undefined;
  readonly tiedEmbeddings?: boolean | undefined;
  readonly mtpLayers?: number | undefined;
  readonly experts?:
    { readonly count: number; readonly topK: number; readonly ffnHiddenSize?: number | undefined } | undefined;
  readonly latentAttention?: object | undefined;
  readonly stateSpace?: { readonly heads: number; readonly groups: number } | undefined;
  readonly layerPattern?: string | undefined;
  /** Whether each head has a learned score, so that the softmax is not vanilla. */
  readonly attentionSinks?: boolean | undefined;
  readonly globalBatchSize?: number | undefined;
  readonly microBatchSize?: number | undefined;
  /** Tokens per sample. */
  readonly sequenceLength?: number | undefined;
  readonly engine?: LayoutEngine | undefined;
  /** GPUs of the job. Absent: the world size of the layout. */
  readonly gpus?: number | undefined;
  /** Largest number of ranks. Absent: {@link MAX_WORLD_SIZE}. */
  readonly mostRanks?: number | undefined;
  readonly gpusPerNode?: number | undefined;
  /** GPUs that NVLink or a similar network joins. */
  readonly scaleUpDomainGpus?: number | undefined;
  readonly hostMemoryGibPerNode?: number | undefined;
  /** In the order of ranks. */
  readonly islands?: readonly NetworkIsland[] | undefined;
  /** The checkpoint to load. */
  readonly restoreFrom?: SavedState | undefined;
}
