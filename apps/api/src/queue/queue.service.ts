import { type JobStart, type Queue, type QueueJobName } from '@coxswain/api-types';
import { type KubeClient, type KubeObject, resourcePath } from '@coxswain/kube';
import type { Sql, TenantDatabase } from '@coxswain/persistence';
import type { QuotaObject } from '@coxswain/scheduling';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import { inScope, projectIdOf } from '../auth/project-scope.ts';
import { CLUSTER, type Cluster, KUBE, TENANT_DATABASE } from '../infrastructure/tokens.ts';
import { type JobAddress, JobsService } from '../jobs/jobs.service.ts';
import { readPastStarts } from './past-starts.ts';
import { gpuQuota, projectUses, visibleProjects } from './project-use.ts';
import { jobStart, queueAnswer, uidsOf, type VisibleNames } from './queue-answer.ts';
import type { QueueQuery } from './queue-queries.ts';
import { QueueSnapshots } from './queue-snapshots.ts';

/** Namespaces whose quotas one answer reads. */
const MAX_QUOTA_READS = 32;
/** Few namespaces have more than one quota. */
const MOST_QUOTAS = 100;

/**
 * Jobs that wait for GPUs. The order is over all projects; a name is in an answer only if a statement in the scope of the caller found the job.
 */
@Injectable()
export class QueueService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #kube: Pick<KubeClient, 'list'>;
  readonly #jobs: JobsService;
  readonly #snapshots: QueueSnapshots;

  // eslint-disable-next-line max-params -- what is injected is chosen by its token, not by its place
  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(KUBE) kube: KubeClient,
    @Inject(JobsService) jobs: JobsService,
    @Inject(QueueSnapshots) snapshots: QueueSnapshots,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#kube = kube;
    this.#jobs = jobs;
    this.#snapshots = snapshots;
  }

  async read(principal: Principal, { project, limit }: { readonly project: string } & QueueQuery): Promise<Queue> {
    const question = { clusterId: this.#cluster.id, principal, project, action: 'job.read', work: 'list' } as const;
    // The right is checked before the queue is computed, and holds no connection meanwhile.
    await inScope(this.#database, question, () => Promise.resolve());
    const snapshot = await this.#snapshots.newest();
    const { names, projects, starts } = await inScope(this.#database, question, async (sql, scope) => {
      const projectId = projectIdOf(scope);
      return {
        names: await this.#names(sql, { projectId, uids: uidsOf(snapshot) }),
        projects: await visibleProjects(sql, this.#cluster, projectId),
        starts: await readPastStarts(sql, this.#cluster, { projectId, now: snapshot.now }),
      };
    });
    const quotas = await this.#quotas(projects.flatMap(({ namespaces }) => namespaces));
    const use = projectUses(snapshot, projects, (namespace) => quotas.get(namespace));
    const projectOf = new Map(
      projects.flatMap(({ name, namespaces }) => namespaces.map((one) => [one, name] as const)),
    );
    return queueAnswer(snapshot, { names, use, starts, projectOf, limit });
  }

  async ofJob(principal: Principal, address: JobAddress): Promise<JobStart> {
    const row = await this.#jobs.readingMany(principal, address, (_sql, found) => Promise.resolve(found));
    const snapshot = await this.#snapshots.newest();
    const { id, name, namespace, project_name: project, uid } = row;
    const names = new Map(uid === null ? [] : [[uid, { id, name, namespace, project }]]);
    const tried = uid === null ? [] : await this.#snapshots.changes(snapshot, uid);
    return jobStart(snapshot, uid, { names, tried });
  }

  async #names(
    sql: Sql,
    of: { readonly projectId: string | null; readonly uids: readonly string[] },
  ): Promise<VisibleNames> {
    const found = await sql.query<QueueJobName & { readonly uid: string }>(
      `SELECT j.uid, j.id, j.name, j.namespace, p.name AS project
         FROM jobs j LEFT JOIN projects p ON p.id = j.project_id
        WHERE j.cluster_id = $1 AND ($2::uuid IS NULL OR j.project_id = $2) AND j.uid = ANY ($3::text[])`,
      [this.#cluster.id, of.projectId, of.uids],
    );
    return new Map(found.rows.map(({ uid, ...name }) => [uid, name]));
  }

  /** GPUs that the quotas of each namespace allow. Namespaces whose quotas cannot be read are left out. */
  async #quotas(namespaces: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const read = namespaces.slice(0, MAX_QUOTA_READS).map(async (namespace) => {
      const path = resourcePath({ group: '', version: 'v1', plural: 'resourcequotas', namespace });
      const { items } = await this.#kube.list<QuotaObject & KubeObject>(path, { limit: MOST_QUOTAS });
      return [namespace, gpuQuota(items)] as const;
    });
    const settled = await Promise.allSettled(read);
    return new Map(
      settled.flatMap((one): [string, number][] => {
        if (one.status === 'rejected' || one.value[1] === undefined) return [];
        return [[one.value[0], one.value[1]]];
      }),
    );
  }
}
