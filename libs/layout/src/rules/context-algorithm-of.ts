import type { ParallelLayout } from '../parallel-layout.ts';
import type { ContextAlgorithm } from '../sequence-plan.ts';

/** The context-parallel algorithm of this kind of layer. */
export function algorithmOf(layout: ParallelLayout, kind: 'attention' | 'linearAttention'): ContextAlgorithm {
  return layout.sequence?.perLayerKind?.[kind] ?? layout.sequence?.contextAlgorithm ?? 'ring';
}

/** Whether it moves states of linear attention, not keys and values. */
export function isStateAlgorithm(algorithm: ContextAlgorithm): boolean {
  return algorithm === 'state-allgather' || algorithm === 'state-scan';
}

export function isRing(algorithm: ContextAlgorithm): boolean {
  return ['ring', 'ring-self-attention', 'dist-flash', 'ulysses-ring', 'token-ring'].includes(algorithm);
}
