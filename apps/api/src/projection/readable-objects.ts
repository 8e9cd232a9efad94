/** Which objects can rows and answers be made of? Definitions in the cluster check what users write, but an object may be older than they are, or of another release. */
import {
  CheckpointResourceSpec,
  effectiveLayout,
  gpuCount,
  PlacementSpec,
  type TrainingJob,
  TrainingJobSpec,
} from '@coxswain/api-types';
import { withReadableStatus } from '@coxswain/lifecycle';
import type { z } from 'zod';

const SCHEMAS = { jobs: TrainingJobSpec, checkpoints: CheckpointResourceSpec, placements: PlacementSpec } as const;

/** Issues of values whose type is another one. Values out of range and rules between fields are the operator's to judge, and users see them. */
const OF_TYPE: ReadonlySet<z.core.$ZodIssue['code']> = new Set([
  'invalid_type',
  'invalid_value',
  'invalid_union',
  'invalid_key',
  'invalid_element',
]);

/** Whether each field of the spec that this release knows has its type, and its size can be counted. Fields that this release does not know do not matter. */
export function isReadableSpec(kind: keyof typeof SCHEMAS, spec: unknown): boolean {
  const { error } = SCHEMAS[kind].safeParse(spec);
  if (error?.issues.some(({ code }) => OF_TYPE.has(code)) === true) return false;
  return kind !== 'jobs' || hasSize(spec as TrainingJobSpec);
}

/** Definitions fill in the degrees that a layout leaves out. Without them there is no number of GPUs. */
function hasSize(spec: TrainingJobSpec): boolean {
  const gpus = gpuCount(effectiveLayout(spec, undefined) ?? null, spec.gpus);
  return gpus === null || Number.isFinite(gpus);
}

/** The job with what can be read of its status, and with the spec of its row if its own cannot be read. Undefined: neither can. */
export function readableJob(job: TrainingJob, specOfRow: TrainingJobSpec | undefined): TrainingJob | undefined {
  const readable = withReadableStatus(job);
  if (isReadableSpec('jobs', job.spec)) return readable;
  return specOfRow === undefined ? undefined : { ...readable, spec: specOfRow };
}
