/** What does a pod that verifies or deletes a checkpoint report? */
import { type Checkpoint, MAX_TERMINATION_MESSAGE_BYTES } from '@coxswain/api-types';
import type { KubeObject } from '@coxswain/kube';
import { parseForeignJson, safeText } from '@coxswain/safe-text';

/** Longest time that such a pod may run. */
export const MOST_SECONDS = 86_400;
/** Least deadline of a pod that reads a save: images are pulled, and claims mounted. */
export const LEAST_SECONDS = 600;
/** Slower storage is no storage to train on. */
const BYTES_PER_SECOND = 20e6;

/** Seconds in which storage that is fit for training reads so many bytes. */
export function secondsToRead(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_SECOND);
}
/** Time in which it has to start. */
const START_MS = 900_000;

/** The answer, `running`, or a clause on why there is no answer. */
export type WorkerOutcome<Answer> = 'running' | { readonly answer: Answer } | { readonly problem: string };

/** A pod of a worker, as much as is read of it. Everything in it can be hostile, because its image is a user's. */
export interface WorkerPod extends KubeObject {
  readonly spec?: { readonly nodeName?: unknown; readonly activeDeadlineSeconds?: unknown };
  readonly status?: {
    readonly phase?: unknown;
    readonly reason?: unknown;
    readonly conditions?: unknown;
    readonly containerStatuses?: unknown;
  };
}

/** A pod of the same name that another program made says nothing of the checkpoint. */
export function isOwnedBy({ metadata }: WorkerPod, checkpoint: Checkpoint): boolean {
  return (metadata.ownerReferences ?? []).some(
    ({ kind, uid }) => kind === 'Checkpoint' && uid === checkpoint.metadata.uid,
  );
}

/** The node that it runs on. */
export function nodeOf({ spec }: WorkerPod): string | undefined {
  return text(spec?.nodeName);
}

/** The outcome of the pod at this time. `parse` returns undefined for what is no answer. */
export function outcomeOf<Answer>(
  pod: WorkerPod,
  now: Date,
  parse: (json: unknown) => Answer | undefined,
): WorkerOutcome<Answer> {
  const phase = pod.status?.phase;
  if (phase === 'Succeeded' || phase === 'Failed') {
    const answer = answerOf(pod, parse);
    return answer === undefined ? { problem: describeFailure(pod) } : { answer };
  }
  const ageMs = now.getTime() - Date.parse(pod.metadata.creationTimestamp ?? '');
  if (phase === 'Running') {
    // The kubelet ends it at its deadline, unless its node is gone. Such a pod must not keep the place of another.
    const isLost = ageMs > START_MS + 1_000 * deadlineSeconds(pod);
    return isLost ? { problem: 'its pod did not end by its deadline' } : 'running';
  }
  // A pod without a time of creation is not late.
  const isLate = ageMs > START_MS;
  if (!isLate) return 'running';
  return { problem: `its pod did not start within ${START_MS / 60_000} minutes${describeWaiting(pod)}` };
}

/** Foreign JSON as `parse` reads it; undefined: there is none, or another program wrote it. */
export function parsed<T>(message: string | undefined, parse: (json: unknown) => T | undefined): T | undefined {
  if (message === undefined) return undefined;
  try {
    return parse(parseForeignJson(message));
  } catch {
    return undefined;
  }
}

function answerOf<Answer>(pod: WorkerPod, parse: (json: unknown) => Answer | undefined): Answer | undefined {
  const message = text(field(terminatedOf(pod), 'message'));
  if (message === undefined || Buffer.byteLength(message) > MAX_TERMINATION_MESSAGE_BYTES) return undefined;
  return parsed(message, parse);
}

function deadlineSeconds({ spec }: WorkerPod): number {
  const seconds = spec?.activeDeadlineSeconds;
  return typeof seconds === 'number' ? seconds : MOST_SECONDS;
}

function describeFailure(pod: WorkerPod): string {
  const why = text(field(terminatedOf(pod), 'reason')) ?? text(pod.status?.reason);
  return `its pod ended without an answer${why === undefined ? '' : ` (${safeText(why, 64)})`}`;
}

/** Why it does not start, as far as the scheduler reports it. */
function describeWaiting(pod: WorkerPod): string {
  const { conditions } = pod.status ?? {};
  const scheduled = Array.isArray(conditions)
    ? (conditions as unknown[]).find((one) => field(one, 'type') === 'PodScheduled')
    : undefined;
  const message = text(field(scheduled, 'message'));
  return message === undefined ? '' : `: ${safeText(message, 256)}`;
}

function terminatedOf({ status }: WorkerPod): unknown {
  const statuses = status?.containerStatuses;
  const [first] = Array.isArray(statuses) ? (statuses as unknown[]) : [];
  return field(field(first, 'state'), 'terminated');
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
