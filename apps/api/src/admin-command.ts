import { parseArgs } from 'node:util';
import { isDomainError } from '@coxswain/domain-error';
import { type Database, isUnavailable } from '@coxswain/persistence';
import {
  type Administrator,
  type AdministratorMade,
  createAdministrator,
  listAdministrators,
  recoverAdministrator,
  revokeAdministrator,
} from './auth/administrators.ts';
import { expiryOf } from './auth/token-expiry.ts';

/** What the command needs of the process that it runs in. */
export interface AdminContext {
  /** Connects; called once, and only by a command line that makes sense. */
  readonly connect: () => Promise<Database>;
  /** When a token expires for which nobody said otherwise. */
  readonly lifetimeDays: () => number;
  readonly now: () => Date;
  readonly print: (line: string) => void;
  readonly printError: (line: string) => void;
}

const HELP = `Usage: node admin.js COMMAND, in the pod of the API or beside its database

  list                  administrators of the cluster, never their tokens
  create NAME           make an administrator and print the token, this once
  recover NAME          give an administrator another token and print it, this once; the old one is revoked
  revoke NAME|ID        refuse an administrator's tokens, or the one of that id, everywhere within seconds

  --days N              when the token of create or recover expires (default: COXSWAIN_TOKEN_LIFETIME_DAYS, 90)
  --hours N             the same in hours
  --never-expires       good until it is revoked
  --overlap-hours N     recover: the old token stays good for so long (default 0)
  --even-the-last       revoke: although no administrator is left whose token is good`;

const OPTIONS = {
  days: { type: 'string' },
  hours: { type: 'string' },
  'never-expires': { type: 'boolean', default: false },
  'overlap-hours': { type: 'string' },
  'even-the-last': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** A command line that makes no sense; the message says why. */
class UsageError extends Error {}

type Action = (database: Database) => Promise<void>;

/** Runs one command line; resolves to the exit code: 0 done, 1 refused or wrong, 2 database out of reach. */
export async function runAdminCommand(argv: readonly string[], context: AdminContext): Promise<number> {
  let database: Database | undefined;
  try {
    const action = actionOf(argv, context);
    if (action === undefined) {
      context.print(HELP);
      return 0;
    }
    database = await context.connect();
    await action(database);
    return 0;
  } catch (error) {
    const sentence = sentenceOf(error);
    if (sentence === undefined) throw error;
    context.printError(sentence);
    return isUnavailable(error) ? 2 : 1;
  } finally {
    await database?.close();
  }
}

function sentenceOf(error: unknown): string | undefined {
  if (error instanceof UsageError) return `${error.message}\n\n${HELP}`;
  if (isDomainError(error)) return error.message;
  if (isUnavailable(error)) return `The database does not answer: ${(error as Error).message}`;
  return undefined;
}

/** What the command line asks for; undefined when it asks for help. */
function actionOf(argv: readonly string[], context: AdminContext): Action | undefined {
  const { positionals, values } = parsed(argv);
  const [command, subject, ...rest] = positionals;
  if (values.help) return undefined;
  if (rest.length > 0) throw new UsageError(`"${rest.join(' ')}" is too much: one NAME is enough.`);
  if (command === 'list' && subject === undefined) return (database) => list(database, context);
  if (subject === undefined || command === undefined) throw new UsageError('Give a command and its NAME.');
  switch (command) {
    case 'create': {
      const wanted = { name: nameOf(subject), expiresAt: expiry(values, context) };
      return async (database) => printAdministrator(await createAdministrator(database, wanted), context);
    }
    case 'recover': {
      const overlapSeconds = numberOf(values['overlap-hours'] ?? '0', 'overlap-hours') * 3_600;
      const wanted = { name: nameOf(subject), expiresAt: expiry(values, context), overlapSeconds };
      return async (database) => printAdministrator(await recoverAdministrator(database, wanted), context);
    }
    case 'revoke':
      return async (database) => {
        const wanted = { nameOrId: subject, evenTheLast: values['even-the-last'] };
        for (const { name, id } of await revokeAdministrator(database, wanted))
          context.print(`Revoked ${name} (${id}).`);
      };
    default:
      throw new UsageError(`There is no command "${command}".`);
  }
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function nameOf(text: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._@-]{0,99}$/.test(text)) return text;
  throw new UsageError('NAME takes up to 100 letters, digits and . _ @ -, and begins with a letter or digit.');
}

function numberOf(text: string, option: string): number {
  if (/^[0-9]{1,5}$/.test(text)) return Number(text);
  throw new UsageError(`--${option} "${text}" is not a whole number up to 99999.`);
}

function expiry(values: ReturnType<typeof parsed>['values'], { now, lifetimeDays }: AdminContext): Date | null {
  const { days, hours, 'never-expires': neverExpires } = values;
  if ([days !== undefined, hours !== undefined, neverExpires].filter(Boolean).length > 1) {
    throw new UsageError('Give one of --days, --hours and --never-expires.');
  }
  const at = { now: now(), lifetimeDays: lifetimeDays() };
  if (days === undefined && hours === undefined) return expiryOf({ neverExpires }, at);
  const lifetimeHours = days === undefined ? numberOf(hours ?? '', 'hours') : numberOf(days, 'days') * 24;
  if (lifetimeHours === 0) throw new UsageError('A token that is good for no time is good for nothing.');
  return new Date(at.now.getTime() + lifetimeHours * 3_600_000);
}

/** The token alone goes to standard output, for a file or a pipe. */
function printAdministrator({ token, name, expires_at }: AdministratorMade, context: AdminContext): void {
  context.print(token);
  const end = expires_at === null ? 'never expires' : `expires ${minuteOf(expires_at)}`;
  context.printError(`The token of administrator ${name} ${end}. It is shown this once: keep it now.`);
}

async function list(database: Database, context: AdminContext): Promise<void> {
  const known = await listAdministrators(database);
  if (known.length === 0) context.print('No administrators. create NAME makes one.');
  for (const one of known) context.print(lineOf(one));
}

function lineOf({ name, id, is_good, expires_at, last_used_at }: Administrator): string {
  const end = expires_at === null ? 'never expires' : `${is_good ? 'expires' : 'expired'} ${minuteOf(expires_at)}`;
  return `${name}  ${id}  ${end}, ${last_used_at === null ? 'never used' : `last used ${minuteOf(last_used_at)}`}`;
}

function minuteOf(instant: Date): string {
  return `${instant.toISOString().slice(0, 16)}Z`;
}
