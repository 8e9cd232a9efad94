import { findCondition, isTrue, ranksOfPod, type Placement, type TrainingJob } from '@coxswain/api-types';
import { fabricFromNodes, type Fabric, type FabricCapacity } from '@coxswain/fabric';
import { BY_JOB, BY_UID, type ClusterCache } from '../cluster/cluster-cache.ts';
import { podName } from '@coxswain/lifecycle';

/**
 * Which GPUs are free. Taken are those of bound pods, those that a recorded placement has promised to pods that are not bound yet,
 * and those of placements that this process is recording at this moment.
 *
 * Deciding and reserving happen in one synchronous step, so two jobs are never given the same GPUs by one leader. A second leader
 * cannot add to that: it starts from the recorded placements, and the scheduler binds no pod to GPUs that are taken.
 */
export class Capacity {
  readonly #cache: ClusterCache;
  /** Placements under way, by job UID. */
  readonly #reserved = new Map<string, Placement['spec']>();
  #fabric: Fabric | undefined;

  constructor(cache: ClusterCache) {
    this.#cache = cache;
    cache.nodes.onChange(() => {
      this.#fabric = undefined;
    });
  }

  /** Capacity for a placement of the job of that UID: what its own epoch holds is not counted against it. */
  forJob(jobUid: string): FabricCapacity {
    const used = this.#cache.gpuUsage.snapshot();
    for (const placement of this.#promised()) {
      if (placement.jobUid !== jobUid) this.#addUnbound(placement, used);
    }
    return { fabric: this.#currentFabric(), usedGpus: used };
  }

  /** Holds a placement's GPUs until `release`. */
  reserve(placement: Placement['spec']): void {
    this.#reserved.set(placement.jobUid, placement);
  }

  /** Gives up the job's reservation, if it has one: its placement is recorded, or was decided against. */
  release(jobUid: string): void {
    this.#reserved.delete(jobUid);
  }

  #currentFabric(): Fabric {
    this.#fabric ??= fabricFromNodes(this.#cache.nodes.list().map((node) => node.facts));
    return this.#fabric;
  }

  #promised(): readonly Placement['spec'][] {
    const recorded = this.#cache.placements.all().filter((placement) => this.#isActive(placement));
    return [...recorded.map((placement) => placement.spec), ...this.#reserved.values()];
  }

  /** Whether pods of this placement may still be made: its job lives, its epoch is the newest and has not been told to stop. */
  #isActive(placement: Placement): boolean {
    const cached = this.#cache.jobs.cached.byIndex(BY_UID, placement.spec.jobUid)[0];
    // A placement beside no job of its UID is a stranger's, and holds nothing.
    if (cached === undefined || cached.metadata.namespace !== placement.metadata.namespace) return false;
    const { status } = this.#cache.jobs.newest(cached);
    if (isTrue(status?.conditions, 'Complete') || isTrue(status?.conditions, 'Failed')) return false;
    const epoch = status?.epoch ?? 0;
    if (placement.spec.epoch !== epoch) return placement.spec.epoch > epoch;
    const stage = status?.attempts?.findLast((attempt) => attempt.epoch === epoch)?.stage;
    return stage === undefined || stage === 'Creating' || stage === 'Released';
  }

  #addUnbound(placement: Placement['spec'], used: Map<string, number>): void {
    const settled = this.#settledPods(placement.jobUid);
    const job = { name: placement.jobName, uid: placement.jobUid };
    placement.nodes.forEach((node, podIndex) => {
      if (settled.has(podName(job, { epoch: placement.epoch, podIndex }))) return;
      used.set(node, (used.get(node) ?? 0) + ranksOfPod(placement, podIndex).length);
    });
  }

  /** Pods that count for themselves (bound) or for nothing any more (terminal). */
  #settledPods(jobUid: string): ReadonlySet<string> {
    const pods = this.#cache.pods.cached.byIndex(BY_JOB, jobUid);
    return new Set(pods.filter((pod) => pod.nodeName !== undefined || pod.terminal).map((pod) => pod.metadata.name));
  }
}

/** Whether the job waits for GPUs, so that freed ones concern it. */
export function waitsForCapacity({ status }: TrainingJob): boolean {
  const placed = findCondition(status?.conditions, 'Placed');
  return ['WaitingForCapacity', 'TopologyUnsatisfiable'].includes(placed?.reason ?? '');
}

/** Whether other nodes may help the job: it waits for GPUs, or the planner found no layout for the nodes that there are. */
export function waitsForNodes(job: TrainingJob): boolean {
  const { conditions } = job.status ?? {};
  return (
    waitsForCapacity(job) ||
    ['WaitingForPlan', 'Planning'].includes(findCondition(conditions, 'Placed')?.reason ?? '') ||
    findCondition(conditions, 'Accepted')?.reason === 'NoLayoutFits'
  );
}
