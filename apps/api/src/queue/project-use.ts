import type { QueueUse } from '@coxswain/api-types';
import type { Sql } from '@coxswain/persistence';
import { gpusOfQuota, type QuotaObject } from '@coxswain/scheduling';
import type { Cluster } from '../infrastructure/tokens.ts';
import type { QueueSnapshot } from './queue-snapshot.ts';

/** A project that the caller may see. */
export interface VisibleProject {
  readonly id: string;
  readonly name: string;
  readonly namespaces: readonly string[];
}

/** The projects of the scope, with their namespaces. */
export async function visibleProjects(
  sql: Sql,
  cluster: Cluster,
  projectId: string | null,
): Promise<readonly VisibleProject[]> {
  const found = await sql.query<VisibleProject>(
    `SELECT p.id, p.name, coalesce(array_agg(n.namespace) FILTER (WHERE n.namespace IS NOT NULL), '{}') AS namespaces
       FROM projects p LEFT JOIN project_namespaces n ON n.project_id = p.id
      WHERE p.cluster_id = $1 AND ($2::uuid IS NULL OR p.id = $2)
      GROUP BY p.id, p.name`,
    [cluster.id, projectId],
  );
  return found.rows;
}

/** What each of the projects holds and waits for; those that hold most first. Projects that do neither are left out, unless there is only one. */
export function projectUses(
  { forecast: { input }, jobs }: QueueSnapshot,
  projects: readonly VisibleProject[],
  quotaOf: (namespace: string) => number | undefined,
): readonly QueueUse[] {
  const uses = new Map(
    projects.map(({ id, name, namespaces }) => [
      id,
      { project: name, heldGpus: 0, waitingJobs: 0, waitingGpus: 0, quotaGpus: sumOf(namespaces.map(quotaOf)) },
    ]),
  );
  const useOf = (uid: string) => uses.get(jobs.get(uid)?.projectId ?? '');
  for (const { uid, pods } of input.running) {
    const use = useOf(uid);
    if (use !== undefined) use.heldGpus += pods.reduce((sum, { gpus }) => sum + gpus, 0);
  }
  for (const { uid, parts } of input.waiting) {
    const use = useOf(uid);
    if (use === undefined) continue;
    use.waitingJobs += 1;
    use.waitingGpus += parts.reduce((sum, { gpus }) => sum + gpus, 0);
  }
  return [...uses.values()]
    .filter(({ heldGpus, waitingJobs }) => uses.size === 1 || heldGpus + waitingJobs > 0)
    .sort((left, right) => right.heldGpus - left.heldGpus || (left.project < right.project ? -1 : 1));
}

function sumOf(quotas: readonly (number | undefined)[]): number | null {
  let sum = 0;
  for (const quota of quotas) {
    if (quota === undefined) return null;
    sum += quota;
  }
  return quotas.length === 0 ? null : sum;
}

/** GPUs that the quotas of a namespace allow together; undefined: no quota counts GPUs. */
export function gpuQuota(quotas: readonly QuotaObject[]): number | undefined {
  const limits = quotas.flatMap((quota) => gpusOfQuota(quota)?.limit ?? []);
  return limits.length === 0 ? undefined : limits.reduce((left, right) => Math.min(left, right));
}
