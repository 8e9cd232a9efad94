import { randomBytes } from 'node:crypto';
import { DatabaseError, isUnavailable, type LoginRole, type makeRoles } from '@coxswain/persistence';

/** Passwords by whom they are of: the superuser of an embedded database, and each role that logs in. */
export type Passwords = Readonly<Record<'admin' | LoginRole, string>>;

/** What preparing a database is done with. */
export interface PrepareDatabaseParts {
  /** The stored passwords. If none are stored, stores those of `fresh`; a concurrent caller gets the same. */
  readonly keep: (fresh: Passwords) => Promise<Passwords>;
  /** Of a user that may create roles in the database. */
  readonly adminUrl: (passwords: Passwords) => string;
  readonly makeRoles: typeof makeRoles;
  /** Gives the API its URLs. */
  readonly publish: (urls: Readonly<Record<LoginRole, string>>) => Promise<void>;
  /** What it means that the database refuses the administrator's password, where that passes; undefined where it is an error. */
  readonly passwordRefused?: string | undefined;
  /** Waits before the next try at a database that is not there yet; `why` is its own word, or that. */
  readonly pause: (why: string) => Promise<void>;
}

/**
 * Makes the roles of a database that nobody has a password of yet. Passwords are kept before they are used and URLs are published when they are good, so it may end anywhere
 * and be run again, or twice at once: passwords are made once.
 */
export async function prepareDatabase(parts: PrepareDatabaseParts): Promise<void> {
  const passwords = await parts.keep(freshPasswords());
  const adminUrl = parts.adminUrl(passwords);
  for (;;) {
    try {
      const { urls } = await parts.makeRoles({ adminUrl, prefix: 'coxswain', passwordOf: (role) => passwords[role] });
      await parts.publish(urls);
      return;
    } catch (error) {
      const why = reasonToWait(error, parts);
      if (why === undefined) throw error;
      await parts.pause(why);
    }
  }
}

function reasonToWait(
  error: unknown,
  { passwordRefused }: Pick<PrepareDatabaseParts, 'passwordRefused'>,
): string | undefined {
  if (isUnavailable(error)) return (error as Error).message;
  return error instanceof DatabaseError && error.code === INVALID_PASSWORD ? passwordRefused : undefined;
}

const INVALID_PASSWORD = '28P01';

function freshPasswords(): Passwords {
  const one = (): string => randomBytes(24).toString('hex');
  return { admin: one(), runtime: one(), system: one(), queue: one(), migrator: one() };
}
