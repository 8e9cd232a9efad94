import { API_EVENTS, type ApiEvent, type TrainingJob } from '@coxswain/api-types';
import type { Database, Sql } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';
import { notifyJobChanged } from '../jobs/job-changes.ts';
import { findJobRow, type JobRow } from '../jobs/job-row.ts';
import { markApplied, markChangeRefused, markDeleteSent, markJobDeleted, refuseJob } from '../jobs/job-table.ts';
import { projectJob, queueDeletionMessages, queueRejectionMessages } from '../projection/job-projection.ts';

/**
 * The rows of one cluster as the cluster writer sees them. Each write is one transaction and names the row as it was read: what was asked
 * for since stays asked for.
 */
export interface JobRowStore {
  find(jobId: string): Promise<JobRow | undefined>;
  /** The object is the row's, which did not know it yet. */
  adopt(job: TrainingJob): Promise<void>;
  /** The resource is `job` now, and says all that the row asked for. */
  recordApplied(row: JobRow, job: TrainingJob): Promise<void>;
  /** The job cannot be made; `sentence` says why. */
  refuse(row: JobRow, sentence: string): Promise<void>;
  /** The cluster refused a change of a job that exists: the job goes on as it was, and its history says so. */
  rejectChange(row: JobRow, sentence: string): Promise<void>;
  /** The API server has taken the delete; the row becomes Deleted when the object is gone. */
  recordDeleteSent(row: JobRow): Promise<void>;
  /** The resource is gone, or was never made. */
  recordDeleted(row: JobRow): Promise<void>;
}

/** The rows in the database. */
export class PostgresJobRowStore implements JobRowStore {
  readonly #database: Database;
  readonly #cluster: Cluster;

  constructor(database: Database, cluster: Cluster) {
    this.#database = database;
    this.#cluster = cluster;
  }

  find(jobId: string): Promise<JobRow | undefined> {
    return findJobRow(this.#database, { clusterId: this.#cluster.id, jobId });
  }

  async adopt(job: TrainingJob): Promise<void> {
    await this.#database.transaction((sql) => projectJob(sql, this.#cluster, job));
  }

  async recordApplied(row: JobRow, job: TrainingJob): Promise<void> {
    await this.#database.transaction(async (sql) => {
      await projectJob(sql, this.#cluster, job);
      await markApplied(sql, row);
      await notifyJobChanged(sql, row.id);
    });
  }

  async refuse(row: JobRow, sentence: string): Promise<void> {
    await this.#database.transaction(async (sql) => {
      if (!(await refuseJob(sql, row, sentence))) return;
      await recordEvent(sql, row, { key: 'api/Refused', type: 'Refused', message: sentence });
      await queueRejectionMessages(sql, row.id, sentence);
      await notifyJobChanged(sql, row.id);
    });
  }

  async rejectChange(row: JobRow, sentence: string): Promise<void> {
    const message = `The cluster refused the change: ${sentence}`;
    await this.#database.transaction(async (sql) => {
      await markApplied(sql, row);
      await markChangeRefused(sql, row, message);
      await recordEvent(sql, row, {
        key: `api/ChangeRefused/${row.generation}`,
        type: 'ChangeRefused',
        message,
      });
      await notifyJobChanged(sql, row.id);
    });
  }

  recordDeleteSent(row: JobRow): Promise<void> {
    return markDeleteSent(this.#database, row);
  }

  async recordDeleted(row: JobRow): Promise<void> {
    await this.#database.transaction(async (sql) => {
      for (const gone of await markJobDeleted(sql, row)) await queueDeletionMessages(sql, gone);
      await notifyJobChanged(sql, row.id);
    });
  }
}

async function recordEvent(
  sql: Sql,
  row: JobRow,
  event: {
    readonly key: string;
    readonly type: ApiEvent;
    readonly message: string;
  },
): Promise<void> {
  await sql.query(
    `INSERT INTO job_events (job_id, key, type, severity, message, at) VALUES ($1, $2, $3, $4, $5, now())
     ON CONFLICT (job_id, key) DO NOTHING`,
    [row.id, event.key, event.type, API_EVENTS[event.type].severity, event.message],
  );
}
