import type { Database } from '@coxswain/persistence';
import type { Logger } from '@coxswain/telemetry';
import { MINUTE_MS } from '@coxswain/units';
import { sweepRegularly } from '../infrastructure/regular-sweeps.ts';
import type { Cluster } from '../infrastructure/tokens.ts';
import { notifyJobChanged } from '../jobs/job-changes.ts';
import { removeJobRecords } from '../jobs/job-table.ts';
import { deleteSomeRows, ROWS_AT_ONCE } from '../series/series-rows.ts';
import { findOldRecords, type OldRecord, RECORDS_AT_ONCE, type RecordBounds } from './old-records.ts';

/** Statements of one sweep that delete rows; the next sweep, which follows at once, goes on. A job that trained takes two or more, of others a hundred go by ten. */
const MOST_STATEMENTS = 2_000;

/** What a sweep needs. */
export interface RecordRetentionParts {
  readonly database: Database;
  readonly cluster: Cluster;
  readonly bounds: RecordBounds;
  readonly logger: Logger;
}

/** Removes what is kept no longer of jobs of this cluster that are gone, at the start and once a minute, until `signal` aborts. */
export function removeOldRecords(parts: RecordRetentionParts, signal: AbortSignal): Promise<void> {
  const { logger } = parts;
  const sweep = async (): Promise<boolean> => {
    const { removed, isDone } = await sweepRecords(parts, signal);
    if (removed > 0) logger.info({ removed }, 'removed records of jobs that are gone');
    // Where nothing could be removed, as of rows that somebody holds, another sweep at once would remove nothing either.
    return !isDone && removed > 0;
  };
  const failed = 'records of jobs were not removed; trying later';
  return sweepRegularly({ everyMs: MINUTE_MS, sweep, logger, failed }, signal);
}

/** One sweep of at most so many statements that delete; gives how many records it removed, and whether it came to its end. */
export async function sweepRecords(
  parts: RecordRetentionParts,
  signal: AbortSignal,
  mostStatements = MOST_STATEMENTS,
): Promise<{ readonly removed: number; readonly isDone: boolean }> {
  const sweep = new Sweep(parts, signal, mostStatements);
  const isDone = await sweep.run();
  return { removed: sweep.removed, isDone };
}

/** What is found by the UID of a job. What is there of a checkpoint or a placement has kept its record until now. */
const BY_UID = ['attempts', 'checkpoint_geometries', 'measured_step_times', 'rank_steps', 'step_epochs'] as const;
const MIRRORED = ['checkpoints', 'placements'] as const;

class Sweep {
  removed = 0;
  readonly #parts: RecordRetentionParts;
  readonly #signal: AbortSignal;
  #statementsLeft: number;

  constructor(parts: RecordRetentionParts, signal: AbortSignal, mostStatements: number) {
    this.#parts = parts;
    this.#signal = signal;
    this.#statementsLeft = mostStatements;
  }

  /**
   * Projects in turn, so that one of many records leaves time to others, and in another order each time, so that a sweep which is cut short leaves out
   * others. Null: jobs that are of none. False when it was cut short.
   */
  async run(): Promise<boolean> {
    const { database, cluster, bounds } = this.#parts;
    const found = await database.query<{ id: string | null }>(
      'SELECT id FROM (SELECT id FROM projects WHERE cluster_id = $1 UNION ALL SELECT NULL) AS every_project ORDER BY random()',
      [cluster.id],
    );
    if (bounds.days > 0 && !(await this.#removeAdopted(bounds.days))) return false;
    let projects: readonly (string | null)[] = found.rows.map(({ id }) => id);
    while (projects.length > 0) {
      const withMore: (string | null)[] = [];
      for (const project of projects) {
        if (this.#isOver) return false;
        const old = await findOldRecords(database, { cluster, project, bounds });
        const before = this.removed;
        if (old.length > 0 && !(await this.#remove(old))) return false;
        // Those that somebody holds are left for the next sweep.
        if (old.length === RECORDS_AT_ONCE && this.removed > before) withMore.push(project);
      }
      projects = withMore;
    }
    return true;
  }

  get #isOver(): boolean {
    return this.#signal.aborted || this.#statementsLeft <= 0;
  }

  /** The rows of the jobs go last: whatever interrupts it, the next sweep finds them and goes on. False when this one was cut short. */
  async #remove(old: readonly OldRecord[]): Promise<boolean> {
    const { database, cluster } = this.#parts;
    const uids = old.flatMap(({ uid }) => (uid === null ? [] : [uid]));
    if (uids.length > 0 && !(await this.#removeWhatHasUid(old, uids))) return false;
    this.#statementsLeft -= 1;
    const ids = await database.transaction(async (sql) => {
      const gone = await removeJobRecords(
        sql,
        cluster,
        old.map(({ id }) => id),
      );
      for (const id of gone) await notifyJobChanged(sql, id);
      return gone;
    });
    this.removed += ids.length;
    return true;
  }

  /** False when this sweep has done enough. */
  async #removeWhatHasUid(old: readonly OldRecord[], uids: readonly string[]): Promise<boolean> {
    const { database, cluster } = this.#parts;
    const key = [cluster.id, uids];
    // Concurrent readers of the curve, and steps that arrive late, see that it is gone.
    const series = await database.query<{ job_uid: string; month: string }>(
      `UPDATE job_series SET steps_removed_at = coalesce(steps_removed_at, now()), levels_removed_at = coalesce(levels_removed_at, now())
        WHERE cluster_id = $1 AND job_uid = ANY ($2::text[]) RETURNING job_uid, month::text`,
      key,
    );
    for (const { job_uid: uid, month } of series.rows)
      for (const table of ['steps', 'step_levels'] as const)
        if (!(await this.#untilNoneIsLeft(() => deleteSomeRows(database, cluster, { table, month, uid }))))
          return false;
    const ofUid = 'cluster_id = $1 AND job_uid = ANY ($2::text[])';
    for (const table of BY_UID) if (!(await this.#deleteAll(table, ofUid, key))) return false;
    for (const table of MIRRORED)
      if (!(await this.#deleteAll(table, `${ofUid} AND deleted_at IS NOT NULL`, key))) return false;
    // Of a job that was refused, which may still be found in the cluster, they go with its row.
    const ids = old.flatMap(({ id, uid }) => (uid === null ? [] : [id]));
    const ofJob = 'job_id = ANY ($1::uuid[])';
    return (await this.#deleteAll('incidents', ofJob, [ids])) && this.#deleteAll('job_events', ofJob, [ids]);
  }

  /** No job leads to the records of adopted checkpoints. They are kept as long after their object as those of jobs. False when this sweep has done enough. */
  #removeAdopted(days: number): Promise<boolean> {
    const { database, cluster } = this.#parts;
    return this.#untilNoneIsLeft(async () => {
      const { rows } = await database.query(
        `WITH gone AS (
           DELETE FROM checkpoints
            WHERE ctid = ANY (ARRAY(SELECT ctid FROM checkpoints
                                     WHERE cluster_id = $1 AND job_uid = '' AND deleted_at < now() - make_interval(days => $2::integer)
                                     LIMIT ${ROWS_AT_ONCE}))
           RETURNING uid),
         geometries AS (DELETE FROM checkpoint_geometries WHERE cluster_id = $1 AND job_uid IN (SELECT uid FROM gone))
         SELECT uid FROM gone`,
        [cluster.id, days],
      );
      return rows.length === ROWS_AT_ONCE;
    });
  }

  #deleteAll(table: string, where: string, parameters: readonly unknown[]): Promise<boolean> {
    const text = `DELETE FROM ${table} WHERE ${where} AND ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE ${where} LIMIT ${ROWS_AT_ONCE}))`;
    return this.#untilNoneIsLeft(async () => {
      const { affected } = await this.#parts.database.query(text, parameters);
      return affected === ROWS_AT_ONCE;
    });
  }

  /** `deleteSome` gives whether some may be left. */
  async #untilNoneIsLeft(deleteSome: () => Promise<boolean>): Promise<boolean> {
    for (;;) {
      if (this.#isOver) return false;
      this.#statementsLeft -= 1;
      if (!(await deleteSome())) return true;
    }
  }
}
