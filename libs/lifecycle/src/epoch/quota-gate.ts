/** May the next attempt of a queued job be placed, and may it begin? */
import type { GangRequest, JobQuota, QuotaAsked } from '@coxswain/scheduling';
import type { Facts } from '../observation/facts.ts';

/** No quota of a queue is held yet, or it is not admitted. */
export interface WaitingForQuota {
  readonly kind: 'waitingForQuota';
  readonly message: string;
  readonly question: Pick<QuotaAsked, 'request' | 'room'>;
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
