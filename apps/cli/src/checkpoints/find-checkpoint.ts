import { ApiProblem } from '@coxswain/api-client';
import type { CheckpointRecord } from '@coxswain/api-types';
import { stat } from 'node:fs/promises';
import { CliError } from '../cli-error.ts';
import type { ProjectJobs } from '../session/project-jobs.ts';
import type { Session } from '../session/session.ts';

/** Name of an object of Kubernetes. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A checkpoint of the project, and the project. */
export interface FoundCheckpoint {
  readonly project: ProjectJobs;
  readonly checkpoint: CheckpointRecord;
  readonly at: { readonly project: string; readonly uid: string };
}

/** Whether the location of a save is the name of a Checkpoint: without a slash, and no directory here has it. */
export async function isCheckpointName(location: string): Promise<boolean> {
  if (!NAME.test(location)) return false;
  return (await stat(location).catch(() => undefined)) === undefined;
}

/** By name or UID. A name that only deleted ones have means the newest of them. */
export async function findCheckpoint(session: Session, nameOrUid: string): Promise<FoundCheckpoint> {
  const project = await openFor(session, nameOrUid);
  const found = (await byUid(project, nameOrUid)) ?? (await byName(project, nameOrUid));
  return { project, checkpoint: found, at: { project: project.project, uid: found.uid } };
}

async function openFor(session: Session, name: string): Promise<ProjectJobs> {
  try {
    return await session.open();
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    throw new CliError(
      `${name} is no directory here, so it is looked up as a Checkpoint of a project. ${error.message}`,
      error.exitCode,
    );
  }
}

async function byUid({ api, project }: ProjectJobs, uid: string): Promise<CheckpointRecord | undefined> {
  if (!UUID.test(uid)) return undefined;
  return await api.checkpoint({ project, uid }).catch((error: unknown) => {
    if (error instanceof ApiProblem && error.status === 404) return undefined;
    throw error;
  });
}

async function byName({ api, project }: ProjectJobs, name: string): Promise<CheckpointRecord> {
  const { items } = await api.projectCheckpoints(project, { name, deleted: true });
  const live = items.filter(({ deletedAt }) => deletedAt === null);
  const [only, ...others] = live.length > 0 ? live : items.slice(0, 1);
  if (only === undefined) {
    throw new CliError(
      `No Checkpoint named "${name}" in project ${project}, and no directory of that name here. \`coxswain checkpoint list\` lists the Checkpoints.`,
    );
  }
  if (others.length === 0) return only;
  const each = live.map(({ uid, namespace }) => `${uid} (namespace ${namespace})`).join(', ');
  throw new CliError(
    `Project ${project} has ${live.length} Checkpoints named "${name}". Give one of the UIDs ${each}.`,
  );
}
