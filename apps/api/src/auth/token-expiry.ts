import { DomainError } from '@coxswain/domain-error';

/** What a request says about the end of a token. */
export interface ExpiryWish {
  /** As text of a time with its zone. */
  readonly expiresAt?: string | undefined;
  readonly neverExpires: boolean;
}

const DAY_MS = 86_400_000;

/** When the token ends: as asked, after the installation's days where nothing is asked, null only where never was said. */
export function expiryOf(
  { expiresAt, neverExpires }: ExpiryWish,
  { now, lifetimeDays }: { readonly now: Date; readonly lifetimeDays: number },
): Date | null {
  if (expiresAt === undefined) return neverExpires ? null : new Date(now.getTime() + lifetimeDays * DAY_MS);
  if (neverExpires) throw refused('and neverExpires were both given; give one of them');
  const expiry = new Date(expiresAt);
  if (Number.isNaN(expiry.getTime()) || expiry <= now) {
    throw refused('must be a time in the future such as 2030-01-31T00:00:00Z');
  }
  return expiry;
}

function refused(detail: string): DomainError {
  return new DomainError('INVALID_REQUEST', `expiresAt ${detail}`, [{ pointer: '/expiresAt', detail }]);
}
