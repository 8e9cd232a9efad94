import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { startSystem, waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import { sleeperSpec } from './support/jobs.ts';
import { createProject, jobIn, submit, type TestProject } from './support/project.ts';

const FINISHED_JOBS = 50;
const RUNNING_JOBS = 5;
const WATCH_MS = 60_000;
const PROGRESS_EVERY_MS = 15_000;
/** Nothing is delayed for longer than this. */
const SETTLED_MS = 10_000;
const OPERATOR = 'system:serviceaccount:coxswain-system:coxswain-operator';

interface AuditEntry {
  readonly stage: string;
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly requestReceivedTimestamp: string;
  readonly objectRef?: { readonly resource: string; readonly subresource?: string; readonly name?: string };
}

/** What the operator has written so far, lease and all. */
function writesOfOperator(): readonly AuditEntry[] {
  const lines = readFileSync(system.plane.auditLogPath, 'utf8').split('\n').slice(0, -1); // The last one may be half written.
  return lines
    .map((line) => JSON.parse(line) as AuditEntry)
    .filter(({ stage, user }) => stage === 'ResponseComplete' && user.username === OPERATOR)
    .filter(({ verb }) => !['get', 'list', 'watch'].includes(verb));
}

/** Neither its lease nor the status of a job. */
function isNews({ objectRef }: AuditEntry): boolean {
  const isStatus = objectRef?.resource === 'trainingjobs' && objectRef.subresource === 'status';
  return objectRef?.resource !== 'leases' && !isStatus;
}

function receivedAtMs({ requestReceivedTimestamp }: AuditEntry): number {
  return Date.parse(requestReceivedTimestamp);
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
  for (const { id } of short) await jobIn(project, id, ['Complete'], { deadlineMs: 500_000 });
  const long = await Promise.all(
    Array.from({ length: RUNNING_JOBS }, (_, index) =>
      submit(project, `runs-${index}`, sleeperSpec({ steps: 100_000, stepMs: 500, saveEvery: 90_000 }, layout)),
    ),
  );
  for (const { id } of long) await jobIn(project, id, ['Running'], { and: ({ progress }) => progress !== null });
}, 1_200_000);

afterAll(async () => {
  await system.stop();
});

describe('a settled cluster', () => {
  it('is quiet: the operator writes nothing but its lease and true progress', async () => {
    await waitFor(() => Date.now() - Math.max(0, ...writesOfOperator().filter(isNews).map(receivedAtMs)) > SETTLED_MS, {
      intervalMs: 1_000,
      what: 'the operator to have written what the last job gave it to write',
    });
    const fromMs = Date.now();
    await delay(WATCH_MS); // What is claimed is about this time, so it has to pass.
    const writes = writesOfOperator().filter((entry) => receivedAtMs(entry) >= fromMs);
    const watchedMs = Date.now() - fromMs;
    const others = writes.filter(isNews);
    expect(others.map(({ verb, objectRef }) => `${verb} ${objectRef?.resource}/${objectRef?.name}`)).toEqual([]);
    const progress = writes.filter(({ objectRef }) => objectRef?.resource === 'trainingjobs');
    expect(progress.filter(({ objectRef }) => !objectRef?.name?.startsWith('runs-'))).toEqual([]);
    expect(progress.length).toBeLessThanOrEqual(RUNNING_JOBS * (watchedMs / PROGRESS_EVERY_MS + 1));
    expect(progress.length).toBeGreaterThan(0);
  });
});
