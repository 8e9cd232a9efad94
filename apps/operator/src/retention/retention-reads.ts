/** What retention reads from the API server just before it orders or starts a deletion. Nothing of it comes from a watch. */
import { type Checkpoint, LABELS, type Placement, type TrainingJob } from '@coxswain/api-types';
import { isNotFound, type KubeClient, type KubeObject } from '@coxswain/kube';
import type { RetentionView } from '@coxswain/lifecycle';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import { BY_JOB } from '../cluster/indexes.ts';
import { checkpointsPath, claimsPath, placementsPath, podsPath, trainingJobsPath } from '../cluster/paths.ts';

/** A pod of a worker, as much as is read of it. */
export interface WorkerPod extends KubeObject {
  readonly status?: {
    readonly phase?: unknown;
    readonly reason?: unknown;
    readonly conditions?: unknown;
    readonly containerStatuses?: unknown;
  };
}

/**
 * Everything in a namespace that can keep a save. Checkpoints are read last: a job that began to use one of them before is in the lists of jobs and placements,
 * and a change after it makes the write of its status fail.
 */
export async function readView(client: Pick<KubeClient, 'list'>, namespace: string): Promise<RetentionView> {
  const at = { namespace };
  const { items: pods } = await client.list<WorkerPod>(podsPath(at), { labelSelector: `${LABELS.worker}=verify` });
  const { items: placements } = await client.list<Placement & KubeObject>(placementsPath(at));
  const { items: jobs } = await client.list<TrainingJob & KubeObject>(trainingJobsPath(at));
  const { items: checkpoints } = await client.list<Checkpoint & KubeObject>(checkpointsPath(at));
  const readers = pods.filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed');
  const owners = readers.flatMap(({ metadata }) => metadata.ownerReferences ?? []);
  const readByPods = new Set(owners.flatMap(({ kind, name }) => (kind === 'Checkpoint' ? [name] : [])));
  return { checkpoints, jobs, placements, readByPods };
}

/** Where the claim can be written to now. A claim of one node is written to where the pods of its job are. */
export async function placeOf(
  { spec, metadata }: Checkpoint,
  parts: { readonly client: Pick<KubeClient, 'get'>; readonly cache: Pick<ClusterCache, 'pods'> },
): Promise<{ readonly node: string | undefined } | { readonly waits: string }> {
  const name = spec.claimName;
  const modes = await accessModes(parts.client, claimsPath({ namespace: metadata.namespace, name }));
  if (modes.length === 0 || modes.includes('ReadWriteMany')) return { node: undefined };
  const mounted = parts.cache.pods.cached
    .byIndex(BY_JOB, spec.jobUid)
    .find(({ terminal, nodeName }) => !terminal && nodeName !== undefined);
  if (mounted?.nodeName === undefined) return { node: undefined };
  if (modes.every((mode) => mode === 'ReadWriteOncePod'))
    return { waits: `claim ${name} is mounted on ${mounted.nodeName}; the deletion waits until it is free` };
  return { node: mounted.nodeName };
}

async function accessModes(client: Pick<KubeClient, 'get'>, path: string): Promise<readonly string[]> {
  try {
    const { spec } = await client.get<{ readonly spec?: { readonly accessModes?: readonly string[] } }>(path);
    return spec?.accessModes ?? [];
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}
