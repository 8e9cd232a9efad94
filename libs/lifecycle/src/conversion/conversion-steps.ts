/** What does the status of a converted save say while it is made, and when is it needed no longer? */
import {
  isFinished,
  ANNOTATIONS,
  type Checkpoint,
  type CheckpointResourceStatus,
  type ConversionAnswer,
  type TrainingJob,
} from '@coxswain/api-types';
import { isFoundBroken } from '@coxswain/checkpoint';
import { safeText } from '@coxswain/safe-text';
import { AGAIN_MS } from './converted-save.ts';

/** Pods that end without an answer before a conversion counts as failed: nodes were lost, or it needs more memory than it has. */
const MOST_TRIES = 3;
const MAX_CHARACTERS = 512;

type Status = CheckpointResourceStatus;

/** What the operator does about a converted save next. */
export type ConversionStep =
  | 'Order'
  /** A pod is to convert it, or does. */
  | 'Run'
  /** It is complete, or failed a while ago. */
  | 'Keep'
  /** Its pod and its files are to go. */
  | 'Drop'
  | 'Clean';

/** The next step. `job`: that it was converted for; undefined: it is gone. `uses`: what uses it. */
export function conversionStep(
  converted: Checkpoint,
  about: {
    readonly job: TrainingJob | undefined;
    readonly hasSource: boolean;
    readonly uses: readonly string[];
    readonly now: Date;
  },
): ConversionStep {
  const { conversion } = converted.status ?? {};
  const { job, hasSource, uses, now } = about;
  const isWanted = hasSource && isWantedBy(job, converted);
  if (conversion?.droppedAt !== undefined) return 'Clean';
  const isKept = converted.metadata.annotations?.[ANNOTATIONS.pin] !== undefined || uses.length > 0;
  if (conversion?.convertedAt !== undefined)
    return isKept || (job === undefined && hasSource) || isBrokenSince(converted, now) ? 'Keep' : 'Drop';
  if (conversion?.failedAt !== undefined) {
    const isOld = now.getTime() - Date.parse(conversion.failedAt) >= AGAIN_MS;
    if (isWanted && isOld) return 'Order';
    return isKept ? 'Keep' : 'Drop';
  }
  if (!isWanted) return 'Drop';
  return conversion === undefined ? 'Order' : 'Run';
}

/** Whether it was found broken less than an hour ago. Then it is not made again yet: the next one may be no better. */
function isBrokenSince(converted: Checkpoint, now: Date): boolean {
  const at = converted.status?.verification?.at ?? '';
  return isFoundBroken(converted) && now.getTime() - Date.parse(at) < AGAIN_MS;
}

/** Whether the job waits for that save. */
export function isWantedBy(job: TrainingJob | undefined, { metadata }: Pick<Checkpoint, 'metadata'>): boolean {
  if (job === undefined || job.metadata.deletionTimestamp !== undefined || isFinished(job)) return false;
  const { conversion } = job.status ?? {};
  return conversion?.wantedSince !== undefined && conversion.converted === metadata.name;
}

/** The status once the conversion is ordered. A second order of one that failed keeps the time of the first. */
export function withOrdered({ status }: Checkpoint, at: string): Status {
  const { orderedAt = at } = status?.conversion ?? {};
  return { ...status, state: 'Unverified', conversion: { orderedAt } };
}

/** The status with the answer of the pod. */
export function withAnswer({ status }: Checkpoint, answer: ConversionAnswer, at: string): Status {
  const { orderedAt = at } = status?.conversion ?? {};
  const { readBytes, writtenBytes, seconds, message = 'no reason is given' } = answer;
  // A source that is not in doubt is not read again: what was read of it is left out.
  const measured = answer.isTargetUnusable === true ? { orderedAt } : { orderedAt, readBytes, writtenBytes, seconds };
  const end = answer.state === 'Converted' ? { convertedAt: at } : { failedAt: at, problem: clause(message) };
  return { ...status, state: 'Unverified', conversion: { ...measured, ...end } };
}

/** The status after a pod that ended without an answer. After some of them the conversion counts as failed. */
export function withoutAnswer({ status }: Checkpoint, problem: string, at: string): Status {
  const { orderedAt = at, tries = 0 } = status?.conversion ?? {};
  const failed = tries + 1 >= MOST_TRIES ? { failedAt: at } : {};
  return {
    ...status,
    state: 'Unverified',
    conversion: { orderedAt, tries: tries + 1, ...failed, problem: clause(problem) },
  };
}

/** The status with why it cannot go on now; undefined: it says so already. */
export function withHindrance({ status }: Checkpoint, problem: string): Status | undefined {
  const { conversion } = status ?? {};
  if (status === undefined || conversion === undefined || conversion.problem === clause(problem)) return undefined;
  return { ...status, conversion: { ...conversion, problem: clause(problem) } };
}

/** The status once it is to go. State Damaged keeps every release from resuming from it. */
export function withDropped({ status }: Checkpoint, at: string): Status {
  const { orderedAt = at, convertedAt } = status?.conversion ?? {};
  const done = convertedAt === undefined ? {} : { convertedAt };
  return {
    ...status,
    state: 'Damaged',
    message: 'Deleting: no job needs the converted save any more.',
    conversion: { orderedAt, ...done, droppedAt: at },
  };
}

function clause(text: string): string {
  return safeText(text, MAX_CHARACTERS).replace(/\.$/, '');
}
