import type { Job, StepPoint } from '@coxswain/api-types';
import { eventLine, progressLine } from './output.ts';
import type { ProjectJobs } from './project-jobs.ts';
import type { Session } from './session.ts';

const FINISHED = new Set<Job['state']>(['Complete', 'Failed', 'Cancelled', 'Refused', 'Deleted']);
const PROGRESS_EVERY_MS = 1_000;

/** Prints events, and progress once a second, until the job ends; goes on where a lost connection left off. Resolves to the exit code. */
export async function watchJob(project: ProjectJobs, job: Job, session: Session): Promise<number> {
  const at = { project: project.project, id: job.id };
  let lastEventId: string | undefined;
  let lastProgressAtMs = 0;
  for (;;) {
    for await (const change of project.api.changes(at, { lastEventId, signal: session.signal })) {
      switch (change.kind) {
        case 'event':
          lastEventId = change.lastEventId;
          session.print(eventLine(change.event));
          break;
        case 'step':
          if (session.now().getTime() - lastProgressAtMs < PROGRESS_EVERY_MS) break;
          lastProgressAtMs = session.now().getTime();
          session.print(stepLine(change.point, job));
          break;
        case 'job':
          if (FINISHED.has(change.job.state)) return finish(change.job, session);
          break;
      }
    }
    const current = await project.api.job(at);
    if (FINISHED.has(current.state)) return finish(current, session);
  }
}

function stepLine(point: StepPoint, job: Job): string {
  const totalSteps = job.spec.training?.steps ?? null;
  return `${point.at.slice(11, 19)}   ${progressLine({ ...point, totalSteps, etaSeconds: null })}`;
}

function finish(job: Job, session: Session): number {
  session.print(`${job.name}: ${job.state}. ${job.summary}`);
  return job.state === 'Complete' ? 0 : 3;
}
