import {
  ANNOTATIONS,
  type Checkpoint,
  CheckpointContents,
  CheckpointProgress,
  CheckpointVerification,
  isAdopted,
  MAX_PIN_CHARACTERS,
  NODE_LABELS,
  type Placement,
  type TensorGroup,
} from '@coxswain/api-types';
import type { KubeObject } from '@coxswain/kube';
import { type Sql, storableJson, storableText } from '@coxswain/persistence';
import { recordedRetention } from '../checkpoints/recorded-retention.ts';
import type { Cluster } from '../infrastructure/tokens.ts';

/** Which object is gone, and up to which resourceVersion everything was seen. */
export interface Vanished {
  readonly namespace: string;
  readonly name: string;
  readonly presentUid?: string | undefined;
  readonly seenUpTo: string;
}

/** Verifications of one checkpoint that are kept, the newest. */
const MAX_VERIFICATIONS = 50;

/**
 * Writes a checkpoint’s row, never backwards, and its verification. What cannot be read of the status is left out. A release without the newest columns does
 * not write them, so the same version is written again if they differ.
 */
export async function projectCheckpoint(sql: Sql, cluster: Cluster, checkpoint: Checkpoint): Promise<void> {
  const { uid, namespace, name, resourceVersion, creationTimestamp, annotations } = checkpoint.metadata;
  const { status } = checkpoint;
  const verification = CheckpointVerification.safeParse(status?.verification).data;
  const progress = CheckpointProgress.safeParse(status?.progress).data;
  const held: Partial<CheckpointContents> = CheckpointContents.safeParse(status?.contents).data ?? {};
  const { tensorGroups, ...contents } = held;
  const pin = annotations?.[ANNOTATIONS.pin];
  const retention = recordedRetention(checkpoint);
  await sql.query(
    `INSERT INTO checkpoints (cluster_id, uid, namespace, name, job_uid, spec, state, message, resource_version, created_at,
                              verification, contents, pin, is_suspect, retention, progress)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::numeric, $10, $11, $12, $13, $14, $15, $16)
     ON CONFLICT (cluster_id, uid) DO UPDATE
       SET spec = excluded.spec, state = excluded.state, message = excluded.message, resource_version = excluded.resource_version,
           verification = excluded.verification, contents = excluded.contents, pin = excluded.pin, is_suspect = excluded.is_suspect,
           retention = excluded.retention, progress = excluded.progress
       WHERE checkpoints.resource_version < excluded.resource_version
          OR (checkpoints.resource_version = excluded.resource_version
              AND (checkpoints.verification, checkpoints.contents, checkpoints.pin, checkpoints.is_suspect, checkpoints.retention,
                   checkpoints.progress)
                  IS DISTINCT FROM (excluded.verification, excluded.contents, excluded.pin, excluded.is_suspect, excluded.retention,
                                    excluded.progress))`,
    [
      cluster.id,
      uid,
      namespace,
      name,
      checkpoint.spec.jobUid,
      storableJson(checkpoint.spec),
      checkpoint.status?.state ?? (isAdopted(checkpoint) ? 'Unverified' : 'Complete'),
      checkpoint.status?.message === undefined ? null : storableText(checkpoint.status.message),
      resourceVersion,
      creationTimestamp,
      verification === undefined ? null : storableJson(verification),
      contents.geometry === undefined ? null : storableJson(contents),
      pin === undefined ? null : storableText(pin.slice(0, MAX_PIN_CHARACTERS)),
      status?.suspect !== undefined,
      retention === null ? null : storableJson(retention),
      progress === undefined ? null : storableJson(progress),
    ],
  );
  // No job saved an adopted one. By its own UID, the checkpoints that others adopt take no room from it.
  const owner = isAdopted(checkpoint) ? uid : checkpoint.spec.jobUid;
  if (tensorGroups !== undefined && contents.geometry !== undefined && namespace !== undefined && owner !== undefined)
    await recordGeometry(sql, cluster, { jobUid: owner, namespace, geometry: contents.geometry, tensorGroups });
  if (verification !== undefined && uid !== undefined && namespace !== undefined)
    await recordVerification(sql, cluster, { uid, namespace, verification });
}

/** Most geometries of one job that are kept; a job has few layouts. */
const MAX_GEOMETRIES = 100;

/** Keeps the groups of tensors of a geometry; twice is once. */
async function recordGeometry(
  sql: Sql,
  cluster: Cluster,
  of: {
    readonly jobUid: string;
    readonly namespace: string;
    readonly geometry: string;
    readonly tensorGroups: readonly TensorGroup[];
  },
): Promise<void> {
  await sql.query(
    `INSERT INTO checkpoint_geometries (cluster_id, job_uid, namespace, geometry, tensor_groups)
     SELECT $1, $2, $3, $4, $5
      WHERE (SELECT count(*) FROM checkpoint_geometries WHERE cluster_id = $1 AND job_uid = $2 AND namespace = $3) < ${MAX_GEOMETRIES}
     ON CONFLICT DO NOTHING`,
    [cluster.id, of.jobUid, of.namespace, of.geometry, storableJson(of.tensorGroups)],
  );
}

/** Adds a verification to the history of its checkpoint; twice is once. */
async function recordVerification(
  sql: Sql,
  cluster: Cluster,
  of: { readonly uid: string; readonly namespace: string; readonly verification: CheckpointVerification },
): Promise<void> {
  const at = new Date(of.verification.at);
  if (Number.isNaN(at.getTime())) return;
  await sql.query(
    `INSERT INTO checkpoint_verifications (cluster_id, checkpoint_uid, namespace, verified_at, verification)
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
    [cluster.id, of.uid, of.namespace, at, storableJson(of.verification)],
  );
  await sql.query(
    `DELETE FROM checkpoint_verifications
      WHERE cluster_id = $1 AND checkpoint_uid = $2 AND verified_at <= (
        SELECT verified_at FROM checkpoint_verifications WHERE cluster_id = $1 AND checkpoint_uid = $2
         ORDER BY verified_at DESC OFFSET ${MAX_VERIFICATIONS} LIMIT 1)`,
    [cluster.id, of.uid],
  );
}

/** Writes a placement’s row, never backwards. */
export async function projectPlacement(sql: Sql, cluster: Cluster, placement: Placement): Promise<void> {
  const { uid, namespace, name, resourceVersion } = placement.metadata;
  await sql.query(
    `INSERT INTO placements (cluster_id, uid, namespace, name, job_uid, epoch, spec, resource_version)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8::numeric)
     ON CONFLICT (cluster_id, uid) DO UPDATE SET spec = excluded.spec, resource_version = excluded.resource_version
       WHERE placements.resource_version < excluded.resource_version`,
    [
      cluster.id,
      uid,
      namespace,
      name,
      placement.spec.jobUid,
      placement.spec.epoch,
      storableJson(placement.spec),
      resourceVersion,
    ],
  );
}

/** Writes a node’s fabric labels; the rest of a node changes often and is of no interest here. */
export async function projectNode(sql: Sql, cluster: Cluster, node: KubeObject): Promise<void> {
  const labels = node.metadata.labels ?? {};
  const fabric = Object.values(NODE_LABELS).flatMap((label) =>
    labels[label] === undefined ? [] : [[label, labels[label]]],
  );
  await sql.query(
    `INSERT INTO nodes (cluster_id, uid, name, labels, resource_version) VALUES ($1, $2, $3, $4, $5::numeric)
     ON CONFLICT (cluster_id, uid) DO UPDATE SET labels = excluded.labels, resource_version = excluded.resource_version
       WHERE nodes.resource_version < excluded.resource_version AND nodes.labels <> excluded.labels`,
    [
      cluster.id,
      node.metadata.uid,
      node.metadata.name,
      JSON.stringify(Object.fromEntries(fabric)),
      node.metadata.resourceVersion,
    ],
  );
}

/** Marks the rows of that name whose object is gone. */
export async function markGone(
  sql: Sql,
  cluster: Cluster,
  gone: Vanished & { readonly table: 'checkpoints' | 'placements' | 'nodes' },
): Promise<void> {
  const isNode = gone.table === 'nodes';
  await sql.query(
    `UPDATE ${gone.table} SET deleted_at = now()
      WHERE cluster_id = $1 AND name = $2 AND ($3::text IS NULL OR uid <> $3) AND deleted_at IS NULL
        AND resource_version <= $4::numeric ${isNode ? '' : 'AND namespace = $5'}`,
    [cluster.id, gone.name, gone.presentUid ?? null, gone.seenUpTo, ...(isNode ? [] : [gone.namespace])],
  );
}
