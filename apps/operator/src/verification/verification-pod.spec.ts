import { type Checkpoint, LABELS } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { aCheckpoint } from '@coxswain/checkpoint/testing';
import { WorkerPlacement } from '../config/worker-placement.ts';
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

describe('where an administrator lets workers run', () => {
  const workers = WorkerPlacement.parse({
    nodeSelector: { 'example.com/pool': 'system' },
    tolerations: [{ key: 'system', operator: 'Exists' }],
    priorityClassName: 'low',
    labels: { team: 'platform', [LABELS.worker]: 'another' },
    annotations: { 'example.com/note': 'a' },
  });
  const podWith = (placement?: WorkerPlacement): Readonly<Record<string, unknown>> =>
    workerPod(
      { checkpoint: aCheckpoint({ step: 20 }), level: 'V3', otherThan: [], why: 'Requested' },
      {
        launcherImage: 'launcher',
        user: 1000,
        job: aTrainingJob(),
        runtime: undefined,
        node: undefined,
        ...(placement === undefined ? {} : { workers: placement }),
      },
    );

  it('is what their pods ask for, and no label of theirs replaces ours', () => {
    const { metadata, spec } = podWith(workers);
    expect(metadata).toMatchObject({
      labels: { team: 'platform', [LABELS.worker]: 'verify' },
      annotations: { 'example.com/note': 'a' },
    });
    expect(spec).toMatchObject({
      nodeSelector: { 'example.com/pool': 'system' },
      priorityClassName: 'low',
      tolerations: [{ key: 'nvidia.com/gpu' }, { key: 'system' }],
    });
  });

  it('is any node, where nothing is said', () => {
    expect(podWith()['spec']).not.toHaveProperty('nodeSelector');
    expect(podWith()['spec']).not.toHaveProperty('priorityClassName');
  });
});
