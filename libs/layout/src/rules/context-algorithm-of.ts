import type { LayoutFacts } from '../layout-facts.ts';
import type { ParallelLayout } from '../parallel-layout.ts';
import type { ContextAlgorithm } from '../sequence-plan.ts';

type Softmax = NonNullable<NonNullable<ParallelLayout['kernel']>['softmax']>;

/** The context-parallel algorithm that a layout gives to layers of one kind; `ring` if the layout names none. */
export function algorithmOf(layout: ParallelLayout, kind: 'attention' | 'linearAttention'): ContextAlgorithm {
  return layout.sequence?.perLayerKind?.[kind] ?? layout.sequence?.contextAlgorithm ?? 'ring';
}

/** The softmax that the model needs if the layout names none: `learnable` for a model with attention sinks, else `vanilla`. */
export function softmaxOf({ attentionSinks }: Pick<LayoutFacts, 'attentionSinks'>): Softmax {
  return attentionSinks === true ? 'learnable' : 'vanilla';
}

/** Whether Transformer Engine supports a softmax with a context-parallel algorithm. It supports a softmax other than vanilla only with `ulysses`. */
export function servesSoftmax(algorithm: ContextAlgorithm, softmax: Softmax): boolean {
  return softmax === 'vanilla' || algorithm === 'ulysses';
}

/** Whether an algorithm exchanges states of linear attention instead of keys and values. */
export function isStateAlgorithm(algorithm: ContextAlgorithm): boolean {
  return algorithm === 'state-allgather' || algorithm === 'state-scan';
}

/** Whether an algorithm passes keys and values, or queries, from rank to rank. */
export function isRing(algorithm: ContextAlgorithm): boolean {
  return ['ring', 'ring-self-attention', 'dist-flash', 'ulysses-ring', 'token-ring'].includes(algorithm);
}
