import { isTerminal } from '../observation/facts.ts';
import type { ObservedPod } from '../observation/observed.ts';

/**
 * The pods of a gang whose exits do not show why it failed: they ended after a delete that came after the failure of another pod. That happens if the
 * failure could not be recorded before the rest of the gang was deleted.
 */
export function podsDeletedAfterFailure(pods: readonly ObservedPod[]): ReadonlySet<ObservedPod> {
  const deleted = pods.filter((pod) => isTerminal(pod) && pod.deletionTimestamp !== undefined);
  if (deleted.length === 0) return NONE;
  const failedAtMs = pods.filter(({ phase }) => phase === 'Failed').flatMap((pod) => ownEndMs(pod) ?? []);
  const firstMs = failedAtMs.reduce((first, ms) => Math.min(first, ms), Infinity);
  return new Set(deleted.filter((pod) => ownEndMs(pod) === undefined && firstMs < deleteRequestedMs(pod)));
}

const NONE: ReadonlySet<ObservedPod> = new Set();

/** When the pod ended by itself; undefined: it was deleted before, or does not say. */
function ownEndMs(pod: ObservedPod): number | undefined {
  const endMs = Date.parse(pod.exit?.finishedAt ?? '');
  if (Number.isNaN(endMs)) return undefined;
  return pod.deletionTimestamp === undefined || endMs < deleteRequestedMs(pod) ? endMs : undefined;
}

/** The API server sets deletionTimestamp to the end of the grace period. */
function deleteRequestedMs({ deletionTimestamp = '', deletionGracePeriodSeconds = 0 }: ObservedPod): number {
  return Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
}
