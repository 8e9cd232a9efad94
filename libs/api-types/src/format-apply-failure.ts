import { formatDuration } from '@coxswain/units';
import type { ApplyFailure } from './rest.ts';

/** What a screen says of it: the reason, for how long, and whether Coxswain tries again. */
export function formatApplyFailure({ message, since, retryAt }: ApplyFailure, now: Date): string {
  const age = formatDuration(Math.max(0, now.getTime() - Date.parse(since)));
  if (retryAt === null) return `${message} (${age} ago; not tried again)`;
  const wait = Date.parse(retryAt) - now.getTime();
  return `${message} (for ${age}; ${wait > 0 ? `tried again in ${formatDuration(wait)}` : 'being tried again'})`;
}
