import type { CommunicationPolicy } from './communication-policy.ts';
import type { ParallelLayout } from './parallel-layout.ts';

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
/** A training program that a layout is rendered for; forks whose options their upstream lacks have names of their own. */
export type LayoutEngine = (typeof LAYOUT_ENGINES)[number];

/** What a checkpoint to be loaded was saved as. */
export interface SavedState {
  readonly engine?: LayoutEngine | undefined;
  readonly layout: ParallelLayout;
}

export type NetworkKind = NonNullable<NonNullable<CommunicationPolicy['groupNetwork']>['data']> | 'ethernet';

/** A run of nodes with one kind of GPU and one network. */
export interface NetworkIsland {
  readonly nodes: number;
  readonly network: NetworkKind;
}

/**
 * What the rules know besides the layout: the model, the batch, the engine, the machines. Rules whose facts are absent are not applied.
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
  /** Heads learn a score of their own, so that the softmax is not the vanilla one. */
  readonly attentionSinks?: boolean | undefined;
  readonly globalBatchSize?: number | undefined;
  readonly microBatchSize?: number | undefined;
  /** Tokens per sample. */
  readonly sequenceLength?: number | undefined;
  readonly engine?: LayoutEngine | undefined;
  /** GPUs that the job shall have; absent: as many as the layout says. */
  readonly gpus?: number | undefined;
  /** Most ranks of a layout; absent: as many as a job may have. */
  readonly mostRanks?: number | undefined;
  readonly gpusPerNode?: number | undefined;
  /** GPUs that reach each other over NVLink or its like. */
  readonly scaleUpDomainGpus?: number | undefined;
  readonly hostMemoryGibPerNode?: number | undefined;
  /** In the order of ranks. */
  readonly islands?: readonly NetworkIsland[] | undefined;
  /** The checkpoint to begin from. */
  readonly restoreFrom?: SavedState | undefined;
}
