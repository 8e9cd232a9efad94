import { StoreError, type StoreErrorKind } from '../store-error.ts';

interface Advice {
  readonly kind: StoreErrorKind;
  readonly text: string;
}

const NOT_ALLOWED: Advice = {
  kind: 'AccessDenied',
  text: 'permission denied. Run this as the user that wrote it, or give this user access',
};

const ADVICE: Readonly<Record<string, Advice>> = {
  EACCES: NOT_ALLOWED,
  EPERM: NOT_ALLOWED,
  ENOENT: { kind: 'NotFound', text: 'it does not exist, or was deleted' },
  ELOOP: { kind: 'Other', text: 'it is a link, and links are not followed' },
  EROFS: { kind: 'AccessDenied', text: 'the file system is read-only. Name another directory' },
  ENOSPC: { kind: 'Other', text: 'the file system is full. Free space, or name another directory' },
  EDQUOT: { kind: 'Other', text: 'the quota of the file system is used up. Free space, or have the quota raised' },
};

/** An error of the system as a user can act on it; any other error as it is. `doing`: verb and object, such as `read shard-0`. */
export function directoryErrorOf(error: unknown, doing: string, directory: string): unknown {
  const code = codeOf(error);
  if (error instanceof StoreError || typeof code !== 'string' || !/^E[A-Z0-9]+$/.test(code)) return error;
  const { kind, text } = ADVICE[code] ?? { kind: 'Other', text: 'the file system answers with an error' };
  return new StoreError(kind, `Cannot ${doing} in ${directory}: ${text} (${code}).`, { cause: error });
}

/** Code of an error of the system, such as ENOENT. */
export function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}
