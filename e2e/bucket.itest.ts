/** A job that keeps its checkpoints in a bucket, under the whole control plane and a real S3 server. */
import { type CheckpointStore, openStore } from '@coxswain/checkpoint-store';
import type { CoxswainSystem } from '@coxswain/local-cluster';
import { type ObjectStore, startObjectStore } from '@coxswain/test-harness';
import { sleeperSpec } from './support/jobs.ts';
import { createProject, jobIn, submit, type TestProject } from './support/project.ts';
import { releaseSharedSystem, sharedSystem } from './support/shared-system.ts';

const SECRET = 'job-bucket';

let system: CoxswainSystem;
let project: TestProject;
let objects: ObjectStore;
let bucket: CheckpointStore;

beforeAll(async () => {
  [system, objects] = await Promise.all([sharedSystem(), startObjectStore()]);
  project = await createProject(system, 'buckets');
  const { endpoint } = objects;
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
  bucket = await openStore(`s3://${objects.bucket}/runs`, { endpoint, credentials });
  await system.plane.admin.json({
    method: 'POST',
    path: `/api/v1/namespaces/${project.name}/secrets`,
    body: {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: SECRET },
      stringData: { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' },
    },
  });
});

afterAll(async () => {
  await Promise.all([releaseSharedSystem(), objects.stop()]);
});

it('resumes from the bucket in a new pod, whose disk is empty', async () => {
  const fault = { rank: 1, step: 15, kind: 'exit', code: 1, epoch: 1 } as const;
  const checkpoint = {
    everySteps: 10,
    bucket: { uri: bucket.location, endpoint: objects.endpoint, credentialsSecret: SECRET },
  };
  const spec = sleeperSpec(
    { steps: 25, stepMs: 100, fault },
    {
      layout: { dataParallelDegree: 2 },
      resources: { gpusPerNode: 2 },
      checkpoint,
      restartPolicy: { maxRestarts: 2, delaySeconds: 0, inPlace: 'Never' },
    },
  );
  const job = await submit(project, 'in-a-bucket', spec);
  const done = await jobIn(project, job.id, ['Complete']);
  expect(done.attempts.map(({ outcome, resumedFrom }) => [outcome, resumedFrom?.step])).toEqual([
    ['Failed', undefined],
    ['Succeeded', 10],
  ]);
  const manifests = (await bucket.list()).filter(({ path }) => path.endsWith('/manifest.json'));
  expect(manifests.length).toBeGreaterThanOrEqual(2);
  expect((await bucket.list()).filter(({ path }) => path.endsWith('.coxswain-upload'))).toEqual([]);
});
