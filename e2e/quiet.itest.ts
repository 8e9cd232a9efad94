import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { startSystem, type CoxswainSystem } from '@coxswain/test-harness';
import { sleeperSpec } from './support/jobs.ts';
import { createProject, jobIn, submit, type TestProject } from './support/project.ts';

const FINISHED_JOBS = 50;
const RUNNING_JOBS = 5;
const WATCH_MS = 60_000;
const PROGRESS_EVERY_MS = 15_000;
const OPERATOR = 'system:serviceaccount:coxswain-system:coxswain-operator';

interface AuditEntry {
  readonly stage: string;
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly requestReceivedTimestamp: string;
  readonly objectRef?: { readonly resource: string; readonly subresource?: string; readonly name?: string };
}

let system: CoxswainSystem;
let project: TestProject;

beforeAll(async () => {
  system = await startSystem({ audit: true });
  project = await createProject(system, 'quiet');
  const layout = { layout: { tensorParallelDegree: 1 } };
  // Without a claim for checkpoints and with the shortest life: fifty of them end soon, a few at a time on eight GPUs.
  const short = await Promise.all(
    Array.from({ length: FINISHED_JOBS }, (_, index) =>
      submit(project, `done-${index}`, sleeperSpec({ steps: 1, stepMs: 1 }, layout)),
    ),
  );
  for (const { id } of short) await jobIn(project, id, ['Complete'], { deadlineMs: 300_000 });
  const long = await Promise.all(
    Array.from({ length: RUNNING_JOBS }, (_, index) =>
      submit(project, `runs-${index}`, sleeperSpec({ steps: 100_000, stepMs: 500, saveEvery: 90_000 }, layout)),
    ),
  );
  for (const { id } of long)
    await jobIn(project, id, ['Running'], { deadlineMs: 60_000, and: ({ progress }) => progress !== null });
}, 500_000);

afterAll(async () => {
  await system.stop();
}, 60_000);

describe('a settled cluster', () => {
  it('is quiet: the operator writes nothing but its lease and true progress', async () => {
    const from = new Date().toISOString();
    await delay(WATCH_MS); // What is claimed is about this time, so it has to pass.
    const writes = readFileSync(system.plane.auditLogPath, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as AuditEntry)
      .filter(
        (entry) =>
          entry.stage === 'ResponseComplete' &&
          entry.user.username === OPERATOR &&
          entry.requestReceivedTimestamp >= from,
      )
      .filter((entry) => !['get', 'list', 'watch'].includes(entry.verb));
    const others = writes.filter(
      ({ objectRef }) =>
        objectRef?.resource !== 'leases' &&
        !(objectRef?.resource === 'trainingjobs' && objectRef.subresource === 'status'),
    );
    expect(others.map(({ verb, objectRef }) => `${verb} ${objectRef?.resource}/${objectRef?.name}`)).toEqual([]);
    const progress = writes.filter(({ objectRef }) => objectRef?.resource === 'trainingjobs');
    expect(progress.filter(({ objectRef }) => !objectRef?.name?.startsWith('runs-'))).toEqual([]);
    expect(progress.length).toBeLessThanOrEqual(RUNNING_JOBS * (WATCH_MS / PROGRESS_EVERY_MS + 1));
    expect(progress.length).toBeGreaterThan(0);
  }, 120_000);
});
