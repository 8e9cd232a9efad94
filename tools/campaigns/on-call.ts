import type { Job } from '@coxswain/api-types';
import { ApiClient } from '@coxswain/api-client';
import { type CoxswainSystem, startSystem, waitFor } from '@coxswain/local-cluster';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { type SickJob, SICK_JOBS, specOf } from './on-call/cases.ts';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'Runs ten sick jobs on the local system, and compares what a person on call reads about each with what is wrong (arguments: names of jobs).';

const PROJECT = 'on-call';
/** An idle gang is reported after this time, so that a run need not wait for ten minutes. */
const IDLE_MS = 60_000;
/** For all jobs, on a machine with two busy cores. */
const DEADLINE_MS = 1_500_000;
const LOOK_MS = 2_000;

/** Resolves with true if Coxswain says about each job what is wrong. */
export async function run(args: readonly string[]): Promise<boolean> {
  const chosen = SICK_JOBS.filter(({ name }) => args.length === 0 || args.includes(name));
  const system = await startSystem({ operatorEnvironment: { COXSWAIN_IDLE_GANG_MS: String(IDLE_MS) } });
  try {
    const api = await openProject(system);
    const results: boolean[] = [];
    // Two have room at a time; the others are queued.
    await Promise.all(chosen.map(async (sick) => results.push(await judge(api, sick))));
    process.stdout.write(`${results.filter(Boolean).length} of ${chosen.length} are as they should be.\n`);
    return results.every(Boolean);
  } finally {
    await system.stop();
  }
}

async function openProject(system: CoxswainSystem): Promise<ApiClient> {
  const folders = await system.createNamespace(PROJECT, ['corpus', 'checkpoints']);
  copyFileSync(join(import.meta.dirname, 'on-call/sick.py'), join(folders['corpus'] ?? '', 'sick.py'));
  await system.admin.createProject({ name: PROJECT, namespaces: [PROJECT] });
  const { token } = await system.admin.createToken(PROJECT, { name: 'campaign', role: 'operator' });
  return new ApiClient({ server: system.apiUrl, token });
}

/** Submits the job, and waits until it is judged as it should be or never will be. */
async function judge(api: ApiClient, sick: SickJob): Promise<boolean> {
  const { id } = await api.createJob(PROJECT, { name: sick.name, spec: specOf(sick) });
  const at = { project: PROJECT, id };
  let last: Job | undefined;
  const isRight = await waitFor(
    async () => {
      last = await api.job(at);
      return isJudged(last, sick) ? true : undefined;
    },
    { intervalMs: LOOK_MS, deadlineMs: DEADLINE_MS, what: `the judgement on ${sick.name}` },
  ).catch(() => false);
  process.stdout.write(`${isRight ? '✓' : '✗'} ${sick.name}: ${sick.truth}\n    ${last?.state}: ${last?.summary}\n`);
  if (last?.lastFailure) process.stdout.write(`    ${last.lastFailure.blame}: ${last.lastFailure.verdict}\n`);
  await api.deleteJob(at);
  return isRight;
}

function isJudged({ state, summary, lastFailure }: Job, { state: wanted, says, blame }: SickJob): boolean {
  const text = [summary, lastFailure?.verdict, lastFailure?.advice, ...(lastFailure?.lastLines ?? [])].join('\n');
  return wanted.test(state) && says.test(text) && (blame === undefined || lastFailure?.blame === blame);
}
