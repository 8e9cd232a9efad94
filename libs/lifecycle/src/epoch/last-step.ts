/** What is the last known step of the current run? */
import type { Attempt } from '@coxswain/api-types';
import type { Facts } from '../observation/facts.ts';
import { podsOf } from '../observation/gang.ts';
import { isOfFence } from '../observation/incarnation.ts';
import type { ObservedPod } from '../observation/observed.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';

/** The newest step of the current attempt: reported, recorded, or from ended pods. */
export function lastStepOf(record: JobRecord, facts: Facts): { readonly lastStep?: number } {
  const { progress } = facts.observed;
  const attempt = liveAttempt(record);
  if (attempt === undefined) return {};
  const exits = podsOf(facts, attempt.epoch).map((pod) => reportedStep(pod, attempt));
  const reported = progress !== undefined && isOfFence(progress, attempt) ? progress.step : -1;
  const lastStep = Math.max(reported, attempt.lastStep ?? -1, ...exits);
  return lastStep < 0 ? {} : { lastStep };
}

/** The last step that an ended pod reports for the current incarnation; -1: none. */
export function reportedStep({ exit }: ObservedPod, attempt: Attempt): number {
  return isOfFence(exit?.cause, attempt) ? (exit?.cause?.lastStep ?? -1) : -1;
}
