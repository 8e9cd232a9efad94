/** Where is a job placed? Read from the Placement that its newest attempt recorded, because users who can create Placements can write others for the same or a later epoch. */
import { type Attempt, type PlacementSpec, seatedPlacement } from '@coxswain/api-types';
import { isRecordedPlacement } from '@coxswain/scheduling';
import type { Sql } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';
import type { JobRow } from './job-row.ts';

/** The most deleted objects of one name that are read, newest first. */
const MAX_OF_ONE_NAME = 8;

/** Placement of that attempt, or of the newest one that has one, with the ranks in the pods that hold them now; undefined before it has, and as long as it is not mirrored. */
export async function recordedPlacement(
  sql: Sql,
  cluster: Cluster,
  { uid, namespace }: Pick<JobRow, 'uid' | 'namespace'>,
  epoch?: number,
): Promise<{ readonly name: string; readonly spec: PlacementSpec; readonly attempt: Attempt } | undefined> {
  const found = await sql.query<{ attempt: Attempt; name: string; spec: PlacementSpec }>(
    `SELECT attempt, name, spec FROM attempts
       JOIN placements USING (cluster_id, job_uid, epoch)
      WHERE cluster_id = $1 AND job_uid = $2 AND namespace = $3 AND name = attempt->>'placement'
        AND ($4::integer IS NULL OR epoch = $4)
      ORDER BY epoch DESC, resource_version DESC LIMIT ${MAX_OF_ONE_NAME}`,
    [cluster.id, uid, namespace, epoch ?? null],
  );
  const recorded = found.rows.find(({ attempt, name, spec }) =>
    isRecordedPlacement({ metadata: { name }, spec }, attempt),
  );
  return recorded && { ...recorded, spec: seatedPlacement(recorded.spec, recorded.attempt) };
}
