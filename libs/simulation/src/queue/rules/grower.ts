import type { TrainingJob } from '@coxswain/api-types';
import { growthObstacle, growthQuestion } from '@coxswain/scheduling';
import type { QueueJob } from '../load/queue-job.ts';

/** How long the missing GPUs are free before a job grows (`operator.timeouts.growAfterSeconds`). */
const GROW_AFTER_MS = 600_000;

/** A job that runs on fewer pods than it was submitted with. */
interface Small {
  readonly uid: string;
  readonly job: TrainingJob | undefined;
  readonly running: QueueJob;
  readonly full: QueueJob;
}

/** Decides with the rule of the operator which jobs that run on fewer pods take all of them again: the nodes are free for a while, no other job waits, and it pays. */
export class Grower {
  /** Since when the missing nodes of each job are free, in milliseconds. */
  readonly #freeSinceMs = new Map<string, number>();

  /** Whether a job grows if nothing happens for a while. */
  get isWaiting(): boolean {
    return this.#freeSinceMs.size > 0;
  }

  /** UIDs of the jobs that grow now, which share the free nodes. */
  grows(small: readonly Small[], about: { readonly nowMs: number; readonly freeNodes: number }): readonly string[] {
    const { nowMs } = about;
    let free = about.freeNodes;
    const growing: string[] = [];
    const seen = new Set<string>();
    for (const { uid, job, running, full } of small) {
      const missing = full.pods - running.pods;
      if (missing > free || job === undefined || !pays(job, full, nowMs)) continue;
      free -= missing;
      seen.add(uid);
      const sinceMs = this.#freeSinceMs.get(uid) ?? nowMs;
      this.#freeSinceMs.set(uid, sinceMs);
      if (nowMs - sinceMs >= GROW_AFTER_MS) growing.push(uid);
    }
    for (const uid of this.#freeSinceMs.keys()) if (!seen.has(uid)) this.#freeSinceMs.delete(uid);
    for (const uid of growing) this.#freeSinceMs.delete(uid);
    return growing;
  }
}

function pays(job: TrainingJob, { pods, gpusPerPod }: QueueJob, nowMs: number): boolean {
  const attempt = job.status?.attempts?.at(-1);
  if (attempt?.stage !== 'Released') return false;
  const question = growthQuestion(job, { attempt, toGpus: pods * gpusPerPod, now: new Date(nowMs), borrows: false });
  return growthObstacle(question) === undefined;
}
