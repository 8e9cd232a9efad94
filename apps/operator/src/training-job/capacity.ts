import {
  effectiveLayout,
  findCondition,
  gpuCount,
  ranksOfPod,
  type Placement,
  type TrainingJob,
} from '@coxswain/api-types';
import { fabricFromNodes, type Fabric, type FabricNode } from '@coxswain/fabric';
import { FreeGpus, isRecordedPlacement, podName, Refusals, type VersionedCapacity } from '@coxswain/lifecycle';
import { sameFacts } from '../cluster/cached-node.ts';
import { type ClusterCache } from '../cluster/cluster-cache.ts';
import { BY_JOB, BY_UID } from '../cluster/indexes.ts';

/**
 * Which GPUs are free. Taken are those of bound pods, those that a recorded placement has promised to pods that are not bound yet,
 * and those of placements that this process is recording at this moment.
 *
 * A placement may be worked out beside the loop, from a state that is old when it is there: `reserve` checks that it still fits and holds it
 * in one synchronous step, so two jobs are never given the same GPUs by one leader. A second leader cannot add to that: what an earlier one
 * placed and this one sees late is checked by `fits` before its pods are released.
 */
export class Capacity {
  readonly #cache: ClusterCache;
  /** Placements under way, by job UID. */
  readonly #reserved = new Map<string, Placement['spec']>();
  readonly #free = new FreeGpus();
  /** What was refused, and stays so until enough becomes free. */
  readonly refusals = new Refusals(this.#free);
  #fabric: Fabric | undefined;
  /** Those of the fabric, by name. */
  #nodes: ReadonlyMap<string, FabricNode> | undefined;
  /** Counts changes of nodes that a placement may stand on. */
  #version = 0;
  /** Version at which each node last changed. */
  readonly #changedAt = new Map<string, number>();

  constructor(cache: ClusterCache) {
    this.#cache = cache;
    cache.gpuUsage.onChange((node) => this.#countFree(node));
    for (const node of cache.nodes.list()) this.#countFree(node.metadata.name);
    cache.nodes.onChange((change) => {
      const { name } = change.object.metadata;
      if (change.kind === 'updated' && sameFacts(change.previous, change.object)) return;
      this.#fabric = undefined;
      this.#nodes = undefined;
      this.#version += 1;
      if (change.kind === 'deleted') this.#changedAt.delete(name);
      else this.#changedAt.set(name, this.#version);
      this.#countFree(name);
    });
  }

  /** Capacity for a placement of the job of that UID: what its own epoch holds is not counted against it. */
  forJob(jobUid: string): VersionedCapacity {
    const used = once(() => this.#usedByOthers(jobUid));
    return {
      fabric: this.#currentFabric(),
      // Counted when somebody asks: most looks at a waiting job ask for the fabric alone.
      get usedGpus() {
        return used();
      },
      version: this.#version,
    };
  }

  #usedByOthers(jobUid: string): ReadonlyMap<string, number> {
    const used = this.#cache.gpuUsage.snapshot();
    for (const placement of this.#promised()) {
      if (placement.jobUid !== jobUid) this.#addUnbound(placement, used);
    }
    return used;
  }

  #countFree(name: string): void {
    const facts = this.#cache.nodes.get(name)?.facts;
    const isUsable = facts !== undefined && facts.ready && facts.schedulable;
    this.#free.set(name, isUsable ? facts.gpuCapacity - this.#cache.gpuUsage.on(name) : 0);
  }

  /** Whether nobody else holds the placement's GPUs now. A node that is not known, or takes no pods, is not judged here. */
  fits(placement: Placement['spec']): boolean {
    const wanted = gpusByNode(placement);
    const used = this.#usedOn(wanted, placement.jobUid);
    return [...wanted].every(([name, gpus]) => {
      const node = this.#node(name);
      return node === undefined || (used.get(name) ?? 0) + gpus <= node.gpus;
    });
  }

  /**
   * Holds a placement's GPUs until `release`, where each of its nodes is as it was at `version` and still has room; else holds nothing. What
   * happened on other nodes since is of no concern: it cannot make this placement wrong, at most another one better.
   */
  reserve(placement: Placement['spec'], version: number): boolean {
    const isUnchanged = placement.nodes.every((name) => {
      const changedAt = this.#changedAt.get(name);
      return changedAt !== undefined && changedAt <= version && this.#node(name)?.usable === true;
    });
    if (!isUnchanged || !this.fits(placement)) return false;
    this.#reserved.set(placement.jobUid, placement);
    return true;
  }

  /** What is reserved for the job of that UID. */
  reservedFor(jobUid: string): Placement['spec'] | undefined {
    return this.#reserved.get(jobUid);
  }

  /** Gives up the job's reservation, if it has one: its placement is recorded, or was decided against. */
  release(jobUid: string): void {
    this.#reserved.delete(jobUid);
  }

  /** GPUs that others than that job hold on these nodes. */
  #usedOn(nodes: ReadonlyMap<string, number>, jobUid: string): ReadonlyMap<string, number> {
    const used = new Map([...nodes.keys()].map((name) => [name, this.#cache.gpuUsage.on(name)]));
    for (const placement of this.#promised()) {
      if (placement.jobUid === jobUid || !placement.nodes.some((name) => nodes.has(name))) continue;
      this.#addUnbound(placement, used);
    }
    return used;
  }

  #node(name: string): FabricNode | undefined {
    this.#nodes ??= new Map(this.#currentFabric().nodes.map((node) => [node.name, node]));
    return this.#nodes.get(name);
  }

  #currentFabric(): Fabric {
    this.#fabric ??= fabricFromNodes(this.#cache.nodes.list().map((node) => node.facts));
    return this.#fabric;
  }

  #promised(): readonly Placement['spec'][] {
    const recorded = this.#cache.placements.whole().filter((placement) => this.#isActive(placement));
    return [...recorded.map((placement) => placement.spec), ...this.#reserved.values()];
  }

  /**
   * Whether pods of this placement may still be made: it is the one that the status of its job records, of an attempt that has not been told to
   * stop, and has no more ranks than the job asks for. Any other one is left over, or a stranger's, and holds nothing.
   */
  #isActive(placement: Placement): boolean {
    const cached = this.#cache.jobs.cached.byIndex(BY_UID, placement.spec.jobUid)[0];
    if (cached === undefined || cached.metadata.namespace !== placement.metadata.namespace) return false;
    const { spec, status } = this.#cache.jobs.newest(cached);
    const attempt = status?.attempts?.at(-1);
    if (attempt === undefined || attempt.epoch !== status?.epoch) return false;
    if (attempt.stage !== 'Creating' && attempt.stage !== 'Released') return false;
    const asked = gpuCount(effectiveLayout(spec, status.plan), spec.gpus);
    return placement.spec.worldSize <= asked && isRecordedPlacement(placement, attempt);
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
    const namespace = this.#cache.jobs.cached.byIndex(BY_UID, jobUid)[0]?.metadata.namespace;
    // A label is anybody's to write: another tenant's pod of such a name settles nothing.
    const own = pods.filter(({ metadata, gang }) => metadata.namespace === namespace && gang?.ownerUid === jobUid);
    return new Set(own.filter((pod) => pod.nodeName !== undefined || pod.terminal).map((pod) => pod.metadata.name));
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

/** GPUs that a placement takes on each of its nodes. */
function gpusByNode(placement: Placement['spec']): ReadonlyMap<string, number> {
  const gpus = new Map<string, number>();
  placement.nodes.forEach((node, podIndex) => {
    gpus.set(node, (gpus.get(node) ?? 0) + ranksOfPod(placement, podIndex).length);
  });
  return gpus;
}

function once<T>(ask: () => T): () => T {
  let answer: { readonly value: T } | undefined;
  return () => (answer ??= { value: ask() }).value;
}
