/** Which policies of recomputation are tried, and of how many layers does one compute all again? */
import { RECOMPUTE_POLICIES, type RecomputePolicy } from './contract.ts';
import type { CandidateLayout } from './facts.ts';

/** What is tried where nobody says what: `operations` is TorchTitan's alone. */
export const USUAL_RECOMPUTATION: readonly RecomputePolicy[] = RECOMPUTE_POLICIES.filter(
  (policy) => policy !== 'operations',
);

/**
 * What TorchTitan's selective checkpointing drops, in layers: it keeps attention and every second matrix product and computes the others again, with all
 * that is cheap (`_apply_op_sac` of distributed/activation_checkpoint.py), about as much as two layers in five. Of Llama 3.1 8B it held 77.0 GiB of H100 in
 * benchmarks/llama3_h100_202412_torchtitan.md, two samples of 8,192 tokens on 8 GPUs, compiled.
 */
const SHARE_BY_OPERATIONS = 0.4;

const SHARES: Partial<Record<RecomputePolicy, (layers: number) => number>> = {
  operations: (layers) => Math.max(1, Math.round(SHARE_BY_OPERATIONS * layers)),
  half: (layers) => Math.ceil(layers / 2),
};

/** Whether the policy computes some layers again as a whole and keeps the others. */
export function isOfSomeLayers(policy: RecomputePolicy): boolean {
  return SHARES[policy] !== undefined;
}

/** Of a chunk of so many layers; undefined where the policy is of no such kind, or of a single layer, of which a part is all. */
export function recomputedLayersOf(policy: RecomputePolicy, layers: number): number | undefined {
  return layers < 2 ? undefined : SHARES[policy]?.(layers);
}

export function modeOf(policy: RecomputePolicy): CandidateLayout['recompute'] {
  if (policy === 'none') return 'none';
  return isOfSomeLayers(policy) || policy === 'full' ? 'full' : 'selective';
}
