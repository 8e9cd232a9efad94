export { aRuntime } from './runtime.ts';
import { API_GROUP_VERSION } from '../names.ts';
import type { TrainingJob } from '../training-job.ts';
import type { TrainingJobSpecInput } from '../training-job-spec.ts';
import type { EffectiveSpec } from '../effective-spec.ts';
import { aJobSpec } from './spec.ts';

export { aJobSpec, aPlannedJobSpec } from './spec.ts';
export {
  aCheckpointRecord,
  aJob,
  aJobEvent,
  aJobFailure,
  anAttempt,
  anIncident,
  aRankPlace,
  aStepPoint,
} from './rest.ts';

/** A job as the API server would hand it out: no status yet, generation 1. */
export function aTrainingJob(
  overrides: {
    readonly metadata?: Partial<TrainingJob['metadata']>;
    readonly spec?: Partial<Omit<TrainingJobSpecInput, 'gpus'>>;
    readonly status?: TrainingJob['status'];
  } = {},
): TrainingJob & { readonly spec: EffectiveSpec } {
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'TrainingJob',
    metadata: {
      name: 'tiny-gpt',
      namespace: 'research',
      uid: '3f1c2b9e-0000-4000-8000-000000000001',
      resourceVersion: '100',
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...overrides.metadata,
    },
    spec: aJobSpec(overrides.spec),
    ...(overrides.status === undefined ? {} : { status: overrides.status }),
  };
}
export { aVerification, someContents } from './verification.ts';
