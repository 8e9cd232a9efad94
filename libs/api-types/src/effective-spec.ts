import { type ParallelLayout, worldSize } from '@coxswain/layout';
import type { PlacementSpec } from './placement.ts';
import type { JobPlan } from './job-plan.ts';
import { runtimeName } from './training-runtime.ts';
import type { TrainingJobSpec } from './training-job-spec.ts';

/** A spec with a definite layout and micro-batch, chosen by the user or by the planner. */
export type EffectiveSpec = TrainingJobSpec & {
  readonly layout: ParallelLayout;
};

/** Default samples per forward pass, if neither the user nor the planner chose a number. */
export const DEFAULT_MICRO_BATCH_SIZE = 1;

/** As much of a spec as a plan answers. */
type PlannedSpec = Pick<TrainingJobSpec, 'layout' | 'gpus' | 'minGpus' | 'runtimeRef'>;

/** Whether the plan answers what the spec asks for now: on the nodes of another runtime another layout may be best. */
export function isPlanOf(plan: JobPlan, spec: PlannedSpec): boolean {
  if (plan.runtime !== (spec.runtimeRef === undefined ? undefined : runtimeName(spec.runtimeRef))) return false;
  if (spec.layout === undefined) return plan.chosenBy === 'Planner' && isWithin(plan, spec);
  return plan.chosenBy === 'User' && isSameLayout(plan.layout, spec.layout);
}

function isWithin({ gpus, refusal }: JobPlan, spec: PlannedSpec): boolean {
  if (gpus === spec.gpus) return true;
  const { gpus: most = 0, minGpus: least = most } = spec;
  return refusal === undefined && gpus >= least && gpus < most;
}

/** The layout that the job runs on: as the user wrote it, or as the planner chose it; undefined until it has chosen. */
export function effectiveLayout(spec: PlannedSpec, plan: JobPlan | undefined): ParallelLayout | undefined {
  if (spec.layout !== undefined) return spec.layout;
  return plan !== undefined && isPlanOf(plan, spec) ? plan.layout : undefined;
}

/** GPUs that a job runs on, or asks for while its layout is still to be chosen. */
export function gpuCount(layout: ParallelLayout | null | undefined, gpus: number | undefined): number {
  return layout === null || layout === undefined ? (gpus ?? 0) : worldSize(layout);
}

/** The spec with the layout and micro-batch that the job runs on; undefined until the planner has chosen. */
export function effectiveSpec(spec: TrainingJobSpec, plan: JobPlan | undefined): EffectiveSpec | undefined {
  const layout = effectiveLayout(spec, plan);
  if (layout === undefined) return undefined;
  const planned = spec.layout === undefined ? plan?.microBatchSize : undefined;
  return withLayout(spec, { layout, ...(planned === undefined ? {} : { microBatchSize: planned }) });
}

/** The spec as one attempt runs it: values of its Placement override the spec. */
export function specOfEpoch(
  spec: TrainingJobSpec,
  placement: Pick<PlacementSpec, 'layout' | 'microBatchSize' | 'saveEverySteps'>,
): EffectiveSpec {
  const { saveEverySteps: everySteps } = placement;
  const chosen = withLayout(spec, placement);
  if (everySteps === undefined || chosen.checkpoint === undefined) return chosen;
  return { ...chosen, checkpoint: { ...chosen.checkpoint, everySteps } };
}

function withLayout(
  spec: TrainingJobSpec,
  chosen: { readonly layout: ParallelLayout; readonly microBatchSize?: number | undefined },
): EffectiveSpec {
  const { gpus: _answered, minGpus: _least, ...rest } = spec;
  const { layout } = chosen;
  if (spec.training === undefined) return { ...rest, layout };
  const microBatchSize = chosen.microBatchSize ?? spec.training.microBatchSize ?? DEFAULT_MICRO_BATCH_SIZE;
  return { ...rest, layout, training: { ...spec.training, microBatchSize } };
}

/** Whether two layouts are equal. An absent key differs from a present one. */
export function isSameLayout(one: ParallelLayout | undefined, other: ParallelLayout | undefined): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

/** With keys in one order: the API server and Postgres each have their own. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
