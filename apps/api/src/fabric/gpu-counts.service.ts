import { FABRIC_NAME, type FabricResource, type GpuCounts } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { isNotFound, type KubeClient } from '@coxswain/kube';
import type { TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import { inScope } from '../auth/project-scope.ts';
import { collectionOf, sentenceOf } from '../cluster/resources.ts';
import { CLOCK, CLUSTER, type Cluster, KUBE, TENANT_DATABASE, type WallClock } from '../infrastructure/tokens.ts';

/** The operator counts every five seconds; a page that many members keep open costs one read. */
const KEPT_MS = 2_000;

/**
 * How many GPUs the cluster has and how many are free, by type, as the operator counted them last. Counts only: which jobs hold GPUs is for
 * administrators (`FabricService`).
 */
@Injectable()
export class GpuCountsService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #kube: Pick<KubeClient, 'get'>;
  readonly #clock: WallClock;
  #last: { readonly atMs: number; readonly counts: Promise<GpuCounts> } | undefined;

  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(KUBE) kube: KubeClient,
    @Inject(CLOCK) clock: WallClock,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#kube = kube;
    this.#clock = clock;
  }

  /** For every member of the project. UNAVAILABLE where the operator has not counted them. */
  async read(principal: Principal, project: string): Promise<GpuCounts> {
    const question = { clusterId: this.#cluster.id, principal, project, action: 'project.read' } as const;
    await inScope(this.#database, question, () => Promise.resolve());
    return this.counts();
  }

  /** The same for a caller whose rights were checked. */
  counts(): Promise<GpuCounts> {
    const nowMs = this.#clock.now().getTime();
    if (this.#last !== undefined && Math.abs(nowMs - this.#last.atMs) < KEPT_MS) return this.#last.counts;
    const counts = this.#read();
    this.#last = { atMs: nowMs, counts };
    // The next question reads again.
    counts.catch(() => (this.#last = undefined));
    return counts;
  }

  async #read(): Promise<GpuCounts> {
    try {
      const path = `${collectionOf('fabrics')}/${FABRIC_NAME}`;
      const { status } = await this.#kube.get<FabricResource & { metadata: object }>(path);
      if (status?.freeGpus === undefined) throw notCounted();
      return { total: status.gpus, free: status.freeGpus, types: status.gpuTypes ?? [] };
    } catch (error) {
      if (error instanceof DomainError) throw error;
      if (isNotFound(error)) throw notCounted();
      throw new DomainError('UNAVAILABLE', `the GPUs of the cluster cannot be read: ${sentenceOf(error)}`);
    }
  }
}

function notCounted(): DomainError {
  return new DomainError(
    'UNAVAILABLE',
    'the operator has not counted the GPUs of the cluster yet; ask again in a few seconds, and check that an operator of this release runs',
  );
}
