/** The cause of a job's newest failure: what failed, where, how it is answered, and what a person does next. */
import { formatDuration } from '@coxswain/units';
import { z } from 'zod';
import { CRASH_BLAMES, CRASH_CLASSES, type CrashClass } from './crash-class.ts';
import { counter, timestamp } from './status-fields.ts';

/** Most lines of the failed rank's log in a cause. */
export const MAX_CAUSE_LINES = 20;
/** Most characters of each of these lines. */
export const MAX_CAUSE_LINE_CHARACTERS = 300;

/** Where a failure began, and how the process ended. */
export const FailureOrigin = z
  .object({
    rank: counter.optional().describe('Rank that failed first. Absent: no rank is known.'),
    pod: z.string().max(253).optional().describe('Pod of that rank.'),
    node: z.string().max(253).optional().describe('Node of that pod, whether or not the node is to blame.'),
    exitCode: z
      .int()
      .min(0)
      .max(65_535)
      .optional()
      .describe('Exit code of the process. Absent: unknown, or a signal ended it.'),
    signal: z.string().max(32).optional().describe('Signal that ended the process. Absent: none.'),
  })
  .meta({ id: 'FailureOrigin' });
export type FailureOrigin = z.infer<typeof FailureOrigin>;

/** The newest failure of a job, as every surface shows it. libs/lifecycle derives it from the attempts. */
export const JobFailure = z
  .object({
    attempt: z.string().describe('Attempt, and its incarnation if it had several: `3` or `2.1`.'),
    at: timestamp.describe('When the failure was recorded.'),
    isFinal: z.boolean().describe('Whether the job ended with it.'),
    verdict: z.string().describe('What failed, where and how, in one sentence.'),
    reason: z.string().describe('Reason of the end of the attempt.'),
    rank: counter.nullable(),
    pod: z.string().nullable(),
    node: z.string().nullable(),
    exitCode: counter.nullable(),
    signal: z.string().nullable(),
    class: z
      .enum(Object.keys(CRASH_CLASSES) as [CrashClass, ...CrashClass[]])
      .nullable()
      .describe('null: not judged.'),
    blame: z.enum(CRASH_BLAMES).nullable().describe('What caused it. null: not judged.'),
    lastLines: z
      .array(z.string())
      .max(MAX_CAUSE_LINES)
      .describe('Traceback of the rank that failed first, or the last lines of its log. Empty: none were kept.'),
    answer: z.string().describe('What follows from it, in one sentence: why the job ended, or how it goes on.'),
    nextAttemptAt: timestamp.nullable().describe('Earliest time of the restart. null: no restart waits for a time.'),
    advice: z.string().describe('What a person does next.'),
  })
  .meta({ id: 'JobFailure' });
export type JobFailure = z.infer<typeof JobFailure>;

/** `exit code 137 (SIGKILL)`; undefined: no process ended. */
export function formatExit({ exitCode, signal }: Pick<JobFailure, 'exitCode' | 'signal'>): string | undefined {
  if (exitCode === null) return signal ?? undefined;
  return signal === null ? `exit code ${exitCode}` : `exit code ${exitCode} (${signal})`;
}

/** `rank 3, pod tiny-1a5e-e1-1, node gpu-b`; undefined: nothing of it is known. */
export function formatPlaceOfFailure({
  rank,
  pod,
  node,
}: Pick<JobFailure, 'rank' | 'pod' | 'node'>): string | undefined {
  const parts = [
    rank === null ? [] : [`rank ${rank}`],
    pod === null ? [] : [`pod ${pod}`],
    node === null ? [] : [`node ${node}`],
  ].flat();
  return parts.length === 0 ? undefined : parts.join(', ');
}

/** `Attempt 4 follows in 20.0 s.`, with the waiting time as of now. */
export function formatAnswer({ answer, nextAttemptAt }: JobFailure, now: Date): string {
  const waitMs = nextAttemptAt === null ? 0 : Date.parse(nextAttemptAt) - now.getTime();
  return waitMs > 0 ? `${answer.replace(/\.$/, '')} in ${formatDuration(waitMs)}.` : answer;
}

/** One line: `Attempt 3 failed: rank 1 on node gpu-b exited with code 1. Attempt 4 follows in 20.0 s.` */
export function formatFailureLine(failure: JobFailure, now: Date): string {
  return `Attempt ${failure.attempt} failed: ${failure.verdict} ${formatAnswer(failure, now)}`;
}
