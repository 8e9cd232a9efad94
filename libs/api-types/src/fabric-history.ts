/** Recorded states of the fabric of a cluster, and the changes between them. */
import { z } from 'zod';
import { FabricHardware, FabricNodes, FabricPlace } from './cluster-fabric.ts';

const timestamp = z.string().meta({ format: 'date-time' });
const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

/** What changed since the snapshot before. */
const FabricChangeCounts = z
  .object({
    came: count.describe('Nodes that have GPUs and had none, or were not there.'),
    gone: count,
    changed: count.describe('Nodes whose facts changed.'),
  })
  .meta({ id: 'FabricChangeCounts' });

/** Summary of a recorded state of the fabric. */
export const FabricSnapshot = z
  .object({
    id: z.uuid(),
    takenAt: timestamp.describe('When the fabric was first recorded like this.'),
    seenUntil: timestamp.describe(
      'Last observation of this state, to within ten minutes. Between it and the next snapshot the fabric changed or was not observed.',
    ),
    nodes: count.describe('Nodes with GPUs.'),
    gpus: count,
    islands: count,
    nvlinkDomains: count.describe('NVLink domains of more than one node.'),
    changes: FabricChangeCounts.nullable().describe(
      'Changes since the snapshot before; null: there was none. The counts stay when the earlier snapshot is deleted.',
    ),
    unrecordedLooks: count.describe(
      'Observations since the snapshot before that found another fabric and were not recorded, because it changed back or changed too often.',
    ),
  })
  .meta({ id: 'FabricSnapshot' });
export type FabricSnapshot = z.infer<typeof FabricSnapshot>;

/** A page of snapshots. */
export const FabricSnapshotList = z
  .object({ items: z.array(FabricSnapshot), nextPageToken: z.string().optional().describe('Absent on the last page.') })
  .meta({ id: 'FabricSnapshotList' });
export type FabricSnapshotList = z.infer<typeof FabricSnapshotList>;

/** All of one length; the same index is the same node. */
export const RecordedFabricNodes = FabricNodes.omit({ usable: true, heldByOthers: true }).meta({
  id: 'RecordedFabricNodes',
});
export type RecordedFabricNodes = z.infer<typeof RecordedFabricNodes>;

/** A snapshot whole, in the columns of ClusterFabric. Which nodes took pods then is not recorded, nor who held them. */
export const RecordedFabric = z
  .object({
    snapshot: FabricSnapshot,
    places: z.array(FabricPlace),
    hardware: z.array(FabricHardware),
    nodes: RecordedFabricNodes,
  })
  .meta({ id: 'RecordedFabric' });
export type RecordedFabric = z.infer<typeof RecordedFabric>;

/** A fact of nodes before and after a change. */
export const FabricFactChange = z
  .object({
    fact: z.string().describe('gpus, island, nvlinkDomain, switches, nicType, ..., or the fact and ReadFrom.'),
    before: z.string().nullable().describe('Null: unknown.'),
    after: z.string().nullable(),
  })
  .meta({ id: 'FabricFactChange' });
export type FabricFactChange = z.infer<typeof FabricFactChange>;

/** Nodes that changed in the same way. */
export const FabricChange = z
  .object({
    kind: z.enum(['came', 'gone', 'changed']),
    nodeCount: count,
    nodes: z.array(z.string()).describe('Their names; of many the first 64.'),
    facts: z.array(FabricFactChange).describe('The same for each of these nodes.'),
  })
  .meta({ id: 'FabricChange' });
export type FabricChange = z.infer<typeof FabricChange>;

/** Changes between two snapshots of the fabric. */
export const FabricChanges = z
  .object({
    before: FabricSnapshot.nullable().describe('Null: there is none before.'),
    after: FabricSnapshot,
    came: count,
    gone: count,
    changed: count,
    changes: z.array(FabricChange).describe('Those of most nodes first.'),
    hasMore: z.boolean().describe('There are more kinds of changes than these 200.'),
  })
  .meta({ id: 'FabricChanges' });
export type FabricChanges = z.infer<typeof FabricChanges>;
