/** What a pod that verifies a checkpoint says. */
import { type Checkpoint, MAX_TERMINATION_MESSAGE_BYTES, WorkerAnswer } from '@coxswain/api-types';
import type { KubeObject } from '@coxswain/kube';
import { parseForeignJson, safeText } from '@coxswain/safe-text';
import { MOST_SECONDS } from './verification-pod.ts';

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

/** A pod of the same name that somebody else made says nothing of the checkpoint. */
export function isOwnedBy({ metadata }: WorkerPod, checkpoint: Checkpoint): boolean {
  return (metadata.ownerReferences ?? []).some(
    ({ kind, uid }) => kind === 'Checkpoint' && uid === checkpoint.metadata.uid,
  );
}

/** The node that it runs on. */
export function nodeOf({ spec }: WorkerPod): string | undefined {
  return text(spec?.nodeName);
}

/** Its termination message; undefined: it has none, or another program wrote it. */
export function answerOf(pod: WorkerPod): WorkerAnswer | undefined {
  const { containerStatuses } = pod.status ?? {};
  const [status] = Array.isArray(containerStatuses) ? (containerStatuses as unknown[]) : [];
  const message = text(field(field(field(status, 'state'), 'terminated'), 'message'));
  if (message === undefined || Buffer.byteLength(message) > MAX_TERMINATION_MESSAGE_BYTES) return undefined;
  try {
    const parsed = WorkerAnswer.safeParse(parseForeignJson(message));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

/** How long the kubelet lets it run. */
export function deadlineSeconds({ spec }: WorkerPod): number {
  const seconds = spec?.activeDeadlineSeconds;
  return typeof seconds === 'number' ? seconds : MOST_SECONDS;
}

/** Why it ended without an answer. */
export function describeFailure(pod: WorkerPod): string {
  const { containerStatuses, reason } = pod.status ?? {};
  const [status] = Array.isArray(containerStatuses) ? (containerStatuses as unknown[]) : [];
  const why = text(field(field(field(status, 'state'), 'terminated'), 'reason')) ?? text(reason);
  return `its pod ended without an answer${why === undefined ? '' : ` (${safeText(why, 64)})`}`;
}

/** Why it does not start, as far as the scheduler says. */
export function describeWaiting(pod: WorkerPod): string {
  const { conditions } = pod.status ?? {};
  const scheduled = Array.isArray(conditions)
    ? (conditions as unknown[]).find((one) => field(one, 'type') === 'PodScheduled')
    : undefined;
  const message = text(field(scheduled, 'message'));
  return message === undefined ? '' : `: ${safeText(message, 256)}`;
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
