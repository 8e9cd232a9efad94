/** Limits of engines on sharding, replicating and offloading states. */
import type { ModelShape } from '@coxswain/layout';
import type { CandidateLayout } from '../facts.ts';

/**
 * Engines that do not take everything. TorchTitan replicates whole models alone: up to v0.2.2 its DDP takes no second degree
 * (models/llama3/infra/parallelize.py), and since then ranks of a context and of experts share their states (distributed/parallel_dims.py).
 * The arguments of Transformers' Trainer shard over all ranks or over none, and so does DeepSpeed (MiCS is gone). DeepSpeed offloads a part of the optimizer
 * from stage 3 on (`ratio` of runtime/zero/offload_config.py), and those activations that it recomputes from (`cpu_checkpointing`).
 */
export type StateSharing = 'torchtitan' | 'hugging-face' | 'deepspeed';

interface Situation {
  readonly model: ModelShape;
  /** Absent: an engine without limits. */
  readonly sharing?: StateSharing;
}

type Degrees = Pick<CandidateLayout, 'tensor' | 'context' | 'pipeline' | 'data'>;

/** Whether an engine supports ZeRO stage 0 with these degrees. */
export function mayCopy({ sharing, model }: Situation, { tensor, context, pipeline, data }: Degrees): boolean {
  const isDivided = tensor * context * pipeline > 1 || model.experts !== undefined;
  return sharing !== 'torchtitan' || data * context === 1 || !isDivided;
}

/** Whether an engine can shard states over groups of this size, with replicas. */
export function mayShareInGroups(
  { sharing }: Pick<Situation, 'sharing'>,
  { context }: Pick<Degrees, 'context'>,
  size: number,
): boolean {
  return sharing === undefined || (sharing === 'torchtitan' && size % context === 0);
}

/**
 * Shares of the optimizer that may be in host memory. A distributed optimizer over one rank shards nothing; it is how engines put states there, so that it
 * leaves none on the GPU.
 */
export function optimizerSharesOf(
  { sharing }: Pick<Situation, 'sharing'>,
  { zeroStage, isAlone }: { readonly zeroStage: CandidateLayout['zeroStage']; readonly isAlone: boolean },
): readonly number[] {
  if (zeroStage === 0) return [0];
  const half = sharing === 'deepspeed' && zeroStage < 3 ? [] : [0.5];
  return [...(isAlone ? [] : [0]), ...half, 1];
}

/** Shares of activations that may be in host memory without recomputation. */
export function activationSharesOf({ sharing }: Pick<Situation, 'sharing'>): readonly number[] {
  return sharing === 'deepspeed' ? [0] : [0, 1];
}
