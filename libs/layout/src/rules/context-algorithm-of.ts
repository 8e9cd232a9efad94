import type { LayoutFacts } from '../layout-facts.ts';
import type { ParallelLayout } from '../parallel-layout.ts';
import type { ContextAlgorithm } from '../sequence-plan.ts';

type Softmax = NonNullable<NonNullable<ParallelLayout['kernel']>['softmax']>;

/** The context-parallel algorithm of this kind of layer. */
export function algorithmOf(layout: ParallelLayout, kind: 'attention' | 'linearAttention'): ContextAlgorithm {
  return layout.sequence?.perLayerKind?.[kind] ?? layout.sequence?.contextAlgorithm ?? 'ring';
}

/** What the model itself asks for, where a layout says nothing. */
export function softmaxOf({ attentionSinks }: Pick<LayoutFacts, 'attentionSinks'>): Softmax {
  return attentionSinks === true ? 'learnable' : 'vanilla';
}

/** Whether Transformer Engine computes such a softmax over context ranks that exchange so: one other than vanilla it divides by heads alone. */
export function servesSoftmax(algorithm: ContextAlgorithm, softmax: Softmax): boolean {
  return softmax === 'vanilla' || algorithm === 'ulysses';
}

/** Whether it moves states of linear attention, not keys and values. */
export function isStateAlgorithm(algorithm: ContextAlgorithm): boolean {
  return algorithm === 'state-allgather' || algorithm === 'state-scan';
}

export function isRing(algorithm: ContextAlgorithm): boolean {
  return ['ring', 'ring-self-attention', 'dist-flash', 'ulysses-ring', 'token-ring'].includes(algorithm);
}
