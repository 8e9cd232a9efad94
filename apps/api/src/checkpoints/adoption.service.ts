import { isDeepStrictEqual } from 'node:util';
import {
  API_GROUP_VERSION,
  type Checkpoint,
  type CheckpointAdopt,
  type CheckpointRecord,
  CheckpointResourceSpec,
  formatPlace,
} from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { isAlreadyExists, isNotFound, isRefusal, type KubeClient, type KubeObject } from '@coxswain/kube';
import type { TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { recordAudit } from '../auth/audit.ts';
import type { Principal } from '../auth/principal.ts';
import { inProject, type ScopeQuestion } from '../auth/project-scope.ts';
import { collectionOf, sentenceOf } from '../cluster/resources.ts';
import { CLUSTER, type Cluster, KUBE, TENANT_DATABASE } from '../infrastructure/tokens.ts';
import { JobsService } from '../jobs/jobs.service.ts';
import { ProjectLimits } from '../limits/project-limits.ts';

/** Most API servers answer within some ten milliseconds; webhooks of others may not. */
const CALL = { lane: 'bulk', timeoutMs: 5_000 } as const;

type CheckpointObject = Checkpoint & KubeObject;

/** Adopts checkpoints that no job saved. The right to submit jobs includes it, because a job can read the same claims. */
@Injectable()
export class AdoptionService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #kube: Pick<KubeClient, 'get' | 'create'>;
  readonly #jobs: JobsService;
  readonly #limits: ProjectLimits;

  // eslint-disable-next-line max-params -- what is injected is chosen by its token, not by its place
  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(KUBE) kube: KubeClient,
    @Inject(JobsService) jobs: JobsService,
    @Inject(ProjectLimits) limits: ProjectLimits,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#kube = kube;
    this.#jobs = jobs;
    this.#limits = limits;
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
      await recordAudit(sql, principal, { action: 'checkpoint.adopt', target, projectId: scope.id });
      return chosen;
    });
    return toRecord(await this.#createOrGet(namespace, request), namespace);
  }

  async #createOrGet(namespace: string, request: CheckpointAdopt): Promise<CheckpointObject> {
    const { name, claimName, path, layout } = request;
    const spec = { claimName, path, ...(layout === undefined ? {} : { layout }) };
    const manifest = { apiVersion: API_GROUP_VERSION, kind: 'Checkpoint', metadata: { name, namespace }, spec };
    const collection = collectionOf('checkpoints', namespace);
    try {
      const options = { ...CALL, fieldValidation: 'Strict' } as const;
      return await this.#kube.create<CheckpointObject>(collection, manifest, options);
    } catch (error) {
      if (isAlreadyExists(error)) {
        const existing = await this.#kube.get<CheckpointObject>(`${collection}/${name}`, CALL);
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
    pin: null,
    retention: null,
    isBeingDeleted: metadata.deletionTimestamp !== undefined,
    isAbsent: false,
    createdAt: new Date(creationTimestamp ?? 0).toISOString(),
    deletedAt: null,
  };
}
