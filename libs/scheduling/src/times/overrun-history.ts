/** How much longer than stated did the last jobs of a namespace run? Kept in memory; a new process reads it from the jobs that it finds. */
import { isFinished, stepsOf, type TrainingJob } from '@coxswain/api-types';
import { runningAttempt } from './predicted-end.ts';

/** Ended jobs that count, for each namespace. */
export const KEPT_ENDS = 20;
/** Namespaces with ends that are kept: those whose jobs ended last. */
const MOST_NAMESPACES = 4_096;
/** Of ten jobs, nine took no longer than what is assumed. */
const EXCEEDED_BY = 0.1;

/** The steps that ended jobs made, as multiples of those that they stated, by namespace. Shorter runs count as 1: a job may end early. */
export class OverrunHistory {
  /** Newest last; the namespace whose job ended last is last. */
  readonly #ends = new Map<string, readonly number[]>();

  /** The job changed, or was deleted (`after` undefined). It counts when it ends, or is deleted before. */
  jobChanged(before: TrainingJob, after: TrainingJob | undefined): void {
    if (isOver(before) || (after !== undefined && !isOver(after))) return;
    this.#add(after ?? before);
  }

  /** Reads the jobs that ended before this process began. */
  read(jobs: readonly TrainingJob[]): void {
    const endOf = ({ status }: TrainingJob): string => status?.attempts?.at(-1)?.endedAt ?? '';
    const ended = jobs.filter(isOver).toSorted((one, other) => (endOf(one) < endOf(other) ? -1 : 1));
    for (const job of ended) this.#add(job);
  }

  /** By how much to multiply the steps that a job of the namespace states, to get those that it makes at the latest. At least 1. */
  factorOf(namespace: string): number {
    const longestFirst = (this.#ends.get(namespace) ?? []).toSorted((one, other) => other - one);
    return longestFirst[Math.floor(EXCEEDED_BY * longestFirst.length)] ?? 1;
  }

  #add(job: TrainingJob): void {
    const overrun = overrunOf(job);
    if (overrun === undefined) return;
    const { namespace = '' } = job.metadata;
    const ends = [...(this.#ends.get(namespace) ?? []), overrun].slice(-KEPT_ENDS);
    this.#ends.delete(namespace);
    this.#ends.set(namespace, ends);
    const [oldest] = this.#ends.keys();
    if (this.#ends.size > MOST_NAMESPACES && oldest !== undefined) this.#ends.delete(oldest);
  }
}

/** Whether the job has ended for good. */
function isOver(job: TrainingJob): boolean {
  return runningAttempt(job) === undefined && isFinished(job);
}

/** undefined: the job stated no steps, or reported none. */
function overrunOf({ spec, status }: TrainingJob): number | undefined {
  const stated = stepsOf(spec);
  const made = status?.progress?.step;
  return stated === undefined || stated <= 0 || made === undefined ? undefined : Math.max(1, made / stated);
}
