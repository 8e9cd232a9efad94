import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { DatabaseError, type LoginRole, type makeRoles } from '@coxswain/persistence';

/** What the command needs of the process that it runs in. */
export interface RolesContext {
  readonly adminUrl: string | undefined;
  readonly makeRoles: typeof makeRoles;
  readonly print: (line: string) => void;
  readonly printError: (line: string) => void;
}

const HELP = `Usage: COXSWAIN_ADMIN_DATABASE_URL=postgresql://… node apps/api/dist/database-roles.js [--prefix NAME] [--suffix NAME]

Makes the roles of the database that the URL names, gives them new passwords, and prints their URLs as lines KEY=URL for the Secret of the API:

  … database-roles.js | kubectl -n coxswain-system create secret generic coxswain-database --from-env-file=/dev/stdin

The URL is that of a superuser, or of a role with CREATEROLE that owns the database. Run again, it changes the passwords and nothing else.

  --prefix NAME   begins each name (default: coxswain). Roles belong to the whole server: databases that share one need prefixes of their own
  --suffix NAME   ends the names of the roles that log in: a second set beside the first, so that passwords change without a gap`;

/** Keys of the Secret that holds the URLs of the API. */
export const SECRET_KEYS: Readonly<Record<LoginRole, string>> = {
  runtime: 'url',
  system: 'system-url',
  queue: 'queue-url',
  migrator: 'migrator-url',
};

/** Runs one command line; resolves to the exit code: 0 done, 1 refused or wrong. */
export async function runRolesCommand(argv: readonly string[], context: RolesContext): Promise<number> {
  const { adminUrl, print, printError } = context;
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        prefix: { type: 'string', default: 'coxswain' },
        suffix: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) {
      print(HELP);
      return 0;
    }
    if (adminUrl === undefined) throw new Error('set COXSWAIN_ADMIN_DATABASE_URL; --help says to what');
    const passwords = new Map<LoginRole, string>();
    const made = await context.makeRoles({
      adminUrl,
      prefix: values.prefix,
      suffix: values.suffix,
      passwordOf: (role) => passwords.get(role) ?? kept(passwords, role),
    });
    for (const [role, key] of Object.entries(SECRET_KEYS)) print(`${key}=${made.urls[role as LoginRole]}`);
    for (const former of made.formerOwners) printError(sentenceAbout(former, values.prefix));
    return 0;
  } catch (error) {
    const reason =
      error instanceof DatabaseError && error.code === '42501'
        ? `${error.message}: ${TOO_FEW_RIGHTS}`
        : (error as Error).message;
    printError(reason);
    return 1;
  }
}

const TOO_FEW_RIGHTS = 'use a superuser, or a role with CREATEROLE that owns the database and its tables';

function kept(passwords: Map<LoginRole, string>, role: LoginRole): string {
  const password = randomBytes(24).toString('hex');
  passwords.set(role, password);
  return password;
}

function sentenceAbout(former: string, prefix: string): string {
  return `"${former}" owned the tables, and is a member of "${prefix}_owner" now, so that what still runs with it goes on. When nothing does: REVOKE "${prefix}_owner" FROM "${former}".`;
}
