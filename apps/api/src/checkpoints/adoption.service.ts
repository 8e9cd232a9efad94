import { isDeepStrictEqual } from 'node:util';
import {
  API_GROUP_VERSION,
  type Checkpoint,
  type CheckpointAdopt,
  type CheckpointRecord,
  CheckpointResourceSpec,
  formatPlace,
  recordedLocation,
} from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import {
  type CallOptions,
  isAlreadyExists,
  isNotFound,
  isRefusal,
  type KubeClient,
  type KubeObject,
} from '@coxswain/kube';
import { firstOf, type Sql, type TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { recordAudit } from '../auth/audit.ts';
import type { Principal } from '../auth/principal.ts';
import { inProject, type ScopeQuestion } from '../auth/project-scope.ts';
import { collectionOf, sentenceOf } from '../cluster/resources.ts';
import { CLUSTER, type Cluster, KUBE, TENANT_DATABASE } from '../infrastructure/tokens.ts';
import { CheckCalls } from '../jobs/check-calls.ts';
import { JobsService } from '../jobs/jobs.service.ts';
import { ProjectLimits } from '../limits/project-limits.ts';

/** Adopted checkpoints of one project that exist at a time. Each costs a pod that reads it, and a row. */
export const MAX_ADOPTED = 200;
const FULL_RETRY_SECONDS = 60;

type CheckpointObject = Checkpoint & KubeObject;

/** Adopts checkpoints that no job saved. The right to submit jobs includes it, because a job can read the same claims. */
@Injectable()
export class AdoptionService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #kube: Pick<KubeClient, 'get' | 'create'>;
  readonly #jobs: JobsService;
  readonly #limits: ProjectLimits;
  readonly #calls: CheckCalls;

  // eslint-disable-next-line max-params -- what is injected is chosen by its token, not by its place
  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(KUBE) kube: KubeClient,
    @Inject(JobsService) jobs: JobsService,
    @Inject(ProjectLimits) limits: ProjectLimits,
    @Inject(CheckCalls) calls: CheckCalls,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#kube = kube;
    this.#jobs = jobs;
    this.#limits = limits;
    this.#calls = calls;
  }

  /** Creates the Checkpoint object. The same request again answers the same. The cluster is asked after the transaction, which holds a connection. */
  async adopt(
    principal: Principal,
    { project, request }: { readonly project: string; readonly request: CheckpointAdopt },
  ): Promise<CheckpointRecord> {
    this.#limits.chargeChange(principal, project);
    const question: ScopeQuestion = { clusterId: this.#cluster.id, principal, project, action: 'job.submit' };
    const namespace = await inProject(this.#database, question, async (sql, scope) => {
      const chosen = await this.#jobs.namespaceFor(sql, scope, request.namespace);
      const target = `${chosen}/${request.name}`;
      await this.#requireRoom(sql, scope, { namespace: chosen, name: request.name });
      await recordAudit(sql, principal, { action: 'checkpoint.adopt', target, projectId: scope.id });
      return chosen;
    });
    const created = await this.#calls.ask(principal, project, (call) => this.#createOrGet(call, namespace, request));
    return toRecord(created, namespace);
  }

  /** The rows follow the objects by seconds, so concurrent requests can exceed the bound a little. A repetition needs no room. */
  async #requireRoom(
    sql: Sql,
    project: { readonly id: string; readonly name: string },
    adopted: { readonly namespace: string; readonly name: string },
  ): Promise<void> {
    const found = await sql.query<{ n: number }>(
      `SELECT count(*)::integer AS n FROM (
         SELECT 1 FROM checkpoints
          WHERE cluster_id = $1 AND job_uid = '' AND deleted_at IS NULL AND (namespace, name) <> ($3, $4)
            AND namespace IN (SELECT namespace FROM project_namespaces WHERE cluster_id = $1 AND project_id = $2)
          LIMIT ${MAX_ADOPTED}) AS counted`,
      [this.#cluster.id, project.id, adopted.namespace, adopted.name],
    );
    if ((firstOf(found)?.n ?? 0) < MAX_ADOPTED) return;
    const message = `project "${project.name}" has ${MAX_ADOPTED} adopted checkpoints, which is the limit; delete those that are needed no longer (\`coxswain checkpoint forget NAME\`; the files stay)`;
    throw this.#limits.refuse('adoptedCheckpoints', message, FULL_RETRY_SECONDS);
  }

  async #createOrGet(call: CallOptions, namespace: string, request: CheckpointAdopt): Promise<CheckpointObject> {
    const { name, path, layout } = request;
    const spec = { ...recordedLocation(request), path, ...(layout === undefined ? {} : { layout }) };
    const manifest = { apiVersion: API_GROUP_VERSION, kind: 'Checkpoint', metadata: { name, namespace }, spec };
    const collection = collectionOf('checkpoints', namespace);
    try {
      const options = { ...call, fieldValidation: 'Strict' } as const;
      return await this.#kube.create<CheckpointObject>(collection, manifest, options);
    } catch (error) {
      if (isAlreadyExists(error)) {
        const existing = await this.#kube.get<CheckpointObject>(`${collection}/${name}`, call);
        if (isDeepStrictEqual(readSpec(existing.spec), readSpec(spec))) return existing;
        throw new DomainError('NAME_TAKEN', `another checkpoint named "${name}" exists in namespace ${namespace}`);
      }
      if (!isRefusal(error) && !isNotFound(error))
        throw new DomainError(
          'UNAVAILABLE',
          `the cluster does not answer, so checkpoint "${name}" was not adopted; try again`,
        );
      throw new DomainError('INVALID_REQUEST', `the cluster rejects checkpoint "${name}": ${sentenceOf(error)}`);
    }
  }
}

/** With defaults; undefined: not readable by this release. */
function readSpec(spec: unknown): CheckpointResourceSpec | undefined {
  return CheckpointResourceSpec.safeParse(spec).data;
}

function toRecord({ metadata, spec, status }: CheckpointObject, namespace: string): CheckpointRecord {
  const { name, uid = '', creationTimestamp } = metadata;
  const named = CheckpointResourceSpec.parse(spec);
  return {
    ...named,
    location: formatPlace(named, named.path),
    name,
    uid,
    namespace,
    jobId: null,
    state: status?.state ?? 'Unverified',
    isSuspect: status?.suspect !== undefined,
    message: status?.message ?? null,
    verification: status?.verification ?? null,
    contents: status?.contents ?? null,
    progress: null,
    pin: null,
    retention: null,
    isBeingDeleted: metadata.deletionTimestamp !== undefined,
    isAbsent: false,
    createdAt: new Date(creationTimestamp ?? 0).toISOString(),
    deletedAt: null,
  };
}
