import { isDomainError } from '@coxswain/domain-error';
import type { Sql } from '@coxswain/persistence';
import type { Logger, Metrics } from '@coxswain/telemetry';
import type { Cluster, WallClock } from '../infrastructure/tokens.ts';
import { AccessDenied, type AskedProject } from './access-denied.ts';
import { recordDenials, short } from './audit.ts';
import { type CountedDenial, DenialCounts } from './denial-counts.ts';
import { onlyProjectOf, type Principal } from './principal.ts';
import type { RequestOrigin } from './request-origin.ts';

/** Who asked for what, and was not let in. */
export interface DeniedRequest {
  /** Undefined: the token was no good. */
  readonly principal: Principal | undefined;
  readonly origin: RequestOrigin;
  /** A path, or a field of GraphQL. */
  readonly object: string;
}

/** What it stands on; the database is that of the API's own programs, since a stranger has no scope. */
export interface DenialsParts {
  readonly database: Sql;
  readonly cluster: Cluster;
  readonly clock: WallClock;
  readonly logger: Logger;
}

const FLUSH_MS = 1_000;
/** Written when the database answers again; what is more is lost, and counted. */
const MOST_WAITING = 5_000;

/**
 * Tells the audit of requests that were not let in. Nobody waits for it: they are counted in memory and written once a second, so that asking for what is
 * forbidden costs the database no more, however often it is done.
 */
export class Denials {
  readonly #parts: DenialsParts;
  readonly #denied: (code: string) => void;
  readonly #lost: (entries: number) => void;
  readonly #counts = new DenialCounts();
  #waiting: readonly CountedDenial[] = [];
  #writing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: DenialsParts, metrics: Metrics) {
    this.#parts = parts;
    const denied = metrics.counter({
      name: 'coxswain_api_denied_requests_total',
      help: 'Requests and fields of GraphQL that were not let in, by the code that was answered.',
      labelNames: ['code'],
    });
    for (const code of DENIAL_CODES) denied.inc({ code }, 0);
    this.#denied = (code) => denied.inc({ code });
    const lost = metrics.counter({
      name: 'coxswain_api_audit_entries_lost_total',
      help: 'Entries about denials that could not be written because the database was away for long.',
      labelNames: [],
    });
    lost.inc({}, 0);
    this.#lost = (entries) => lost.inc({}, entries);
  }

  start(): void {
    this.#timer = setInterval(() => void this.flush(), FLUSH_MS).unref();
  }

  /** Writes what was counted; later denials are not recorded. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    await this.#write(this.#counts.takeAll());
  }

  /** Notes the error if it says that somebody was not let in; others are none of its business. */
  note(error: unknown, { principal, origin, object }: DeniedRequest): void {
    const denial = denialIn(error);
    if (denial === undefined) return;
    this.#denied(denial.code);
    this.#counts.add({
      atMs: this.#parts.clock.now().getTime(),
      principal: principal === undefined ? null : recordedPrincipal(principal, denial.project),
      verb: denial.verb,
      object: short(object),
      reason: denial.code,
      sourceAddress: origin.sourceAddress,
      userAgent: origin.userAgent === undefined ? null : short(origin.userAgent),
      requestId: origin.requestId,
      project: denial.project === undefined ? null : short(denial.project.name),
    });
  }

  /** Writes what is due; once at a time. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write(this.#counts.take(this.#parts.clock.now().getTime())));
    return this.#writing;
  }

  async #write(due: readonly CountedDenial[]): Promise<void> {
    const { database, cluster, logger } = this.#parts;
    const entries = [...this.#waiting, ...due];
    if (entries.length === 0) return;
    try {
      await recordDenials(database, cluster.id, entries);
      this.#waiting = [];
    } catch (error) {
      this.#waiting = entries.slice(0, MOST_WAITING);
      this.#lost(entries.length - this.#waiting.length);
      logger.warn({ reason: (error as Error).message }, 'denials could not be written to the audit; trying again');
    }
  }
}

const DENIAL_CODES = ['UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'] as const;

function denialIn(
  error: unknown,
): { readonly code: string; readonly verb: string; readonly project?: AskedProject | undefined } | undefined {
  if (error instanceof AccessDenied) return { code: error.code, verb: error.action, project: error.project };
  // A caller that was refused for another reason than a missing right was not authenticated.
  if (isDomainError(error, 'UNAUTHENTICATED') || isDomainError(error, 'FORBIDDEN'))
    return { code: error.code, verb: 'authenticate' };
  return undefined;
}

/** The denial is recorded in the caller's own project: the one that it asked about, or its only one. Other projects do not learn who asked about them. */
function recordedPrincipal(
  principal: Principal,
  asked: AskedProject | undefined,
): NonNullable<CountedDenial['principal']> {
  const { id, kind, name } = principal;
  return { id, kind, name, projectId: asked?.id ?? onlyProjectOf(principal)?.id ?? null };
}
