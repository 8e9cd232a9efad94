import { type Attempt, type FabricJob, gpusOfPod, MAX_FABRIC_JOBS, type PlacementSpec } from '@coxswain/api-types';
import { isRecordedPlacement } from '@coxswain/scheduling';
import type { Sql } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';

/** A job that holds GPUs, and where. */
export interface HoldingJob {
  readonly id: string;
  readonly project: string | null;
  readonly name: string;
  readonly placement: PlacementSpec;
}

interface HoldingRow extends Omit<HoldingJob, 'placement'> {
  readonly attempt: Attempt;
  readonly placement_name: string;
  readonly spec: PlacementSpec;
}

/** The newest jobs that hold GPUs, and whether older ones may. */
export interface HoldingJobs {
  readonly jobs: readonly HoldingJob[];
  readonly hasMore: boolean;
}

/** Jobs of the scope whose newest attempt has not ended, newest first, with the placement that it recorded; at most `limit`. */
export async function holdingJobs(sql: Sql, cluster: Cluster, limit = MAX_FABRIC_JOBS): Promise<HoldingJobs> {
  const found = await sql.query<HoldingRow>(
    `SELECT j.id, p.name AS project, j.name, a.attempt, pl.name AS placement_name, pl.spec
       FROM jobs j
       LEFT JOIN projects p ON p.id = j.project_id
       JOIN LATERAL (SELECT epoch, attempt FROM attempts
                      WHERE cluster_id = j.cluster_id AND job_uid = j.uid ORDER BY epoch DESC LIMIT 1) a ON true
       JOIN placements pl ON pl.cluster_id = j.cluster_id AND pl.job_uid = j.uid AND pl.epoch = a.epoch
        AND pl.namespace = j.namespace AND pl.name = a.attempt->>'placement' AND pl.deleted_at IS NULL
      WHERE j.cluster_id = $1 AND j.finished_at IS NULL AND j.deleted_at IS NULL AND a.attempt->>'stage' <> 'Ended'
      ORDER BY j.created_at DESC, j.id LIMIT $2`,
    [cluster.id, limit + 1],
  );
  // Before those are left out whose Placement is somebody else's: there may be others behind them.
  const hasMore = found.rows.length > limit;
  const jobs = found.rows
    .slice(0, limit)
    .filter(({ attempt, placement_name: name, spec }) => isRecordedPlacement({ metadata: { name }, spec }, attempt))
    .map(({ id, project, name, spec }) => ({ id, project, name, placement: spec }));
  return { jobs, hasMore };
}

/** What the job holds, by the index of each node. Nodes that are not seen any more are left out. */
export function toFabricJob(job: HoldingJob, indexOfNode: ReadonlyMap<string, number>): FabricJob {
  const { id, project, name, placement } = job;
  const held = placement.nodes.flatMap((node, podIndex) => {
    const index = indexOfNode.get(node);
    return index === undefined ? [] : [{ index, gpus: gpusOfPod(placement, podIndex) }];
  });
  return { id, project, name, nodes: held.map(({ index }) => index), gpus: held.map(({ gpus }) => gpus) };
}
