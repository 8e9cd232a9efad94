import { aLayout } from '@coxswain/layout/testing';
import { API_GROUP_VERSION } from '../names.ts';
import { TrainingJobSpec, type TrainingJob, type TrainingJobSpecInput } from '../training-job.ts';

/** The spec of a small reference-engine job on tp2 x dp2, with every default filled in. */
export function aJobSpec(overrides: Partial<TrainingJobSpecInput> = {}): TrainingJobSpec {
  return TrainingJobSpec.parse({
    engine: { name: 'reference', image: 'coxswain/engine-reference:dev' },
    model: { layers: 4, hiddenSize: 128, attentionHeads: 4, sequenceLength: 128 },
    training: { steps: 100, globalBatchSize: 8 },
    data: { claimName: 'corpus', path: 'corpus.txt' },
    layout: aLayout({ tensorParallelDegree: 2, dataParallelDegree: 2 }),
    checkpoint: { claimName: 'checkpoints', everySteps: 20 },
    ...overrides,
  });
}

/** A job as the API server would hand it out: no status yet, generation 1. */
export function aTrainingJob(
  overrides: {
    readonly metadata?: Partial<TrainingJob['metadata']>;
    readonly spec?: Partial<TrainingJobSpecInput>;
    readonly status?: TrainingJob['status'];
  } = {},
): TrainingJob {
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
