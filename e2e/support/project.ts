import { ApiClient, ApiProblem } from '@coxswain/api-client';
import { FINAL_JOB_STATES, type Job, type JobState, type RankPlace, type TrainingJob } from '@coxswain/api-types';
import { GiveUp, waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import { randomUUID } from 'node:crypto';
import { copyFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/** A project with a namespace of its own name, its claims, and a token that may act in it. */
export interface TestProject {
  readonly name: string;
  readonly token: string;
  readonly api: ApiClient;
  /** Folder of this machine behind each claim. */
  readonly folders: Readonly<Record<string, string>>;
}

export async function createProject(system: CoxswainSystem, name: string): Promise<TestProject> {
  const folders = await system.createNamespace(name, ['checkpoints', 'corpus']);
  copyFileSync(join(ROOT, 'examples/data/logbook.txt'), join(folders['corpus'] ?? '', 'logbook.txt'));
  await system.admin.createProject({ name, namespaces: [name] });
  const { token } = await system.admin.createToken(name, { name: 'test', role: 'operator' });
  return { name, token, api: new ApiClient({ server: system.apiUrl, token }), folders };
}

/** Submits a job by REST under a name of its own. */
export function submit(project: TestProject, name: string, spec: Job['spec']): Promise<Job> {
  const key = randomUUID();
  return served(() => project.api.createJob(project.name, { name, spec }, key));
}

/** Asks again while the API says that something of it is busy for the moment, as its clients do; for what may be asked for twice. */
function served<T extends object>(ask: () => Promise<T>): Promise<T> {
  const once = async (): Promise<T | undefined> => {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof ApiProblem && error.status === 503) return undefined;
      throw new GiveUp(String(error), { cause: error });
    }
  };
  return waitFor<T | undefined>(once, { intervalMs: 500, what: 'the API to serve' });
}

export interface WaitForStateOptions {
  readonly deadlineMs?: number;
  /** Further condition on the job, e.g. a checkpoint saved. */
  readonly and?: (job: Job) => boolean;
}

/** The job once it is in one of the states; fails with its summary when that does not happen in time. API outages are waited out. */
export async function jobIn(
  project: TestProject,
  id: string,
  states: readonly (JobState | 'Refused' | 'Deleted')[],
  options: WaitForStateOptions = {},
): Promise<Job> {
  const { deadlineMs, and = (): boolean => true } = options;
  let last: Job | undefined;
  try {
    return await waitFor(
      async () => {
        last = await project.api.job({ project: project.name, id });
        if ((states as readonly string[]).includes(last.state)) return and(last) ? last : undefined;
        if (isPast(last.state, states)) throw new GiveUp(`the job will never be ${states.join(' or ')} any more`);
        return undefined;
      },
      {
        ...(deadlineMs === undefined ? {} : { deadlineMs }),
        intervalMs: 100,
        what: `the job to be ${states.join(' or ')}`,
      },
    );
  } catch (error) {
    throw new Error(
      `${error instanceof Error ? error.message : String(error)}; it is ${last?.state ?? 'unknown'}: ${last?.summary ?? ''}`,
      { cause: error },
    );
  }
}

/** From a final state a job only goes to be deleted. */
function isPast(state: string, wanted: readonly string[]): boolean {
  return (FINAL_JOB_STATES as ReadonlySet<string>).has(state) && !wanted.includes('Deleted');
}

/** Where the ranks of a job are, once placement and nodes are known to the API; they are resources of their own. */
export function ranksOf(
  project: TestProject,
  job: { readonly id: string; readonly count: number },
): Promise<readonly RankPlace[]> {
  return waitFor(
    async () => {
      const { items } = await project.api.ranks({ project: project.name, id: job.id });
      return items.length === job.count && items.every(({ island }) => island !== null) ? items : undefined;
    },
    { what: `the places of ${job.count} ranks` },
  );
}

/** The TrainingJob as the cluster has it. */
export async function resource(system: CoxswainSystem, namespace: string, name: string): Promise<TrainingJob> {
  return JSON.parse(
    await system.plane.kubectl(['-n', namespace, 'get', 'trainingjob', name, '-o', 'json']),
  ) as TrainingJob;
}
