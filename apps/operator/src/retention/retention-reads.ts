/** What retention reads from the API server just before it orders or starts a deletion. Nothing of it comes from a watch. */
import { type Checkpoint, LABELS, type Placement, type TrainingJob } from '@coxswain/api-types';
import type { KubeClient, KubeObject } from '@coxswain/kube';
import type { RetentionView } from '@coxswain/lifecycle';
import { checkpointsPath, placementsPath, podsPath, trainingJobsPath } from '../cluster/paths.ts';
import type { WorkerPod } from '../worker-pods/worker-pod.ts';

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
