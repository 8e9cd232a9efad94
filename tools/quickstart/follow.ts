import type { ApiClient } from '@coxswain/api-client';
import { FINAL_JOB_STATES, type Job, type JobEvent, type StepPoint, type StepTime } from '@coxswain/api-types';
import { formatDuration } from '@coxswain/units';

/** What to do when something happens to the job that is followed. */
export interface Listeners {
  readonly onEvent: (event: JobEvent) => void;
  readonly onStep: (point: StepPoint, job: Job | undefined) => void;
}

/** Follows a job's live stream, across reconnections, until it ends or the signal says so; resolves to the job as it ended. */
export async function followJob(
  api: ApiClient,
  at: { readonly project: string; readonly id: string },
  options: Listeners & { readonly signal: AbortSignal },
): Promise<Job> {
  const { signal, onEvent, onStep } = options;
  let lastEventId: string | undefined;
  let job: Job | undefined;
  while (!signal.aborted) {
    for await (const change of api.changes(at, { lastEventId, signal })) {
      if (change.kind === 'job') {
        job = change.job;
        if (FINAL_JOB_STATES.has(job.state)) break;
      }
      if (change.kind === 'step') onStep(change.point, job);
      if (change.kind === 'event') {
        lastEventId = change.lastEventId;
        onEvent(change.event);
      }
    }
    job = await api.job(at);
    if (FINAL_JOB_STATES.has(job.state)) return job;
  }
  throw new Error('interrupted');
}

/** `step 41 of 160 · loss 2.914 · 5,120 tokens/s · 23.4 s left`. */
export function stepSentence(point: StepPoint, totalSteps: number): string {
  const parts = [`step ${point.step} of ${totalSteps}`];
  if (point.loss !== null) parts.push(`loss ${point.loss.toFixed(3)}`);
  if (point.tokensPerSecond !== null)
    parts.push(`${Math.round(point.tokensPerSecond).toLocaleString('en-US')} tokens/s`);
  parts.push(`${formatDuration((totalSteps - point.step) * point.stepTimeMs)} left`);
  return parts.join(' · ');
}

/** `118 ms predicted before it ran, 124 ms measured (-4.8 %)`. */
export function stepTimeSentence({ predictedMs, measuredMs, errorPct }: StepTime): string {
  const predicted = predictedMs === null ? 'not predicted' : `${formatDuration(predictedMs)} predicted before it ran`;
  if (measuredMs === null) return predicted;
  const error = errorPct === null ? '' : ` (${errorPct > 0 ? '+' : ''}${errorPct.toFixed(1)} %)`;
  return `${predicted}, ${formatDuration(measuredMs)} measured${error}`;
}
