/**
 * Facts of a layout that memory and time depend on, where the layout leaves them out. Planner, checks and engine adapters resolve them here, so that the
 * rendered job is the one that was priced.
 */
import type { LayoutEngine } from './layout-facts.ts';
import type { ParallelLayout } from './parallel-layout.ts';

type Dispatcher = NonNullable<NonNullable<ParallelLayout['expert']>['dispatcher']>;
type Implementation = NonNullable<NonNullable<ParallelLayout['states']>['implementation']>;
type Precision = NonNullable<NonNullable<ParallelLayout['kernel']>['precision']>;

/** Format in which gradients are summed and reduced. */
export type GradientPrecision = 'fp32' | 'fp16' | 'bf16';

/** The dispatcher of experts: that of the layout, else all-to-all. Adapters render it explicitly, because the defaults of engines differ. */
export function resolveDispatcher({ expert }: Pick<ParallelLayout, 'expert'>): Dispatcher {
  return expert?.dispatcher ?? 'alltoall';
}

/**
 * The format of gradients: that of the layout, else fp32; beside weights in fp16, fp16. PyTorch's own engines keep weights in fp32. DeepSpeed adds
 * gradients up and reduces them in the format of its weights (`get_data_types` of deepspeed/runtime/engine.py).
 */
export function resolveGradientPrecision(
  engine: LayoutEngine | undefined,
  { states }: Pick<ParallelLayout, 'states'>,
  precision: Precision,
): GradientPrecision {
  if (states?.gradientPrecision !== undefined) return states.gradientPrecision;
  if (precision === 'bf16' && engine !== undefined && ADDS_IN_FORMAT_OF_WEIGHTS.has(engine)) return 'bf16';
  return precision === 'fp16' && (engine === undefined || !OF_PYTORCH.has(engine)) ? 'fp16' : 'fp32';
}

/** The format of the optimizer's moments: that of the layout, else fp32. */
export function resolveMomentPrecision({
  states,
}: Pick<ParallelLayout, 'states'>): NonNullable<NonNullable<ParallelLayout['states']>['optimizerPrecision']> {
  return states?.optimizerPrecision ?? 'fp32';
}

const OF_DEEPSPEED: ReadonlySet<string> = new Set(['deepspeed', 'megatron-deepspeed', 'deep-optimizer-states']);
/** Scripts of Megatron-DeepSpeed ask for fp32 (`data_types.grad_accum_dtype`). */
const ADDS_IN_FORMAT_OF_WEIGHTS: ReadonlySet<string> = new Set(['deepspeed', 'deep-optimizer-states']);
const OF_PYTORCH: ReadonlySet<string> = new Set(['torchtitan', 'torchtitan-toml', 'hugging-face']);

/** How states are sharded: as the layout says, else as the engine does it at that ZeRO stage. */
export function resolveStateImplementation(
  engine: LayoutEngine | undefined,
  { states }: Pick<ParallelLayout, 'states'>,
): Implementation {
  const { implementation, zeroStage = 0 } = states ?? {};
  if (implementation !== undefined) return implementation;
  if (engine !== undefined && OF_DEEPSPEED.has(engine)) return zeroStage === 0 ? 'ddp' : 'deepspeed';
  if (zeroStage === 0) return 'ddp';
  if (zeroStage === 1) return 'distributed-optimizer';
  return engine !== undefined && OF_PYTORCH.has(engine) ? 'fsdp2' : 'megatron-fsdp';
}

/** The ZeRO stage: that of the layout, else what its implementation does by itself. */
export function resolveZeroStage({ states }: Pick<ParallelLayout, 'states'>): number {
  const { zeroStage, implementation } = states ?? {};
  if (zeroStage !== undefined) return zeroStage;
  if (implementation === 'distributed-optimizer') return 1;
  return implementation === 'megatron-fsdp' || implementation === 'fsdp2' ? 3 : 0;
}

/** Share of the optimizer's states, or of another part, that is kept outside the GPU: all of it where a rule of the layout gives no share. */
export function resolveOffloadedShare(
  { memory }: Pick<ParallelLayout, 'memory'>,
  what: NonNullable<NonNullable<ParallelLayout['memory']>['offload']>[number]['what'],
): number {
  const shares = (memory?.offload ?? []).filter((rule) => rule.what === what).map((rule) => rule.fraction ?? 1);
  return Math.min(
    1,
    shares.reduce((sum, share) => sum + share, 0),
  );
}

/** Which traffic of data parallelism overlaps computation. */
export interface DataOverlaps {
  readonly overlapGradReduce: boolean;
  readonly overlapParamGather: boolean;
}

/**
 * PyTorch's FSDP and DDP always overlap, and Trainer has no option for it, with DeepSpeed neither. DeepSpeed itself has one switch (overlap_comm), which is
 * on at stage 3. Megatron-LM overlaps what it is asked to.
 */
export function resolveDataOverlaps(
  engine: LayoutEngine | undefined,
  layout: Pick<ParallelLayout, 'states' | 'communication'>,
): DataOverlaps {
  const { overlapGradReduce, overlapParamGather } = layout.communication ?? {};
  if (engine !== undefined && OF_PYTORCH.has(engine)) return { overlapGradReduce: true, overlapParamGather: true };
  if (engine !== undefined && OF_DEEPSPEED.has(engine)) {
    const both = overlapGradReduce ?? overlapParamGather ?? resolveZeroStage(layout) === 3;
    return { overlapGradReduce: both, overlapParamGather: both };
  }
  return { overlapGradReduce: overlapGradReduce ?? false, overlapParamGather: overlapParamGather ?? false };
}
