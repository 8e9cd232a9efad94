import type { Database } from '@coxswain/persistence';
import { firstOf } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';
import { notifyJobChanged } from '../jobs/job-changes.ts';
import { markApplyFailed } from '../jobs/job-table.ts';

/*
 * The entries that wait in the outbox of one cluster: one per job. An entry stands for every change of its job since the last one that was applied; `changes`
 * counts them. Who applies it reads the row, so an entry carries no change itself.
 */

/** If a worker dies, another one takes its entry after this time. Two workers at one job are harmless (`cluster-writer.ts`). */
const LEASE_S = 20;
/** A pending row without an entry is given one after this time. Each request writes both in one transaction, so this repairs what should not happen. */
const LOST_AFTER_S = 10;
const LOST_AT_ONCE = 500;
const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 30_000;

const IS_DUE = 'is_entry AND due_at <= now() AND (leased_until IS NULL OR leased_until <= now())';

/** An entry that one worker holds. */
export interface ClaimedEntry {
  readonly id: string;
  readonly jobId: string;
  /** Changes that it stood for when it was claimed. */
  readonly changes: number;
  /** Times in a row that it could not be applied. */
  readonly failures: number;
  /** Another entry of the same turn is due. */
  readonly hasMore: boolean;
}

/** How much waits. */
export interface WaitingFigures {
  readonly entries: number;
  readonly oldestSeconds: number;
  /** Of the turn that has the most. */
  readonly mostOfOneTurn: number;
}

/** Reads and writes the entries of one cluster. */
export class ApplyEntries {
  readonly #database: Database;
  readonly #cluster: Cluster;

  constructor(database: Database, cluster: Cluster) {
    this.#database = database;
    this.#cluster = cluster;
  }

  /** Turns that have an entry that is due. Reads one row for each turn, however many entries wait. */
  async dueTurns(): Promise<readonly string[]> {
    const found = await this.#database.query<{ turn_id: string }>(
      `WITH RECURSIVE turns AS (
         (SELECT turn_id FROM outbox WHERE is_entry AND entry_cluster_id = $1 ORDER BY turn_id LIMIT 1)
         UNION ALL
         SELECT (SELECT o.turn_id FROM outbox o WHERE o.is_entry AND o.entry_cluster_id = $1 AND o.turn_id > t.turn_id ORDER BY o.turn_id LIMIT 1)
           FROM turns t WHERE t.turn_id IS NOT NULL)
       SELECT turn_id FROM turns
        WHERE turn_id IS NOT NULL
          AND EXISTS (SELECT FROM outbox o WHERE o.entry_cluster_id = $1 AND o.turn_id = turns.turn_id AND ${IS_DUE})`,
      [this.#cluster.id],
    );
    return found.rows.map((row) => row.turn_id);
  }

  async hasDue(turnId: string): Promise<boolean> {
    const found = await this.#database.query(
      `SELECT FROM outbox WHERE entry_cluster_id = $1 AND turn_id = $2 AND ${IS_DUE} LIMIT 1`,
      [this.#cluster.id, turnId],
    );
    return found.rows.length > 0;
  }

  /** Takes the most urgent entry of the turn that is due, the one that waited longest first. */
  async claim(turnId: string): Promise<ClaimedEntry | undefined> {
    const claimed = await this.#database.query<{
      id: string;
      job_id: string;
      changes: number;
      failures: number;
      has_more: boolean;
    }>(
      `UPDATE outbox AS mine SET leased_until = now() + make_interval(secs => $3)
        WHERE id = (SELECT id FROM outbox WHERE entry_cluster_id = $1 AND turn_id = $2 AND ${IS_DUE}
                     ORDER BY urgency, due_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING id, job_id, changes, failures,
         EXISTS (SELECT FROM outbox WHERE entry_cluster_id = $1 AND turn_id = $2 AND outbox.id <> mine.id AND ${IS_DUE}) AS has_more`,
      [this.#cluster.id, turnId, LEASE_S],
    );
    const row = firstOf(claimed);
    if (row === undefined) return undefined;
    const { id, job_id: jobId, changes, failures, has_more: hasMore } = row;
    return { id, jobId, changes, failures, hasMore };
  }

  /** The entry was applied. If its job was changed meanwhile, the entry goes to the end of its turn, to be applied once more. */
  async settle({ id, changes }: ClaimedEntry): Promise<void> {
    // The entry is compared with itself: a statement that waited for the row lock of a request reads the newest version of this row, and of no other.
    const removed = await this.#database.query('DELETE FROM outbox WHERE id = $1 AND changes = $2', [id, changes]);
    if (removed.affected > 0) return;
    await this.#database.query(
      'UPDATE outbox SET leased_until = NULL, due_at = now(), failures = 0, created_at = now() WHERE id = $1',
      [id],
    );
  }

  /** The entry could not be applied: it is tried again later, and its job says why. */
  async retryLater({ id, jobId, failures }: ClaimedEntry, sentence: string): Promise<void> {
    const waitMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 20)) * (0.75 + Math.random() / 2);
    const retryAt = new Date(Date.now() + waitMs);
    // The job first, as requests do: the other order could deadlock with them.
    await this.#database.transaction(async (sql) => {
      if (await markApplyFailed(sql, jobId, { sentence, retryAt })) await notifyJobChanged(sql, jobId);
      await sql.query(
        'UPDATE outbox SET leased_until = NULL, due_at = now() + make_interval(secs => $2), failures = failures + 1 WHERE id = $1',
        [id, waitMs / 1_000],
      );
    });
  }

  /** Turns rows of an older API, one for each change, into entries. */
  async adoptEarlierRows(): Promise<void> {
    await this.#database.query(
      `WITH earlier AS (
         SELECT j.id FROM jobs j WHERE j.cluster_id = $1 AND j.id IN (SELECT job_id FROM outbox WHERE NOT is_entry LIMIT 1000)
         FOR KEY SHARE SKIP LOCKED
       ), removed AS (
         DELETE FROM outbox o USING earlier WHERE o.job_id = earlier.id AND NOT o.is_entry RETURNING o.job_id
       )
       INSERT INTO outbox (job_id, is_entry, entry_cluster_id, turn_id)
       SELECT DISTINCT j.id, true, j.cluster_id, coalesce(j.project_id, j.cluster_id) FROM removed JOIN jobs j ON j.id = removed.job_id
       ON CONFLICT (job_id) WHERE is_entry DO UPDATE SET changes = outbox.changes + 1`,
      [this.#cluster.id],
    );
  }

  /** Gives pending rows without an entry one. */
  async restoreLost(): Promise<void> {
    await this.#database.query(
      `WITH lost AS (
         SELECT j.id, j.cluster_id, j.project_id FROM jobs j
          WHERE j.cluster_id = $1 AND j.generation > j.applied_generation AND j.deleted_at IS NULL
            AND j.updated_at < now() - make_interval(secs => $2)
            AND NOT EXISTS (SELECT FROM outbox WHERE job_id = j.id)
          LIMIT $3 FOR KEY SHARE SKIP LOCKED
       )
       INSERT INTO outbox (job_id, is_entry, entry_cluster_id, turn_id)
       SELECT id, true, cluster_id, coalesce(project_id, cluster_id) FROM lost
       ON CONFLICT (job_id) WHERE is_entry DO NOTHING`,
      [this.#cluster.id, LOST_AFTER_S, LOST_AT_ONCE],
    );
  }

  async figures(): Promise<WaitingFigures> {
    const counted = await this.#database.query<{ entries: number; oldest: number; most: number }>(
      `SELECT coalesce(sum(n), 0)::float8 AS entries, coalesce(max(n), 0)::float8 AS most,
              coalesce(extract(epoch FROM now() - min(since)), 0)::float8 AS oldest
         FROM (SELECT count(*) AS n, min(created_at) AS since FROM outbox WHERE is_entry AND entry_cluster_id = $1 GROUP BY turn_id) AS by_turn`,
      [this.#cluster.id],
    );
    const row = firstOf(counted);
    return { entries: row?.entries ?? 0, oldestSeconds: row?.oldest ?? 0, mostOfOneTurn: row?.most ?? 0 };
  }
}
