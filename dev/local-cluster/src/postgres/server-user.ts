import { readFileSync } from 'node:fs';

/** An account of this machine. */
export interface ServerUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Every Linux has this user. */
const UNPRIVILEGED = 'nobody';

/** Whom PostgreSQL runs as when this process is root, which it refuses to be; undefined when it runs as this process's own user. */
export function serverUser(): ServerUser | undefined {
  return process.getuid?.() === 0 ? userNamed(UNPRIVILEGED, readFileSync('/etc/passwd', 'utf8')) : undefined;
}

/** Looks a user up in the text of /etc/passwd. Throws when there is none of that name. */
export function userNamed(name: string, passwd: string): ServerUser {
  const [, , uid, gid] =
    passwd
      .split('\n')
      .map((line) => line.split(':'))
      .find(([known]) => known === name) ?? [];
  if (uid === undefined || gid === undefined) {
    throw new Error(
      `PostgreSQL does not run as root, and there is no user "${name}" to run it as; run this as an ordinary user`,
    );
  }
  return { name, uid: Number(uid), gid: Number(gid) };
}
