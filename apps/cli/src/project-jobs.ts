import type { ApiClient } from '@coxswain/api-client';
import type { Job } from '@coxswain/api-types';
import { CliError } from './cli-error.ts';
import type { Settings } from './settings.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** How a command finds its job: the project that was named or that the token belongs to, and a job in it by name or id. */
export interface ProjectJobs {
  readonly api: ApiClient;
  readonly project: string;
  /** Throws a {@link CliError} when there is no such job. */
  find(
    nameOrId: string,
  ): Promise<{ readonly job: Job; readonly at: { readonly project: string; readonly id: string } }>;
}

/** Throws a {@link CliError} when neither settings nor token name a project. */
export async function openProject(api: ApiClient, settings: Pick<Settings, 'project'>): Promise<ProjectJobs> {
  const project = settings.project ?? (await api.whoAmI()).project;
  if (project === null)
    throw new CliError('This token may use every project: name one with --project or COXSWAIN_PROJECT.');
  return {
    api,
    project,
    find: async (nameOrId) => {
      const job = await findJob(api, project, nameOrId);
      return { job, at: { project, id: job.id } };
    },
  };
}

async function findJob(api: ApiClient, project: string, nameOrId: string): Promise<Job> {
  if (UUID.test(nameOrId)) return api.job({ project, id: nameOrId });
  for await (const { id, name, state } of api.jobs(project)) {
    if (name === nameOrId && state !== 'Deleted') return api.job({ project, id });
  }
  throw new CliError(`No job named "${nameOrId}" in project ${project}. \`coxswain list\` shows those there are.`);
}
