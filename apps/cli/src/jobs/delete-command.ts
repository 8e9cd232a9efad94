import { ApiProblem } from '@coxswain/api-client';
import type { JobSummary } from '@coxswain/api-types';
import { formatDuration, HOUR_MS } from '@coxswain/units';
import type { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import { columns } from '../output/output.ts';
import type { ProjectJobs } from '../session/project-jobs.ts';
import { hours } from '../options/quantities.ts';
import type { Session } from '../session/session.ts';

interface DeleteOptions {
  readonly endedBefore?: number;
  readonly selector?: string;
  readonly dryRun?: true;
}

/** A project that asks too often is let in again after about a second. */
const LIMITED_PAUSE_MS = 1_000;
const MOST_TRIES = 60;

/** Deletes one job, or those that ended long ago. */
export function addDeleteCommand(program: Command, session: Session): void {
  program
    .command('delete [job]')
    .description('delete a job and its pods, or jobs that ended long ago; checkpoints and records are kept')
    .option(
      '--ended-before <duration>',
      'delete all jobs of the project that ended this long ago or earlier, e.g. 30d or 12h',
      hours,
    )
    .option('-l, --selector <selector>', 'with --ended-before: only jobs with these labels, as kubectl selects them')
    .option('--dry-run', 'with --ended-before: list these jobs without deleting them')
    .addHelpText('after', '\nExample:\n  coxswain delete --ended-before 30d --selector team=vision --dry-run')
    .action(async (name: string | undefined, options: DeleteOptions) => {
      if (name === undefined) return deleteEnded(session, options);
      if (Object.keys(options).length > 0)
        throw new CliError(`Give a job or --ended-before, not both: "${name}" is deleted whenever it ended.`);
      const project = await session.open();
      const { job, at } = await project.find(name);
      await project.api.deleteJob(at);
      session.print(`Deleting ${job.name}.`);
    });
}

async function deleteEnded(session: Session, { endedBefore, selector, dryRun }: DeleteOptions): Promise<void> {
  if (endedBefore === undefined)
    throw new CliError('Name a job, or use --ended-before 30d for all jobs that ended at least 30 days ago.');
  // A variable of a shell that is not set, more often than not.
  if (selector?.trim() === '')
    throw new CliError('--selector is empty, which would select every job: give labels, or leave it out.');
  const now = session.now();
  const project = await session.open();
  const jobs = await endedJobs(project, { before: new Date(now.getTime() - endedBefore * HOUR_MS), selector });
  if (dryRun !== undefined) return session.show(jobs, (shown) => preview(shown, now));
  let refused = 0;
  for (const [index, { id, name }] of jobs.entries()) {
    const problem = await deleteOnceLetIn(session, project, id);
    if (problem === undefined) session.print(`Deleting ${name} (${index + 1} of ${jobs.length}).`);
    else session.printError(`${name} was not deleted: ${problem}`);
    if (problem !== undefined) refused += 1;
  }
  if (jobs.length === 0) session.print('No job ended that long ago.');
  if (refused > 0) throw new CliError(`${refused} of ${jobs.length} jobs were not deleted.`);
}

/** The longest ended first. Those that the cluster refused are records alone, and those that are being deleted need nothing. */
async function endedJobs(
  { api, project }: ProjectJobs,
  wanted: { readonly before: Date; readonly selector: string | undefined },
): Promise<readonly JobSummary[]> {
  const jobs: JobSummary[] = [];
  const query = { orderBy: 'finishedAt', direction: 'asc', labelSelector: wanted.selector } as const;
  for await (const job of api.jobs(project, query)) {
    // A time that Date cannot represent lies before every job.
    if (job.finishedAt === null || !(Date.parse(job.finishedAt) < wanted.before.getTime())) break;
    if (job.state !== 'Refused' && job.state !== 'Deleting') jobs.push(job);
  }
  return jobs;
}

/** Why it was refused; undefined when it is deleted, or was meanwhile. */
async function deleteOnceLetIn(
  session: Session,
  { api, project }: ProjectJobs,
  id: string,
): Promise<string | undefined> {
  for (let tries = 1; ; tries++) {
    session.signal.throwIfAborted();
    try {
      await api.deleteJob({ project, id });
      return undefined;
    } catch (error) {
      // What holds for one job alone keeps no other from being deleted.
      if (!(error instanceof ApiProblem) || error.status === 401 || error.status >= 500) throw error;
      if (error.code === 'NOT_FOUND') return undefined;
      if (error.code !== 'RATE_LIMITED' || tries === MOST_TRIES) return error.message;
      await session.pause(LIMITED_PAUSE_MS);
    }
  }
}

function preview(jobs: readonly JobSummary[], now: Date): string {
  if (jobs.length === 0) return 'No job ended that long ago.';
  const rows = jobs.map(({ name, state, owner, finishedAt }) => [
    name,
    state,
    owner ?? '-',
    `${formatDuration(now.getTime() - Date.parse(finishedAt ?? ''))} ago`,
  ]);
  const table = columns([['NAME', 'STATE', 'OWNER', 'ENDED'], ...rows]);
  return `${table}\n${jobs.length} would be deleted; leave --dry-run out to delete them.`;
}
