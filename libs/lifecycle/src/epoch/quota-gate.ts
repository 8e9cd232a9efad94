/** May the next attempt of a queued job be placed, and may it begin? */
import type { GangRequest, JobQuota } from '@coxswain/scheduling';
import type { Facts } from '../observation/facts.ts';

/** What the holder of quotas is asked for a job. */
export interface QuotaQuestion {
  readonly request: GangRequest;
  /** Whether the attempt could begin now, or why not. undefined: no nodes were searched. */
  readonly room: { readonly kind: 'found' } | { readonly kind: 'none'; readonly message: string } | undefined;
}

/** No quota of a queue is held yet, or it is not admitted. */
export interface WaitingForQuota {
  readonly kind: 'waitingForQuota';
  readonly message: string;
  readonly question: QuotaQuestion;
}

/** Before nodes are searched; undefined: they may be. */
export function beforePlacing({ observed: { quota } }: Facts, request: GangRequest): WaitingForQuota | undefined {
  if (quota === undefined || quota.kind === 'reserved' || quota.kind === 'admitted') return undefined;
  return { kind: 'waitingForQuota', message: quota.message, question: { request, room: undefined } };
}

/** An attempt that could begin waits until the quota is admitted. */
export function beforeBeginning<Next extends { readonly kind: string }>(
  next: Next,
  quota: JobQuota | undefined,
  request: GangRequest,
): Next | WaitingForQuota {
  if (quota?.kind !== 'reserved' || next.kind !== 'placing') return next;
  return { kind: 'waitingForQuota', message: quota.message, question: { request, room: { kind: 'found' } } };
}
