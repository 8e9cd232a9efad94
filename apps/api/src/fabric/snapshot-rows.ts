import type { FabricSnapshot } from '@coxswain/api-types';
import { type ChangeCounts, type NodeColumns, nodesOf, type RecordedNode } from '@coxswain/fabric';
import type { Sql } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';

/** What a list tells of a fabric as a whole. */
export type FabricCounts = Pick<FabricSnapshot, 'nodes' | 'gpus' | 'islands' | 'nvlinkDomains'>;

/** A row of `fabric_snapshots` with the columns of {@link SNAPSHOT_COLUMNS}. `changes` is null for the first snapshot. */
export interface SnapshotRow {
  readonly id: string;
  readonly at_text: string;
  readonly taken_at: Date;
  readonly seen_until: Date;
  readonly unrecorded_looks: number;
  readonly counts: FabricCounts;
  readonly changes: ChangeCounts | null;
}

/** Select list of a {@link SnapshotRow}. `at_text` keeps the microseconds that a JavaScript Date drops. */
export const SNAPSHOT_COLUMNS =
  'id, taken_at, taken_at::text AS at_text, seen_until, unrecorded_looks, counts, changes';

/** Converts a row to the answer of REST and GraphQL. */
export function toSnapshot(row: SnapshotRow): FabricSnapshot {
  const { id, counts, changes } = row;
  return {
    id,
    takenAt: row.taken_at.toISOString(),
    seenUntil: row.seen_until.toISOString(),
    ...counts,
    changes,
    unrecordedLooks: row.unrecorded_looks,
  };
}

/** Nodes of a snapshot, sorted by name, less those of chunks that are `except` another one's too. */
export async function nodesOfSnapshot(
  sql: Sql,
  cluster: Cluster,
  { id, except }: { readonly id: string; readonly except?: string | undefined },
): Promise<readonly RecordedNode[]> {
  const found = await sql.query<{ nodes: NodeColumns }>(
    `SELECT c.nodes
       FROM fabric_snapshots s
      CROSS JOIN LATERAL unnest(s.chunks) WITH ORDINALITY AS part (sha256, position)
       JOIN fabric_chunks c ON c.cluster_id = s.cluster_id AND c.sha256 = part.sha256
      WHERE s.cluster_id = $1 AND s.id = $2
        AND NOT EXISTS (SELECT FROM fabric_snapshots other
                         WHERE other.cluster_id = $1 AND other.id = $3 AND part.sha256 = ANY (other.chunks))
      ORDER BY part.position`,
    [cluster.id, id, except ?? null],
  );
  return found.rows.flatMap(({ nodes }) => nodesOf(nodes));
}
