import type { ClusterFabric } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import type { Fabric } from '@coxswain/fabric';
import type { TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { highestRoleOf, type Principal } from '../auth/principal.ts';
import { scopeOf } from '../auth/project-scope.ts';
import { requireAction } from '../auth/roles.ts';
import { CLUSTER, type Cluster, TENANT_DATABASE } from '../infrastructure/tokens.ts';
import { columnsOf, type FabricColumns } from './fabric-columns.ts';
import { holdingJobs, toFabricJob } from './fabric-jobs.ts';
import { SeenNodes } from './seen-nodes.ts';
import { SeenPods } from './seen-pods.ts';

/** A first list of 10,000 nodes takes a few seconds. */
const PATIENCE_MS = 15_000;

interface FabricAnswer {
  readonly fabric: Fabric;
  readonly columns: FabricColumns;
  readonly indexOfNode: ReadonlyMap<string, number>;
}

/** The whole fabric. It shows which nodes each job holds, so only administrators of the cluster may read it. */
@Injectable()
export class FabricService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #nodes: SeenNodes;
  readonly #pods: SeenPods;
  #newest: FabricAnswer | undefined;

  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(SeenNodes) nodes: SeenNodes,
    @Inject(SeenPods) pods: SeenPods,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#nodes = nodes;
    this.#pods = pods;
  }

  /** UNAVAILABLE, with what the API server said, where nodes cannot be read. */
  async read(principal: Principal): Promise<ClusterFabric> {
    requireAction(highestRoleOf(principal), 'fabric.read');
    const seen = await this.#nodes.observe(PATIENCE_MS);
    if (seen.problem !== undefined) throw new DomainError('UNAVAILABLE', seen.problem);
    const { columns, indexOfNode } = this.#answerOf(seen.fabric);
    const held = await this.#pods.heldByOthers();
    const { jobs, hasMore } = await this.#database.within(
      scopeOf(principal, this.#cluster.id),
      (sql) => holdingJobs(sql, this.#cluster),
      'list',
    );
    return {
      isStale: seen.isStale,
      ...columns,
      nodes: {
        ...columns.nodes,
        heldByOthers: held === undefined ? null : columns.nodes.names.map((name) => held.get(name) ?? 0),
      },
      jobs: jobs.map((job) => toFabricJob(job, indexOfNode)),
      hasMoreJobs: hasMore,
    };
  }

  /** Built once for each fabric, not for each request. */
  #answerOf(fabric: Fabric): FabricAnswer {
    if (this.#newest?.fabric === fabric) return this.#newest;
    const columns = columnsOf(fabric);
    this.#newest = { fabric, columns, indexOfNode: new Map(columns.nodes.names.map((name, index) => [name, index])) };
    return this.#newest;
  }
}
