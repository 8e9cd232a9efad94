/**
 * What PostgreSQL or the way to it said, without the statement's parameters: they may hold anything a user sent and must not reach a log.
 */
export class DatabaseError extends Error {
  /** SQLSTATE (`23505`), a Node error code (`ECONNREFUSED`), or '' when neither is known. */
  readonly code: string;
  /** Name of the violated constraint or index, if any. */
  readonly constraint: string | undefined;

  constructor(facts: { readonly code: string; readonly message: string; readonly constraint?: string | undefined }) {
    super(facts.message);
    this.name = 'DatabaseError';
    this.code = facts.code;
    this.constraint = facts.constraint;
  }
}

/** Every connection that this work may use is in use, and it has waited long enough. Nothing was sent to the database. */
export class PoolBusyError extends DatabaseError {
  readonly retryAfterSeconds: number;

  constructor(message: string, retryAfterSeconds: number) {
    super({ code: '53300', message });
    this.name = 'PoolBusyError';
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The server ended a statement because it exceeded its time budget. */
export function isOverTime(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '57014';
}

/** A unique constraint was violated: the one of that name, or any. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return (
    error instanceof DatabaseError &&
    error.code === '23505' &&
    (constraint === undefined || error.constraint === constraint)
  );
}

/** Somebody else held a lock for longer than the statement may wait for it. */
export function isLocked(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '55P03';
}

/** A parameter holds text that PostgreSQL cannot store: a NUL, or half of a surrogate pair. */
export function isUnstorableText(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  // 22021: NUL in text; 22P05: NUL in jsonb; the other half has no code of its own.
  return error.code === '22021' || error.code === '22P05' || /invalid input syntax for type json/.test(error.message);
}

/** Nothing is wrong with the statement: the database is away, restarting, out of connections, too slow, or asks to try again. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  return UNAVAILABLE.has(error.code) || error.code.startsWith('08') || LOST_CONNECTION.test(error.message);
}

/** Takes what is safe out of any error of pg or TypeORM. The original is dropped on purpose: it carries the parameters. */
export function toDatabaseError(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const facts = error as {
    code?: unknown;
    constraint?: unknown;
    message?: unknown;
    driverError?: unknown;
    errors?: unknown;
  };
  const inner = facts.driverError as { code?: unknown; constraint?: unknown } | undefined;
  const first = Array.isArray(facts.errors) ? (facts.errors[0] as { code?: unknown } | undefined) : undefined;
  const code = textOf(facts.code) ?? textOf(inner?.code) ?? textOf(first?.code) ?? '';
  return new DatabaseError({
    code,
    message:
      textOf(facts.message) ??
      textOf((first as { message?: unknown } | undefined)?.message) ??
      'unknown database failure',
    constraint: textOf(facts.constraint) ?? textOf(inner?.constraint),
  });
}

const UNAVAILABLE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'EAI_AGAIN',
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '53300', // too_many_connections
  '25006', // read_only_sql_transaction: a standby during failover
  '40001', // serialization_failure
  '40P01', // deadlock_detected
  '55P03', // lock_not_available
  '57014', // query_canceled: a statement took longer than it may
]);

/** pg reports these without a code. */
const LOST_CONNECTION =
  /connection terminated|timeout exceeded when trying to connect|connection ended|not queryable|connection error|server closed the connection|driver not connected|datasource is not (set|initialized)/i;

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
