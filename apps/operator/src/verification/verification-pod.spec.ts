import type { Checkpoint } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { aCheckpoint } from '@coxswain/checkpoint/testing';
import { workerPod } from './verification-pod.ts';

const BUCKET = { uri: 's3://training/runs', region: 'eu-central-1' };

function specOf(bucket: NonNullable<Checkpoint['spec']['bucket']>): Record<string, unknown> {
  const checkpoint = aCheckpoint({ step: 20 });
  const inBucket = { ...checkpoint, spec: { ...checkpoint.spec, claimName: '', bucket } };
  const template = { spec: { serviceAccountName: 'trainer', containers: [] } };
  const pod = workerPod(
    { checkpoint: inBucket, level: 'V3', otherThan: [], why: 'Requested' },
    {
      launcherImage: 'launcher',
      user: 1000,
      job: aTrainingJob(),
      runtime: { kind: 'TrainingRuntime', name: 'efa', generation: 1, template } as never,
      node: undefined,
    },
  );
  return pod['spec'] as Record<string, unknown>;
}

function keyOfSecret(key: string): object {
  return { valueFrom: { secretKeyRef: { name: 'job-bucket', key, optional: false } } };
}

describe('a pod that verifies a checkpoint in a bucket', () => {
  it('mounts no volume for it, and has the credentials of the job', () => {
    const spec = specOf({ ...BUCKET, credentialsSecret: 'job-bucket' });
    expect(JSON.stringify(spec)).not.toContain('coxswain-checkpoints');
    expect(spec).not.toHaveProperty('serviceAccountName');
    expect(spec).toMatchObject({
      automountServiceAccountToken: false,
      containers: [
        {
          env: expect.arrayContaining([
            { name: 'COXSWAIN_CHECKPOINT_BUCKET', value: JSON.stringify(BUCKET) },
            expect.objectContaining(keyOfSecret('AWS_ACCESS_KEY_ID')),
            expect.objectContaining(keyOfSecret('AWS_SECRET_ACCESS_KEY')),
          ]) as unknown,
        },
      ],
    });
  });

  it('has the identity of the trainer if no Secret is named', () => {
    expect(specOf(BUCKET)).toMatchObject({ serviceAccountName: 'trainer', automountServiceAccountToken: false });
  });
});
