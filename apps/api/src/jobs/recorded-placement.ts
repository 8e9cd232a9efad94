/** Where is a job placed? As the Placement says that its newest attempt recorded; whoever may create Placements can write others of its epoch, or of later ones. */
import type { Attempt, PlacementSpec } from '@coxswain/api-types';
import { isRecordedPlacement } from '@coxswain/lifecycle';
import type { Database } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';
import type { JobRow } from './job-row.ts';

/** Objects of one name that came and went, of which the newest are looked at. */
const MAX_OF_ONE_NAME = 8;

/** Placement of the newest attempt that has one; undefined before the first, and as long as it is not mirrored. */
export async function recordedPlacement(
  database: Database,
  cluster: Cluster,
  { uid, namespace }: Pick<JobRow, 'uid' | 'namespace'>,
): Promise<{ readonly name: string; readonly spec: PlacementSpec } | undefined> {
  const found = await database.query<{ attempt: Attempt; name: string; spec: PlacementSpec }>(
    `SELECT attempt, name, spec FROM attempts
       JOIN placements USING (cluster_id, job_uid, epoch)
      WHERE cluster_id = $1 AND job_uid = $2 AND namespace = $3 AND name = attempt->>'placement'
      ORDER BY epoch DESC, resource_version DESC LIMIT ${MAX_OF_ONE_NAME}`,
    [cluster.id, uid, namespace],
  );
  return found.rows.find(({ attempt, name, spec }) => isRecordedPlacement({ metadata: { name }, spec }, attempt));
}
