import { delimiter, join, resolve } from 'node:path';
import type { CoxswainSystem } from '@coxswain/local-cluster';
import { brokenInvariants, expectRowsToEqualCluster } from './support/audit.ts';
import { sleeperSpec } from './support/jobs.ts';
import { createProject, jobIn, ranksOf, submit, type TestProject } from './support/project.ts';
import { releaseSharedSystem, sharedSystem } from './support/shared-system.ts';

const ROOT = resolve(import.meta.dirname, '..');
/** Python's own place for what a site does to every start of it: the faults are of the node, not of the preflight. */
const PYTHONPATH = [
  join(ROOT, 'apps/launcher/src/preflight/testing/faults'),
  join(ROOT, 'engines/sleeper'),
  join(ROOT, 'engines/agent'),
].join(delimiter);

let system: CoxswainSystem;
let project: TestProject;

beforeAll(async () => {
  system = await sharedSystem();
  project = await createProject(system, 'preflight');
});

afterAll(async () => {
  await releaseSharedSystem();
});

/** Three pods of one rank on three of the four nodes, which lie in two islands of two. */
function specWith(env: Readonly<Record<string, string>>): ReturnType<typeof sleeperSpec> {
  const { engine, ...spec } = sleeperSpec({ steps: 3 });
  return sleeperSpec(
    { steps: 3 },
    {
      ...spec,
      engine: { ...engine, env: Object.entries({ PYTHONPATH, ...env }).map(([name, value]) => ({ name, value })) },
      layout: { tensorParallelDegree: 1, pipelineParallelDegree: 3 },
      resources: { gpusPerNode: 1, acrossIslands: 'Sockets' },
    },
  );
}

it('a gang in which nobody differs is looked at, and trains; its attempt says what it ran on', async () => {
  const job = await submit(project, 'alike', specWith({}));
  const { attempts } = await jobIn(project, job.id, ['Complete']);
  expect(attempts).toMatchObject([
    { preflight: { outcome: 'Passed', notes: [] }, fingerprint: { python: expect.stringMatching(/^3\./) } },
  ]);
});

it('a node with a short /dev/shm is named before the first rank, avoided, and not charged', async () => {
  const clean = await submit(project, 'where', specWith({}));
  await jobIn(project, clean.id, ['Complete']);
  const [bad = ''] = (await ranksOf(project, { id: clean.id, count: 3 })).map(({ node }) => node);
  const job = await submit(project, 'short', specWith({ PLANTED_FAULT: 'shm', PLANTED_NODE: bad }));
  const { attempts, restarts } = await jobIn(project, job.id, ['Complete', 'Failed']);
  expect(attempts).toMatchObject([
    {
      reason: 'PreflightFailed',
      charged: false,
      message: expect.stringMatching(new RegExp(`^Preflight: Node ${bad}: /dev/shm holds 64.0 MiB where .* is usual`)),
      preflight: { outcome: 'NodesNamed' },
    },
    { outcome: 'Succeeded', preflight: { outcome: 'Passed' } },
  ]);
  expect(restarts).toEqual({ total: 1, charged: 0 });
  expect((await ranksOf(project, { id: job.id, count: 3 })).map(({ node }) => node)).not.toContain(bad);
  expect(attempts[0]?.lastStep).toBeUndefined();
});

it('where the others do not hold the gang, a node that was named is used again and not named twice', async () => {
  const spec = specWith({ PLANTED_FAULT: 'shm', PLANTED_NODE: 'local-b1' });
  const layout = { ...spec.layout, tensorParallelDegree: 1, pipelineParallelDegree: 4, dataParallelDegree: 1 };
  const job = await submit(project, 'all-nodes', { ...spec, layout });
  const { attempts } = await jobIn(project, job.id, ['Complete', 'Failed']);
  expect(attempts).toMatchObject([
    { reason: 'PreflightFailed' },
    {
      outcome: 'Succeeded',
      preflight: { outcome: 'Passed', notes: [expect.stringMatching(/^node local-b1 is used again/)] },
    },
  ]);
});

it('leaves rows that equal the cluster, and no broken invariant', async () => {
  await expectRowsToEqualCluster(system, project);
  expect(await brokenInvariants(system, project.name)).toEqual([]);
});
