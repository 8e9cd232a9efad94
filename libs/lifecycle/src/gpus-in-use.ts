import type { Placement, TrainingJob } from '@coxswain/api-types';
import { ranksOfPod } from '@coxswain/api-types';
import { recordedLedger } from './recorded-status.ts';

/** A pod of anybody's that may hold GPUs of a node. */
export interface GpuPod {
  readonly nodeName?: string;
  /** GPUs it requests. */
  readonly gpus: number;
  readonly terminal: boolean;
  /** The TrainingJob (by UID) and epoch that it belongs to, if any. */
  readonly gang?: { readonly jobUid: string; readonly epoch: number };
}

/**
 * GPUs taken per node: by the Placements of attempts that are under way or about to begin, whether or not their pods exist yet, and by
 * every other pod that is bound and not terminal.
 */
export function gpusInUse(cluster: {
  readonly jobs: readonly TrainingJob[];
  readonly placements: readonly Placement[];
  readonly pods: Iterable<GpuPod>;
}): ReadonlyMap<string, number> {
  const jobByUid = new Map(cluster.jobs.map((job) => [job.metadata.uid, job]));
  const used = new Map<string, number>();
  const take = (node: string, gpus: number): void => void used.set(node, (used.get(node) ?? 0) + gpus);
  const holding = new Set<string>();
  for (const { spec } of cluster.placements) {
    const job = jobByUid.get(spec.jobUid);
    if (job === undefined || !isUnderWay(job, spec.epoch)) continue;
    holding.add(`${spec.jobUid}/${spec.epoch}`);
    spec.nodes.forEach((node, podIndex) => take(node, ranksOfPod(spec, podIndex).length));
  }
  for (const pod of cluster.pods) {
    if (pod.nodeName === undefined || pod.terminal) continue;
    if (pod.gang !== undefined && holding.has(`${pod.gang.jobUid}/${pod.gang.epoch}`)) continue;
    take(pod.nodeName, pod.gpus);
  }
  return used;
}

function isUnderWay(job: TrainingJob, epoch: number): boolean {
  const ledger = recordedLedger(job);
  if (ledger.terminal !== undefined) return false;
  const attempt = ledger.attempts.find((one) => one.epoch === epoch);
  return attempt === undefined ? epoch > ledger.epoch : attempt.stage !== 'Ended';
}
