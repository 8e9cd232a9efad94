/** Logs of pods that are gone, in a claim and in a bucket, under the whole control plane. */
import type { Job } from '@coxswain/api-types';
import { openStore } from '@coxswain/checkpoint-store';
import { type CoxswainSystem, waitFor } from '@coxswain/local-cluster';
import { type ObjectStore, startObjectStore } from '@coxswain/test-harness';
import { sleeperSpec, UNTIL_STOPPED } from './support/jobs.ts';
import { createProject, jobIn, submit, type TestProject } from './support/project.ts';
import { releaseSharedSystem, sharedSystem } from './support/shared-system.ts';

const KEY = 'wandb-key-0123456789';
const SECRETS = {
  'job-wandb': { key: KEY },
  'job-bucket': { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' },
};

let system: CoxswainSystem;
let project: TestProject;
let stranger: TestProject;
let objects: ObjectStore;

beforeAll(async () => {
  [system, objects] = await Promise.all([sharedSystem(), startObjectStore()]);
  [project, stranger] = await Promise.all([createProject(system, 'logs'), createProject(system, 'strangers')]);
  for (const [name, stringData] of Object.entries(SECRETS)) {
    await system.plane.admin.json({
      method: 'POST',
      path: `/api/v1/namespaces/${project.name}/secrets`,
      body: { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData },
    });
  }
});

afterAll(async () => {
  await Promise.all([releaseSharedSystem(), objects.stop()]);
});

/** A job that prints a line of each rank and then a key, and runs until it is stopped. */
function talking(checkpoint: Job['spec']['checkpoint']): Job['spec'] {
  const spec = sleeperSpec({ steps: UNTIL_STOPPED, stepMs: 100 }, { checkpoint });
  const { command = [] } = spec.engine;
  const script = 'echo "hello of rank $RANK"; echo "key $WANDB_KEY"; exec "$@"';
  const secretEnv = [{ name: 'WANDB_KEY', secret: 'job-wandb', key: 'key', optional: false }];
  return { ...spec, engine: { ...spec.engine, command: ['sh', '-c', script, 'sh', ...command], secretEnv } };
}

async function logOf(
  job: Job,
  query: string,
  reader = project,
): Promise<{ source: string | null; text: string; status: number }> {
  const answer = await fetch(`${system.apiUrl}/v1/projects/${project.name}/jobs/${job.id}/logs?${query}`, {
    headers: { authorization: `Bearer ${reader.token}` },
  });
  return { source: answer.headers.get('coxswain-log-source'), text: await answer.text(), status: answer.status };
}

/** So many logs are in the bucket. An object appears some seconds after the first line. */
async function uploaded(count: number): Promise<void> {
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
  const bucket = await openStore(`s3://${objects.bucket}/runs`, { endpoint: objects.endpoint, credentials });
  const areThere = async (): Promise<boolean> => (await bucket.list(`coxswain-logs/${project.name}`)).length >= count;
  await waitFor(areThere, { what: 'logs in the bucket' });
}

/** Ends every pod of the job at once, as the loss of a node does. */
async function deletePods(job: Job): Promise<void> {
  const pods = `/api/v1/namespaces/${project.name}/pods`;
  await system.plane.admin.json({
    method: 'DELETE',
    path: `${pods}?labelSelector=training.coxswain.dev/job-name%3D${job.name}&gracePeriodSeconds=0`,
  });
}

it.each([
  ['a claim', 'in-a-claim', () => ({ claimName: 'checkpoints', path: 'runs', everySteps: 10 })],
  [
    'a bucket',
    'in-a-bucket',
    () => ({
      path: '',
      everySteps: 10,
      bucket: { uri: `s3://${objects.bucket}/runs`, endpoint: objects.endpoint, credentialsSecret: 'job-bucket' },
    }),
  ],
])('what ranks wrote is kept in %s when their pods are gone', async (_where, name, checkpoint) => {
  const job = await submit(project, name, talking(checkpoint()));
  await jobIn(project, job.id, ['Running'], { and: ({ progress }) => (progress?.step ?? 0) > 20 });
  expect(await logOf(job, 'rank=1')).toMatchObject({ source: 'pod', text: expect.stringContaining('hello of rank 1') });
  if (name === 'in-a-bucket') await uploaded(4);
  await deletePods(job);
  await project.api.cancel({ project: project.name, id: job.id });
  await jobIn(project, job.id, ['Cancelled']);

  const { source, text } = await logOf(job, 'rank=1&attempt=1');
  expect(source).toBe('kept');
  expect(text).toContain('[rank 1] hello of rank 1\n[rank 1] key ***\n');
  expect(text).not.toContain(KEY);
  expect(text).not.toContain('rank 0');
  const all = await logOf(job, 'allRanks=true&attempt=1&grep=hello');
  expect(all.text).toBe([0, 1, 2, 3].map((rank) => `[rank ${rank}] hello of rank ${rank}\n`).join(''));
  expect((await logOf(job, 'rank=1&attempt=1', stranger)).status).toBe(404);
});
