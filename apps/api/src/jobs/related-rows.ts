import type { Job } from '@coxswain/api-types';
import type { TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import { ALL_PROJECTS, inScope, projectIdOf } from '../auth/project-scope.ts';
import { CLUSTER, type Cluster, TENANT_DATABASE } from '../infrastructure/tokens.ts';

/** A job of an answer, beside which more is read. */
export type AnsweredJob = Pick<Job, 'id' | 'project'>;

/** Cluster, ids, and project where it is one: the parameters of {@link WHICH_JOBS}. */
type WhichJobs = readonly [clusterId: string, ids: readonly string[], projectId: string | null];
/** The condition that finds the jobs as `j`. */
export const WHICH_JOBS = 'j.cluster_id = $1 AND j.id = ANY ($2::uuid[]) AND ($3::uuid IS NULL OR j.project_id = $3)';

interface OfJob {
  readonly job_id: string;
}

interface RelatedQuery<Row, Item> {
  /** Text and parameters. The first three parameters are those of {@link WHICH_JOBS}. Each row has `job_id`. */
  readonly query: (which: WhichJobs) => readonly [text: string, parameters: readonly unknown[]];
  readonly toItem: (row: Row & OfJob) => Item;
}

/**
 * Reads rows that belong to jobs of an answer: one database query for all jobs. The query filters by cluster and project again, so that it does not
 * depend on how the jobs were found.
 */
@Injectable()
export class RelatedRows {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;

  constructor(@Inject(TENANT_DATABASE) database: TenantDatabase, @Inject(CLUSTER) cluster: Cluster) {
    this.#database = database;
    this.#cluster = cluster;
  }

  /** For each job, in their order, what one query of the database finds for all of them. */
  async perJob<Row, Item>(
    principal: Principal,
    jobs: readonly AnsweredJob[],
    { query, toItem }: RelatedQuery<Row, Item>,
  ): Promise<readonly { items: Item[] }[]> {
    const rows = await this.#read<Row>(principal, jobs, query);
    const byJob = Map.groupBy(rows, (row) => row.job_id);
    return jobs.map(({ id }) => ({ items: (byJob.get(id) ?? []).map(toItem) }));
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
        const question = { clusterId: this.#cluster.id, principal, project, action: 'job.read', work: 'list' } as const;
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
