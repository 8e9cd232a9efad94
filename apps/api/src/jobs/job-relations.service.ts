import type { CheckpointList, Job, JobEventList } from '@coxswain/api-types';
import type { TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import { ALL_PROJECTS, inScope, projectIdOf } from '../auth/project-scope.ts';
import { CLUSTER, type Cluster, TENANT_DATABASE } from '../infrastructure/tokens.ts';
import { type CheckpointRow, type EventRow, toCheckpointRecord, toJobEvent } from './job-history.service.ts';

/** A job of an answer, beside which more is read. */
export type AnsweredJob = Pick<Job, 'id' | 'project'>;

/**
 * What is read beside jobs that were answered: for all of them in one question to the database, however many they are. It names the cluster and
 * the project again, and does not lean on how the jobs were found.
 */
@Injectable()
export class JobRelationsService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;

  constructor(@Inject(TENANT_DATABASE) database: TenantDatabase, @Inject(CLUSTER) cluster: Cluster) {
    this.#database = database;
    this.#cluster = cluster;
  }

  /** The newest `limit` checkpoints of each job, oldest first. */
  async checkpoints(
    principal: Principal,
    jobs: readonly AnsweredJob[],
    limit: number,
  ): Promise<readonly CheckpointList[]> {
    const rows = await this.#read<CheckpointRow>(
      principal,
      jobs,
      // A UID is no secret: an object of another namespace that carries it is somebody else’s.
      (which) => [
        `SELECT j.id AS job_id, c.uid, c.namespace, c.name, c.spec, c.state, c.message, c.created_at, c.deleted_at
           FROM jobs j CROSS JOIN LATERAL (
             SELECT * FROM checkpoints WHERE cluster_id = j.cluster_id AND job_uid = j.uid AND namespace = j.namespace
              ORDER BY created_at DESC, name DESC LIMIT $4
           ) AS c
          WHERE ${WHICH_JOBS} ORDER BY c.created_at, c.name`,
        [...which, limit],
      ],
    );
    return perJob(jobs, rows, (row) => toCheckpointRecord(row, row.job_id));
  }

  /** The newest `limit` events of each job, oldest first. */
  async events(principal: Principal, jobs: readonly AnsweredJob[], limit: number): Promise<readonly JobEventList[]> {
    const rows = await this.#read<EventRow>(principal, jobs, (which) => [
      `SELECT j.id AS job_id, e.id, e.type, e.severity, e.epoch, e.message, e.at
         FROM jobs j CROSS JOIN LATERAL (SELECT * FROM job_events WHERE job_id = j.id ORDER BY id DESC LIMIT $4) AS e
        WHERE ${WHICH_JOBS} ORDER BY e.id`,
      [...which, limit],
    ]);
    return perJob(jobs, rows, toJobEvent);
  }

  /** Asks once for each project that the jobs are of: that is one, unless a query asks about several. */
  async #read<Row>(
    principal: Principal,
    jobs: readonly AnsweredJob[],
    ask: (which: WhichJobs) => readonly [text: string, parameters: readonly unknown[]],
  ): Promise<readonly (Row & OfJob)[]> {
    // Administrators read every project at once, and jobs that belong to none.
    const byProject = Map.groupBy(jobs, ({ project }) => (principal.isClusterAdmin ? null : project) ?? ALL_PROJECTS);
    const found = await Promise.all(
      [...byProject].map(async ([project, members]) => {
        const question = { clusterId: this.#cluster.id, principal, project, action: 'job.read' } as const;
        const ids = members.map(({ id }) => id);
        return inScope(this.#database, question, async (sql, scope) => {
          const [text, parameters] = ask([this.#cluster.id, ids, projectIdOf(scope)]);
          return (await sql.query<Row & OfJob>(text, parameters)).rows;
        });
      }),
    );
    return found.flat();
  }
}

/** Cluster, ids, and project where it is one. */
type WhichJobs = readonly [clusterId: string, ids: readonly string[], projectId: string | null];
const WHICH_JOBS = 'j.cluster_id = $1 AND j.id = ANY ($2::uuid[]) AND ($3::uuid IS NULL OR j.project_id = $3)';

interface OfJob {
  readonly job_id: string;
}

function perJob<Row extends OfJob, Item>(
  jobs: readonly AnsweredJob[],
  rows: readonly Row[],
  toItem: (row: Row) => Item,
): readonly { items: Item[] }[] {
  const byJob = Map.groupBy(rows, (row) => row.job_id);
  return jobs.map(({ id }) => ({ items: (byJob.get(id) ?? []).map(toItem) }));
}
