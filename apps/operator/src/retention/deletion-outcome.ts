/** How did the worker of a deletion end? Everything in its message can be hostile, because its image is a user's. */
import { ANNOTATIONS, DeletionAnswer, DeletionQuestion, MAX_TERMINATION_MESSAGE_BYTES } from '@coxswain/api-types';
import { parseForeignJson, safeText } from '@coxswain/safe-text';
import { DELETION_SECONDS } from './deletion-pod.ts';
import type { WorkerPod } from './retention-reads.ts';

/** Time in which a pod has to start. */
const START_MS = 900_000;

/** The answer, `running`, or a clause why there is none. */
export type DeletionOutcome = DeletionAnswer | 'running' | { readonly problem: string };

/** The outcome of the pod at this time. */
export function outcomeOf(pod: WorkerPod, now: Date): DeletionOutcome {
  const phase = pod.status?.phase;
  if (phase === 'Succeeded' || phase === 'Failed') return answerOf(pod) ?? { problem: describeFailure(pod) };
  const ageMs = now.getTime() - Date.parse(pod.metadata.creationTimestamp ?? '');
  if (phase === 'Running') {
    // The kubelet ends it at its deadline, unless its node is gone.
    const isLost = ageMs > START_MS + 1_000 * DELETION_SECONDS;
    return isLost ? { problem: 'its pod did not end by its deadline' } : 'running';
  }
  return ageMs > START_MS ? { problem: `its pod did not start within ${START_MS / 60_000} minutes` } : 'running';
}

/** What the pod was asked, as the operator wrote it. */
export function questionOf({ metadata }: WorkerPod): DeletionQuestion | undefined {
  return parsed(metadata.annotations?.[ANNOTATIONS.deletion], (json) => DeletionQuestion.safeParse(json).data);
}

function answerOf(pod: WorkerPod): DeletionAnswer | undefined {
  const message = text(field(terminatedOf(pod), 'message'));
  if (message === undefined || Buffer.byteLength(message) > MAX_TERMINATION_MESSAGE_BYTES) return undefined;
  return parsed(message, (json) => DeletionAnswer.safeParse(json).data);
}

function parsed<T>(message: string | undefined, parse: (json: unknown) => T | undefined): T | undefined {
  if (message === undefined) return undefined;
  try {
    return parse(parseForeignJson(message));
  } catch {
    return undefined;
  }
}

function describeFailure(pod: WorkerPod): string {
  const why = text(field(terminatedOf(pod), 'reason')) ?? text(pod.status?.reason);
  return `its pod ended without an answer${why === undefined ? '' : ` (${safeText(why, 64)})`}`;
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
