import type { Job, JobEvent, StepPoint } from '@coxswain/api-types';
import { NO_PRINCIPAL, type Sql, type TenantDatabase, type Work } from '@coxswain/persistence';
import type { ProjectScope } from '../auth/project-scope.ts';
import type { Cluster } from '../infrastructure/tokens.ts';
import { type EventRow, toJobEvent } from '../jobs/job-history.service.ts';
import { findJobs } from '../jobs/job-of-row.ts';

/** Whose rows are read: of one project, or (administrators) of the cluster. */
export type FeedScope = Pick<Extract<ProjectScope, { kind: 'project' }>, 'kind' | 'id'> | { readonly kind: 'cluster' };

/** One job, and what is known of it. */
export interface Wanted {
  readonly jobId: string;
  /** Only steps may have come: the job itself is not read. */
  readonly stepsOnly: boolean;
  /** As the cluster knows it; null before it does. */
  readonly uid: string | null;
  /** Undefined: nothing was read yet; the newest events are read, and where the steps end. */
  readonly known: { readonly event: number; readonly change: number } | undefined;
}

/** A step, and the number of its last change. */
export interface ChangedStep {
  readonly change: number;
  readonly point: StepPoint;
}

/** What came. */
export interface Reading {
  /** Undefined: it was not asked for. Null: it is gone, or out of sight. */
  readonly job: Job | null | undefined;
  /** Oldest first. */
  readonly events: readonly JobEvent[];
  readonly steps: readonly ChangedStep[];
  /** Where the steps ended; only where nothing was known. */
  readonly lastChange: number | undefined;
}

/** The most entries that one read returns for one job; a reader that gets that many reads again. */
export const MOST_EVENTS = 1_000;
/** The most steps that one read returns for one job; the same holds as for events. */
export const MOST_STEPS = 1_000;

interface ChangedRow {
  readonly job_uid: string;
  readonly epoch: number;
  readonly step: string;
  readonly loss: number | null;
  readonly tokens: string | null;
  readonly step_time_ms: number;
  readonly grad_norm: number | null;
  readonly learning_rate: number | null;
  readonly at: Date;
  readonly change: string;
}

/**
 * Reads what changed of many jobs at once, with as many statements for a hundred jobs as for one. Each reading sees one scope, and is shown to nobody
 * who may not see that scope.
 */
export class FeedReader {
  readonly #database: Pick<TenantDatabase, 'within'>;
  readonly #cluster: Cluster;

  constructor(database: Pick<TenantDatabase, 'within'>, cluster: Cluster) {
    this.#database = database;
    this.#cluster = cluster;
  }

  async read(scope: FeedScope, wanted: readonly Wanted[]): Promise<ReadonlyMap<string, Reading>> {
    return this.#within(scope, 'system', async (sql) => {
      const asked = wanted.filter(({ stepsOnly }) => !stepsOnly);
      const jobs = new Map((await this.#jobs(sql, scope, asked)).map((job) => [job.id, job]));
      const seen = wanted.filter(({ jobId, stepsOnly }) => stepsOnly || jobs.has(jobId));
      const events = await this.#events(
        sql,
        seen.filter(({ stepsOnly }) => !stepsOnly),
      );
      const uids = new Map(seen.map(({ jobId, uid }) => [jobId, jobs.get(jobId)?.uid ?? uid]));
      const steps = await this.#steps(sql, seen, uids);
      const ends = await this.#ends(sql, seen, uids);
      return new Map(
        wanted.map(({ jobId, stepsOnly }) => {
          const uid = uids.get(jobId) ?? '';
          return [
            jobId,
            {
              job: stepsOnly ? undefined : (jobs.get(jobId) ?? null),
              events: events.get(jobId) ?? [],
              steps: steps.get(uid) ?? [],
              lastChange: ends.get(uid),
            },
          ];
        }),
      );
    });
  }

  /** Events after one and up to another, oldest first; at most {@link MOST_EVENTS}. */
  async eventsBetween(
    scope: FeedScope,
    jobId: string,
    { after, upTo }: { readonly after: number; readonly upTo: number },
  ): Promise<readonly JobEvent[]> {
    return this.#within(scope, 'list', async (sql) => {
      const found = await sql.query<EventRow>(
        `SELECT id, type, severity, epoch, message, at FROM job_events
          WHERE job_id = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT $4`,
        [jobId, after, upTo, MOST_EVENTS],
      );
      return found.rows.map(toJobEvent);
    });
  }

  /** Steps changed after one number and up to another, in that order; undefined when there are more than {@link MOST_STEPS}. */
  async stepsBetween(
    scope: FeedScope,
    uid: string,
    { after, upTo }: { readonly after: number; readonly upTo: number },
  ): Promise<readonly ChangedStep[] | undefined> {
    return this.#within(scope, 'list', async (sql) => {
      const found = await sql.query<ChangedRow>(
        `SELECT job_uid, epoch, step, loss, tokens, step_time_ms, grad_norm, learning_rate, at, change FROM steps
          WHERE cluster_id = $1 AND job_uid = $2 AND change > $3 AND change <= $4
            AND month = (SELECT month FROM job_series WHERE cluster_id = $1 AND job_uid = $2) ORDER BY change LIMIT $5`,
        [this.#cluster.id, uid, after, upTo, MOST_STEPS + 1],
      );
      return found.rows.length > MOST_STEPS ? undefined : found.rows.map(toChangedStep);
    });
  }

  /**
   * Reads without a principal: data of a principal is shown in no stream. What all watchers share is work of the API itself. History that a reader missed is a list
   * of its project: a project whose readers all resume at once waits for its own places.
   */
  #within<T>(scope: FeedScope, kind: Work, work: (sql: Sql) => Promise<T>): Promise<T> {
    const reach = scope.kind === 'project' ? ({ kind: 'projects', ids: [scope.id] } as const) : scope;
    return this.#database.within({ clusterId: this.#cluster.id, principalId: NO_PRINCIPAL, reach }, work, kind);
  }

  async #jobs(sql: Sql, scope: FeedScope, wanted: readonly Wanted[]): Promise<readonly Job[]> {
    if (wanted.length === 0) return [];
    return findJobs(sql, this.#cluster, {
      jobIds: wanted.map(({ jobId }) => jobId),
      projectId: scope.kind === 'project' ? scope.id : null,
    });
  }

  async #events(sql: Sql, wanted: readonly Wanted[]): Promise<ReadonlyMap<string, readonly JobEvent[]>> {
    if (wanted.length === 0) return new Map();
    const found = await sql.query<EventRow & { readonly job_id: string }>(
      `SELECT e.* FROM unnest($1::uuid[], $2::bigint[]) AS w (job_id, after) CROSS JOIN LATERAL (
         (SELECT job_id, id, type, severity, epoch, message, at FROM job_events
           WHERE job_id = w.job_id AND w.after IS NOT NULL AND id > w.after ORDER BY id LIMIT $3)
         UNION ALL
         (SELECT job_id, id, type, severity, epoch, message, at FROM job_events
           WHERE job_id = w.job_id AND w.after IS NULL ORDER BY id DESC LIMIT $3)) AS e
        ORDER BY e.job_id, e.id`,
      [wanted.map(({ jobId }) => jobId), wanted.map(({ known }) => known?.event ?? null), MOST_EVENTS],
    );
    const byJob = Map.groupBy(found.rows, ({ job_id: jobId }) => jobId);
    return new Map([...byJob].map(([jobId, rows]) => [jobId, rows.map(toJobEvent)]));
  }

  async #steps(
    sql: Sql,
    wanted: readonly Wanted[],
    uids: ReadonlyMap<string, string | null>,
  ): Promise<ReadonlyMap<string, readonly ChangedStep[]>> {
    const from = wanted.flatMap(({ jobId, known }) => {
      const uid = uids.get(jobId) ?? null;
      return uid === null || known === undefined ? [] : [{ uid, change: known.change }];
    });
    if (from.length === 0) return new Map();
    const found = await sql.query<ChangedRow>(
      `SELECT s.* FROM unnest($2::text[], $3::bigint[]) AS w (uid, after)
         JOIN job_series j ON j.cluster_id = $1 AND j.job_uid = w.uid
        CROSS JOIN LATERAL (
          SELECT job_uid, epoch, step, loss, tokens, step_time_ms, grad_norm, learning_rate, at, change FROM steps
           WHERE cluster_id = $1 AND month = j.month AND job_uid = w.uid AND change > w.after ORDER BY change LIMIT $4) AS s
        ORDER BY s.job_uid, s.change`,
      [this.#cluster.id, from.map(({ uid }) => uid), from.map(({ change }) => change), MOST_STEPS],
    );
    const byJob = Map.groupBy(found.rows, ({ job_uid: uid }) => uid);
    return new Map([...byJob].map(([uid, rows]) => [uid, rows.map(toChangedStep)]));
  }

  /** Number of the last change of a step, for each job whose steps were not read yet. */
  async #ends(
    sql: Sql,
    wanted: readonly Wanted[],
    uids: ReadonlyMap<string, string | null>,
  ): Promise<ReadonlyMap<string, number>> {
    const fresh = wanted.flatMap(({ jobId, known }) => (known === undefined ? [uids.get(jobId) ?? null] : []));
    const asked = fresh.filter((uid) => uid !== null);
    if (asked.length === 0) return new Map();
    const found = await sql.query<{ uid: string; change: string }>(
      `SELECT w.uid, s.change FROM unnest($2::text[]) AS w (uid)
         JOIN job_series j ON j.cluster_id = $1 AND j.job_uid = w.uid
        CROSS JOIN LATERAL (
          SELECT change FROM steps WHERE cluster_id = $1 AND month = j.month AND job_uid = w.uid ORDER BY change DESC LIMIT 1) AS s`,
      [this.#cluster.id, asked],
    );
    return new Map(found.rows.map(({ uid, change }) => [uid, Number(change)]));
  }
}

function toChangedStep(row: ChangedRow): ChangedStep {
  const tokens = row.tokens === null ? null : Number(row.tokens);
  return {
    change: Number(row.change),
    point: {
      epoch: row.epoch,
      step: Number(row.step),
      loss: row.loss,
      tokens,
      tokensPerSecond: tokens === null || row.step_time_ms <= 0 ? null : (tokens * 1000) / row.step_time_ms,
      stepTimeMs: row.step_time_ms,
      gradNorm: row.grad_norm,
      learningRate: row.learning_rate,
      at: row.at.toISOString(),
      bucket: null,
    },
  };
}
