import { API_GROUP_VERSION, type Checkpoint } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { aLayout } from '@coxswain/layout/testing';
import type { CheckpointManifest } from '../manifest.ts';
import { checkpointName } from '../paths.ts';

export { fixture } from './fixture.ts';

/** A complete checkpoint of {@link aTrainingJob}, of attempt 1 and step 20. */
export function aCheckpoint(spec: Partial<Checkpoint['spec']> = {}): Checkpoint {
  const job = aTrainingJob();
  const { epoch = 1, step = 20 } = spec;
  const name = checkpointName(job.metadata, { epoch, step });
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'Checkpoint',
    metadata: { name, namespace: 'research', uid: `uid-of-${name}`, creationTimestamp: '2026-01-01T00:05:00Z' },
    spec: {
      jobName: job.metadata.name,
      jobUid: job.metadata.uid,
      epoch,
      step,
      claimName: 'checkpoints',
      path: `tiny-gpt-3f1c2b9e/epoch-${epoch}/step-${step}`,
      layout: job.spec.layout,
      format: 'torch_dcp',
      bytes: 1000,
      files: 4,
      manifestSha256: 'a'.repeat(64),
      ...spec,
    },
    status: { state: 'Complete' },
  };
}

/** A manifest of two files. */
export function aManifest(overrides: Partial<CheckpointManifest> = {}): CheckpointManifest {
  return {
    formatVersion: 1,
    engine: 'reference',
    format: 'torch_dcp',
    step: 20,
    tokensSeen: 20_480,
    layout: aLayout({ tensorParallelDegree: 2, dataParallelDegree: 2 }),
    model: { layers: 4, hiddenSize: 128, attentionHeads: 4, sequenceLength: 128 },
    training: { globalBatchSize: 8 },
    files: [
      { path: '__0_0.distcp', bytes: 10, sha256: 'a'.repeat(64) },
      { path: '.metadata', bytes: 5, sha256: 'b'.repeat(64) },
    ],
    ...overrides,
  };
}
