import { setTimeout as delay } from 'node:timers/promises';
import { startSystem, waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import { brokenInvariants, expectRowsToEqualCluster } from './support/audit.ts';
import { sleeperSpec } from './support/jobs.ts';
import { createProject, jobIn, resource, submit, type TestProject } from './support/project.ts';

/** As long as the promise says; the wait is the subject of the test. */
const OUTAGE_MS = 30_000;

let system: CoxswainSystem;
let project: TestProject;

beforeAll(async () => {
  system = await startSystem({ shortLeases: true });
  project = await createProject(system, 'outages');
});

afterAll(async () => {
  await system.stop();
});

describe('PostgreSQL gone for 30 s', () => {
  it('stops no job: it finishes meanwhile, and its row follows when the database is back', async () => {
    const job = await submit(project, 'without-database', sleeperSpec({ steps: 300 }));
    await jobIn(project, job.id, ['Running']);
    await system.postgres.pause();
    const answer = await fetch(`${system.apiUrl}/v1/projects/${project.name}/jobs`, {
      headers: { authorization: `Bearer ${project.token}` },
    });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).not.toBeNull();
    await delay(OUTAGE_MS);
    const isComplete = async (): Promise<boolean> =>
      (await resource(system, project.name, 'without-database')).status?.state === 'Complete';
    await waitFor(isComplete, { what: 'the job to finish without a database' });
    await system.postgres.start();
    const done = await jobIn(project, job.id, ['Complete']);
    expect(done.attempts).toHaveLength(1);
    await expectRowsToEqualCluster(system, project);
  });
});

describe('the API server gone for 30 s', () => {
  it('stops no rank: the gang trains on and the job completes in its first epoch', async () => {
    const job = await submit(project, 'without-apiserver', sleeperSpec({ steps: 400, stepMs: 100 }));
    await jobIn(project, job.id, ['Running']);
    await system.plane.components.apiserver.stop({ graceMs: 1_000 });
    await delay(OUTAGE_MS);
    await system.plane.components.apiserver.start();
    const done = await jobIn(project, job.id, ['Complete']);
    expect(done.attempts.map((attempt) => attempt.outcome)).toEqual(['Succeeded']);
    expect(done.checkpoint?.step).toBe(400);
    await expectRowsToEqualCluster(system, project);
    expect(await brokenInvariants(system, project.name)).toEqual([]);
  });

  it('a job submitted meanwhile is accepted, and runs when it is back', async () => {
    await system.plane.components.apiserver.stop({ graceMs: 1_000 });
    const job = await submit(project, 'submitted-meanwhile', sleeperSpec({ steps: 5 }));
    expect(job.state).toBe('Submitting');
    await system.plane.components.apiserver.start();
    await jobIn(project, job.id, ['Complete']);
  });
});
