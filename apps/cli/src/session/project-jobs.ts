import type { ApiClient } from '@coxswain/api-client';
import type { Job, WhoAmI } from '@coxswain/api-types';
import { nearestWord } from '@coxswain/layout';
import { CliError } from '../cli-error.ts';
import type { Settings } from './settings.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const NAME = /^[a-z0-9][-.a-z0-9]{0,252}$/;

/** Finds jobs by name or id, in the project that was named or that the token belongs to. */
export interface ProjectJobs {
  readonly api: ApiClient;
  /** Base URL of the API and the dashboard. */
  readonly server: string;
  readonly project: string;
  /** Throws a {@link CliError} when there is no such job. */
  find(
    nameOrId: string,
  ): Promise<{ readonly job: Job; readonly at: { readonly project: string; readonly id: string } }>;
}

/** Throws a {@link CliError} when neither settings nor token name a project. */
export async function openProject(
  api: ApiClient,
  settings: Pick<Settings, 'project' | 'server'>,
): Promise<ProjectJobs> {
  const project = settings.project ?? onlyProjectOf(await api.whoAmI());
  return {
    api,
    server: settings.server,
    project,
    find: async (nameOrId) => {
      const job = await findJob(api, project, nameOrId);
      return { job, at: { project, id: job.id } };
    },
  };
}

/** The job's address in the dashboard. */
export function pageOfJob({ server, project }: Pick<ProjectJobs, 'server' | 'project'>, { id }: Job): string {
  return `${server}/projects/${project}/jobs/${id}`;
}

function onlyProjectOf({ project, memberships }: WhoAmI): string {
  if (project !== null) return project;
  const which =
    memberships.length === 0
      ? 'You may use every project'
      : `You belong to ${memberships.map((one) => one.project).join(', ')}`;
  throw new CliError(`${which}: name one with --project or COXSWAIN_PROJECT.`);
}

async function findJob(api: ApiClient, project: string, nameOrId: string): Promise<Job> {
  if (UUID.test(nameOrId)) return api.job({ project, id: nameOrId });
  // Whatever begins like it comes too, the newest first. A refused job leaves its name to another, and gives way to it.
  const found = NAME.test(nameOrId) ? api.jobs(project, { q: nameOrId }) : [];
  let refused: string | undefined;
  for await (const { id, name, state } of found) {
    if (name !== nameOrId) continue;
    if (state !== 'Refused') return api.job({ project, id });
    refused ??= id;
  }
  if (refused !== undefined) return api.job({ project, id: refused });
  const meant = nearestWord(await newestNames(api, project), nameOrId);
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
  throw new CliError(
    `No job named "${nameOrId}" in project ${project}.${hint} \`coxswain list\` lists the existing ones.`,
  );
}

/** Jobs among which a misspelled name is looked for. */
const MOST_NAMES = 500;

async function newestNames(api: ApiClient, project: string): Promise<readonly string[]> {
  const names = new Set<string>();
  for await (const { name } of api.jobs(project, {})) {
    names.add(name);
    if (names.size >= MOST_NAMES) break;
  }
  return [...names];
}
