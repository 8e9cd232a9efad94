/** Recomputation policies, and how many layers each recomputes. */
import { RECOMPUTE_POLICIES, type RecomputePolicy } from './contract.ts';
import type { CandidateLayout } from './facts.ts';

/** Policies that are searched if the request names none; `operations` exists only in TorchTitan. */
export const USUAL_RECOMPUTATION: readonly RecomputePolicy[] = RECOMPUTE_POLICIES.filter(
  (policy) => policy !== 'operations',
);

/**
 * What TorchTitan's selective checkpointing drops, in layers: about as much as two layers in five. It keeps attention and every second matrix product,
 * and computes the others and all cheap operations again (`_apply_op_sac` of distributed/activation_checkpoint.py). Of Llama 3.1 8B it held 77.0 GiB of H100 in
 * benchmarks/llama3_h100_202412_torchtitan.md, two samples of 8,192 tokens on 8 GPUs, compiled.
 */
const SHARE_BY_OPERATIONS = 0.4;

const SHARES: Partial<Record<RecomputePolicy, (layers: number) => number>> = {
  operations: (layers) => Math.max(1, Math.round(SHARE_BY_OPERATIONS * layers)),
  half: (layers) => Math.ceil(layers / 2),
};

/** Whether a policy recomputes some layers completely and keeps the others. */
export function isOfSomeLayers(policy: RecomputePolicy): boolean {
  return SHARES[policy] !== undefined;
}

/** How many of a chunk's layers a policy recomputes completely; undefined for other policies and for a single layer. */
export function recomputedLayersOf(policy: RecomputePolicy, layers: number): number | undefined {
  return layers < 2 ? undefined : SHARES[policy]?.(layers);
}

/** The recomputation mode of a policy. */
export function modeOf(policy: RecomputePolicy): CandidateLayout['recompute'] {
  if (policy === 'none') return 'none';
  return isOfSomeLayers(policy) || policy === 'full' ? 'full' : 'selective';
}
