/**
 * Coxswain as a whole under troubles of all kinds, one after the other, while jobs come and go. Arguments: minutes (60) and a seed. What must hold:
 * no rule is broken at any look of the auditor, every job that the API acknowledged ends well, nobody is charged for what was not its ranks' doing,
 * and rows equal the cluster in the end.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Job } from '@coxswain/api-types';
import { startSystem, waitFor } from '@coxswain/local-cluster';
import { startFaultProxy, type FaultProxy } from '@coxswain/test-harness';
import { brokenInvariants, differences } from '../support/audit.ts';
import { sleeperSpec } from '../support/jobs.ts';
import { createProject, type TestProject } from '../support/project.ts';
import { generator } from '../support/random.ts';
import { Auditor } from './auditor.ts';
import { TROUBLES } from './troubles.ts';

const [minutes = 60, seed = Date.now() % 1_000_000] = process.argv.slice(2).map(Number);
if (!(minutes > 0) || !Number.isInteger(seed)) {
  console.error('Give the minutes that the troubles last (60) and, to repeat a run, its seed (a whole number).');
  process.exit(2);
}

/** Jobs under way at once. */
const JOBS_AT_ONCE = 2;
/** A gang of the sleeping engine survives this many ranks that are killed. */
const MAX_RESTARTS = 50;
const FINISH_MS = 600_000;
const LOOK_MS = 200;

const startedMs = performance.now();
const say = (sentence: string): void =>
  console.log(`${((performance.now() - startedMs) / 1000).toFixed(0).padStart(6)} s  ${sentence}`);
const random = generator(seed);

let proxy: FaultProxy | undefined;
say(`Seed ${seed}; troubles for ${minutes} min.`);
const system = await startSystem({
  shortLeases: true,
  operators: 2,
  separateWorker: true,
  say,
  apiServerOfOperators: async (plane) => {
    const certificate = await plane.issueCertificate({ commonName: 'proxy', hosts: ['127.0.0.1'] });
    proxy = await startFaultProxy({ upstream: plane, certificate, caPem: plane.caPem });
    return proxy.url;
  },
});
const problems: string[] = [];
try {
  if (proxy === undefined) throw new Error('there is no proxy');
  await soak(await createProject(system, 'soak'), proxy);
} finally {
  await system.stop({ keepLogs: problems.length > 0 });
  await proxy?.close();
}
for (const problem of problems) console.log(`VIOLATION: ${problem}`);
say(problems.length === 0 ? 'No violation.' : `${problems.length} violations; logs are in ${system.logsDirectory}`);
process.exitCode = problems.length === 0 ? 0 : 1;

async function soak(project: TestProject, between: FaultProxy): Promise<void> {
  const auditor = new Auditor(system, project.name);
  const killed = new Map<string, number>();
  const over = new AbortController();
  const ended = new AbortController();
  const auditing = (async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await auditor.look().catch(() => undefined);
      await delay(LOOK_MS, undefined, { signal: ended.signal }).catch(() => undefined);
    }
  })();
  const jobs: Job[] = [];
  const working = Array.from({ length: JOBS_AT_ONCE }, () => work(project, jobs, over.signal));
  const parts = {
    system,
    proxy: between,
    namespace: project.name,
    random,
    onKilledRank: (name: string): void => void killed.set(name, (killed.get(name) ?? 0) + 1),
  };
  const troubles = Object.entries(TROUBLES);
  let made = 0;
  while (performance.now() - startedMs < minutes * 60_000) {
    const [name, trouble] = troubles[Math.floor(random() * troubles.length)] ?? [];
    if (name === undefined || trouble === undefined) break;
    made += 1;
    say(
      `${made}: ${name}: ${await trouble(parts).catch((error: unknown) => `it could not be made: ${String(error)}`)}`,
    );
    await delay(1_000 + random() * 6_000);
  }
  say('The troubles are over; what is under way may end.');
  over.abort();
  await Promise.all(working);
  for (const job of jobs) problems.push(...(await judge(project, job, killed.get(job.name) ?? 0)));
  await waitFor(async () => (await differences(system, project)).length === 0, {
    what: 'rows to equal the cluster',
  }).catch(async () => void problems.push(...(await differences(system, project))));
  ended.abort();
  await auditing;
  problems.push(...auditor.violations, ...(await brokenInvariants(system, project.name)));
  const killedRanks = [...killed.values()].reduce((sum, count) => sum + count, 0);
  say(`${made} troubles, ${jobs.length} jobs, ${killedRanks} ranks killed, ${auditor.looks} looks of the auditor.`);
}

/** One job after the other, until it is over; the last one is waited for. */
async function work(project: TestProject, jobs: Job[], over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const name = `job-${jobs.length + 1}-${Math.floor(random() * 1e6)}`;
    const spec = sleeperSpec(
      { steps: 60 + Math.floor(random() * 200) },
      { restartPolicy: { maxRestarts: MAX_RESTARTS, delaySeconds: 0 } },
    );
    const key = randomUUID();
    // Acknowledged or not, the same key makes one job.
    const job = await waitFor(() => project.api.createJob(project.name, { name, spec }, key), {
      deadlineMs: FINISH_MS,
      intervalMs: 500,
      what: `${name} to be acknowledged`,
    });
    jobs.push(job);
    await finished(project, job).catch((error: unknown) => problems.push(`${name}: ${String(error)}`));
  }
}

function finished(project: TestProject, { id, name }: Job): Promise<Job> {
  return waitFor(
    async () => {
      const job = await project.api.job({ project: project.name, id });
      return ['Complete', 'Failed', 'Cancelled'].includes(job.state) ? job : undefined;
    },
    { deadlineMs: FINISH_MS, intervalMs: 500, what: `${name} to end` },
  );
}

async function judge(project: TestProject, { id, name }: Job, killedRanks: number): Promise<readonly string[]> {
  const job = await project.api.job({ project: project.name, id });
  return [
    ...(job.state === 'Complete' ? [] : [`${name} is ${job.state}: ${job.summary}`]),
    ...(job.restarts.charged <= killedRanks
      ? []
      : [`${name} was charged ${job.restarts.charged} restarts for ${killedRanks} ranks that were killed`]),
  ];
}
