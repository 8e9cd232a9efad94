import type { CheckpointList } from '@coxswain/api-types';
import type { Sql } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import { CLUSTER, type Cluster } from '../infrastructure/tokens.ts';
import type { JobRow } from '../jobs/job-row.ts';
import { type JobAddress, JobsService } from '../jobs/jobs.service.ts';
import { type AnsweredJob, RelatedRows, WHICH_JOBS } from '../jobs/related-rows.ts';
import { type CheckpointRow, toCheckpointRecord } from './checkpoint-record.ts';

/** Most checkpoints of one answer: the newest. */
export const MAX_LISTED_CHECKPOINTS = 1_000;

/** The checkpoints that jobs saved. Everybody who may read a job may read its checkpoints. */
@Injectable()
export class CheckpointsService {
  readonly #cluster: Cluster;
  readonly #jobs: JobsService;
  readonly #related: RelatedRows;

  constructor(
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(JobsService) jobs: JobsService,
    @Inject(RelatedRows) related: RelatedRows,
  ) {
    this.#cluster = cluster;
    this.#jobs = jobs;
    this.#related = related;
  }

  /** The newest checkpoints of a job, oldest first. */
  ofJob(principal: Principal, address: JobAddress): Promise<CheckpointList> {
    return this.#jobs.readingMany(principal, address, (sql, row) => this.#read(sql, row));
  }

  async #read(sql: Sql, row: JobRow): Promise<CheckpointList> {
    const found = await sql.query<CheckpointRow>(
      // A UID is no secret: an object of another namespace that carries it is somebody else’s.
      `SELECT * FROM (
         SELECT * FROM checkpoints WHERE cluster_id = $1 AND job_uid = $2 AND namespace = $3
          ORDER BY created_at DESC, name DESC LIMIT ${MAX_LISTED_CHECKPOINTS}
       ) AS newest ORDER BY created_at, name`,
      [this.#cluster.id, row.uid, row.namespace],
    );
    return { items: found.rows.map((checkpoint) => toCheckpointRecord(checkpoint, row.id)) };
  }

  /** The newest `limit` checkpoints of each of these jobs, oldest first, in one query of the database. */
  ofJobs(principal: Principal, jobs: readonly AnsweredJob[], limit: number): Promise<readonly CheckpointList[]> {
    return this.#related.perJob<CheckpointRow, CheckpointList['items'][number]>(principal, jobs, {
      // A UID is no secret: an object of another namespace that carries it is somebody else’s.
      query: (which) => [
        `SELECT j.id AS job_id, c.uid, c.namespace, c.name, c.spec, c.state, c.message, c.verification, c.contents, c.progress, c.pin, c.retention, c.is_suspect, c.created_at, c.deleted_at
           FROM jobs j CROSS JOIN LATERAL (
             SELECT * FROM checkpoints WHERE cluster_id = j.cluster_id AND job_uid = j.uid AND namespace = j.namespace
              ORDER BY created_at DESC, name DESC LIMIT $4
           ) AS c
          WHERE ${WHICH_JOBS} ORDER BY c.created_at, c.name`,
        [...which, limit],
      ],
      toItem: (row) => toCheckpointRecord(row, row.job_id),
    });
  }
}
