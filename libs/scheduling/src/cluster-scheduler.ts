import { type PlacementSpec, ranksOfPod, type TrainingJob } from '@coxswain/api-types';
import {
  type Fabric,
  type FabricCapacity,
  fabricFromNodes,
  type FabricNode,
  isSchedulable,
  type NodeDemand,
  nodesFor,
} from '@coxswain/fabric';
import { nodeDemandOf } from '@coxswain/runtime';
import type { GangRequest, PlacementRefusal } from './gang-request.ts';
import type { AdmissionView } from './scheduler-view.ts';
import { demandKey } from './capacity/demand-key.ts';
import { fairOrder } from './order/fair-order.ts';
import { FreeGpus } from './capacity/free-gpus.ts';
import { promisingAttempt, Promises, type Reservation } from './reservations/reservations.ts';
import { Refusals } from './capacity/refusals.ts';
import { waitsForCapacity, waitsForNodes, waitsSince } from './order/waiting-jobs.ts';

/** Free and taken GPUs, and the number of the state that they were read at. */
export interface VersionedCapacity extends FabricCapacity {
  readonly version: number;
}

/** A job that waits. */
export interface Asking {
  readonly job: TrainingJob;
  /** RFC 3339, as its status says. */
  readonly since: string;
  /** What was refused to it; undefined where this process has not looked at it yet, or it waits for a plan. */
  readonly request: GangRequest | undefined;
}

/**
 * Who gets GPUs: what asks, what is reserved, and since when. One object per process; the operator, tests and a simulator run the same.
 *
 * Taken are GPUs of bound pods, those that a recorded placement has promised to pods that are not bound yet, and those of placements that this
 * process is recording or has created. A placement may be worked out beside the loop, from a state that is old when it is there: `reserve`
 * checks that it still fits and holds it in one synchronous step, so two jobs are never given the same GPUs by one leader. A second leader
 * cannot add to that, and pods that no job of ours has ask nobody: whether their GPUs were taken is asked (`takenNodes`) until pods are bound.
 *
 * Whoever makes it tells it of each change: of a node (`nodeChanged`), of the GPUs under its pods (`gpusChanged`), and of a job (`jobChanged`).
 */
export class Admission {
  readonly #view: AdmissionView;
  readonly #promises: Promises;
  /** On nodes that take every gang. */
  readonly #free = new FreeGpus();
  /** On those too whose taints a runtime may tolerate. */
  readonly #freeWithTaints = new FreeGpus();
  readonly #refusals = new Refusals({
    freeFor: ({ demand }) => ((demand?.tolerations.length ?? 0) > 0 ? this.#freeWithTaints : this.#free),
    rises: () => this.#free.rises + this.#freeWithTaints.rises,
  });
  /** For each demand that was asked for since the nodes last changed. */
  readonly #fabricFor = new Map<string, { readonly fabric: Fabric; readonly leftOut: string | undefined }>();
  #fabric: Fabric | undefined;
  /** Those of the fabric, by name. */
  #nodes: ReadonlyMap<string, FabricNode> | undefined;
  /** Counts changes of nodes that a placement may stand on. */
  #version = 0;
  /** Version at which each node last changed. */
  readonly #changedAt = new Map<string, number>();
  /** When each namespace was last given GPUs, as a number that grows. */
  readonly #servedAs = new Map<string, number>();
  #servings = 0;

  constructor(view: AdmissionView) {
    this.#view = view;
    this.#promises = new Promises(view);
    for (const { name } of view.nodes()) this.nodeChanged(name);
  }

  /** That node is new, gone, or has other facts than before. */
  nodeChanged(name: string): void {
    this.#fabric = undefined;
    this.#nodes = undefined;
    this.#fabricFor.clear();
    this.#version += 1;
    if (this.#view.node(name) === undefined) this.#changedAt.delete(name);
    else this.#changedAt.set(name, this.#version);
    this.gpusChanged(name);
  }

  /** Other nodes are kept in reserve than before: what was refused may fit now. */
  reserveChanged(): void {
    this.#version += 1;
    this.#free.promiseEnded();
  }

  /** Pods on that node hold another number of GPUs than before. */
  gpusChanged(name: string): void {
    const facts = this.#view.node(name);
    const free = facts?.ready === true ? facts.gpuCapacity - this.#view.gpusUnderPods(name) : 0;
    this.#free.set(name, facts?.schedulable === true ? free : 0);
    this.#freeWithTaints.set(name, facts?.isCordoned === true ? 0 : free);
  }

  /** The job is another than before, or gone (`after` undefined); says whether GPUs that were promised to it came back. */
  jobChanged(before: TrainingJob, after: TrainingJob | undefined): boolean {
    const isFreed =
      promisingAttempt(before) !== undefined && (after === undefined || promisingAttempt(after) === undefined);
    if (isFreed) this.#free.promiseEnded();
    return isFreed;
  }

  /**
   * Capacity for a placement of the job of that UID: what its own epoch holds is not counted against it. With a demand, of those nodes alone that
   * such pods can run on.
   */
  capacityFor(jobUid: string, demand?: NodeDemand): VersionedCapacity {
    const used = once(() => this.#usedByOthers(jobUid));
    const { fabric, leftOut } =
      demand === undefined || isNothing(demand)
        ? { fabric: this.#currentFabric(), leftOut: undefined }
        : this.#fabricOf(demand);
    const reserve = this.#view.reserve();
    return {
      fabric,
      ...(reserve === undefined ? {} : { reserve }),
      ...(leftOut === undefined ? {} : { leftOut }),
      // Counted when somebody asks: most looks at a waiting job ask for the fabric alone.
      get usedGpus() {
        return used();
      },
      version: this.#version,
    };
  }

  /** Whether nobody else holds the placement's GPUs now. A node that is not known, or takes no pods, is not judged here. */
  fits(placement: PlacementSpec): boolean {
    return this.takenNodes(placement).length === 0;
  }

  /** Nodes on which pods of the placement have no room beside what others hold: those pods (all unless told), none of which is bound. */
  takenNodes(placement: PlacementSpec, podIndices: readonly number[] = allPods(placement)): readonly string[] {
    const wanted = gpusByNode(placement, podIndices);
    const used = this.#usedOn(wanted, placement.jobUid);
    return [...wanted].flatMap(([name, gpus]) => {
      const node = this.#node(name);
      return node === undefined || (used.get(name) ?? 0) + gpus <= node.gpus ? [] : [name];
    });
  }

  /** Whether the placement could be reserved as the cluster is now: its nodes are there and take pods, and nobody else holds its GPUs. */
  isReservable(placement: PlacementSpec): boolean {
    const demand = placement.runtime === undefined ? NO_DEMAND : nodeDemandOf(placement.runtime.template);
    const areUsable = placement.nodes.every((name) => {
      const node = this.#view.node(name);
      return node !== undefined && node.gpuCapacity > 0 && node.ready && isSchedulable(node, demand);
    });
    return areUsable && this.fits(placement);
  }

  /**
   * Holds a placement's GPUs against other jobs, in one step with the check that it still fits: false, and nothing held, where a node of it has
   * changed since `version`, takes no pods, or has its GPUs taken, or its job is gone. Whoever gets false places anew. What happened on other
   * nodes since is of no concern: it cannot make this placement wrong, at most another one better.
   */
  reserve(placement: PlacementSpec, version: number): boolean {
    const job = this.#view.job(placement.jobUid);
    const isUnchanged = placement.nodes.every((name) => {
      const changedAt = this.#changedAt.get(name);
      return changedAt !== undefined && changedAt <= version;
    });
    if (job === undefined || !isUnchanged || !this.isReservable(placement)) return false;
    this.#promises.reserve(placement);
    this.#servedAs.set(namespaceOf(job), (this.#servings += 1));
    return true;
  }

  /** What is reserved for the job of that UID. */
  reservedFor(jobUid: string): PlacementSpec | undefined {
    return this.#promises.reservedFor(jobUid);
  }

  /** What is reserved, and since when. */
  reservations(): readonly Reservation[] {
    return this.#promises.reservations();
  }

  /** The Placement that is reserved for the job exists: it holds its GPUs as long as its attempt, also against a view that lags. */
  created(jobUid: string): void {
    this.#promises.created(jobUid);
  }

  /** Gives up what was reserved for the job and was not created, if anything: it was decided against. */
  release(jobUid: string): void {
    this.#promises.release(jobUid);
  }

  /** An earlier refusal of that request of the job, while what refused it has not changed or it is the turn of others. */
  standingRefusal(jobUid: string, request: GangRequest): PlacementRefusal | undefined {
    return this.#refusals.standing({ uid: jobUid, request }, this.#view.monotonicMs());
  }

  /** The fabric has just refused that request. */
  refused(request: GangRequest, refusal: PlacementRefusal): void {
    this.#refusals.note(request, refusal, this.#view.monotonicMs());
  }

  /** Whether any job waits for GPUs. */
  doesAnyWait(): boolean {
    return this.#view.jobs().some(waitsForCapacity);
  }

  /** Who waits for GPUs, or for other nodes too, in the order of their turn. */
  asking(waitsFor: 'gpus' | 'nodes'): readonly Asking[] {
    return this.#inTurn(this.#view.jobs().filter(waitsFor === 'gpus' ? waitsForCapacity : waitsForNodes));
  }

  /**
   * Offers what has become free: answers with the jobs that are to be looked at, in the order of their turn. Until the next offer, or for ten seconds,
   * the others are refused as before. Whoever waits for more than is free is not among them.
   */
  offer(waitsFor: 'gpus' | 'nodes'): readonly TrainingJob[] {
    const jobs = this.#view.jobs();
    this.#forgetIdleNamespaces(jobs);
    const may = this.#refusals.offer(jobs.filter(waitsForCapacity), this.#view.monotonicMs());
    const others = waitsFor === 'gpus' ? [] : jobs.filter((job) => waitsForNodes(job) && !waitsForCapacity(job));
    return this.#inTurn([...may, ...others]).map(({ job }) => job);
  }

  #inTurn(jobs: readonly TrainingJob[]): readonly Asking[] {
    const asking = jobs.map((job) => ({ job, namespace: namespaceOf(job), since: waitsSince(job) }));
    return fairOrder(asking, (namespace) => this.#servedAs.get(namespace) ?? 0).map(({ job, since }) => ({
      job,
      since,
      request: this.#refusals.requestOf(job.metadata.uid),
    }));
  }

  /** The job is gone: nothing is kept for it. */
  forget(jobUid: string): void {
    this.#promises.forget(jobUid);
    this.#refusals.forget(jobUid);
  }

  /** Jobs, requests and namespaces that something is kept for; for tests of memory. */
  get size(): number {
    return this.#refusals.size + this.#promises.reservations().length + this.#servedAs.size;
  }

  #forgetIdleNamespaces(jobs: readonly TrainingJob[]): void {
    if (this.#servedAs.size <= MANY_NAMESPACES) return;
    const namespaces = new Set(jobs.map(namespaceOf));
    for (const namespace of this.#servedAs.keys()) if (!namespaces.has(namespace)) this.#servedAs.delete(namespace);
  }

  #usedByOthers(jobUid: string): ReadonlyMap<string, number> {
    const used = this.#view.gpusUnderPodsByNode();
    for (const placement of this.#promises.toOthersThan(jobUid)) this.#promises.addUnbound(placement, used);
    return used;
  }

  /** GPUs that others than that job hold on these nodes. */
  #usedOn(nodes: ReadonlyMap<string, number>, jobUid: string): ReadonlyMap<string, number> {
    const used = new Map([...nodes.keys()].map((name) => [name, this.#view.gpusUnderPods(name)]));
    for (const placement of this.#promises.toOthersThan(jobUid)) {
      if (placement.nodes.some((name) => nodes.has(name))) this.#promises.addUnbound(placement, used);
    }
    return used;
  }

  #node(name: string): FabricNode | undefined {
    this.#nodes ??= new Map(this.#currentFabric().nodes.map((node) => [node.name, node]));
    return this.#nodes.get(name);
  }

  #fabricOf(demand: NodeDemand): { readonly fabric: Fabric; readonly leftOut: string | undefined } {
    const key = demandKey(demand);
    const known = this.#fabricFor.get(key);
    if (known !== undefined) return known;
    const { nodes, leftOut } = nodesFor(demand, this.#view.nodes());
    const made = { fabric: fabricFromNodes(nodes), leftOut };
    if (this.#fabricFor.size >= MOST_DEMANDS) this.#fabricFor.clear();
    this.#fabricFor.set(key, made);
    return made;
  }

  #currentFabric(): Fabric {
    this.#fabric ??= fabricFromNodes(this.#view.nodes());
    return this.#fabric;
  }
}

const NO_DEMAND = { tolerations: [] };

/** As of a runtime that gives variables alone. */
function isNothing({ nodeSelector, tolerations, devices }: NodeDemand): boolean {
  return tolerations.length + Object.keys(nodeSelector).length + Object.keys(devices).length === 0;
}

/** Fabrics that are kept, 2 MiB each at ten thousand nodes. */
const MOST_DEMANDS = 16;

/** Only beyond so many are those forgotten that have no jobs any more. */
const MANY_NAMESPACES = 256;

function namespaceOf({ metadata }: TrainingJob): string {
  return metadata.namespace ?? '';
}

function allPods({ nodes }: PlacementSpec): readonly number[] {
  return [...nodes.keys()];
}

/** GPUs that these pods of a placement take on each of their nodes. */
function gpusByNode(placement: PlacementSpec, podIndices: readonly number[]): ReadonlyMap<string, number> {
  const counts = rankCounts(placement);
  const gpus = new Map<string, number>();
  for (const podIndex of podIndices) {
    const node = placement.nodes[podIndex];
    if (node !== undefined) gpus.set(node, (gpus.get(node) ?? 0) + (counts[podIndex] ?? 0));
  }
  return gpus;
}

/** A placement never changes, and while a gang's pods wait for the scheduler each look asks. */
const countsOf = new WeakMap<PlacementSpec, readonly number[]>();

/** Ranks of each pod, in the order of pods. */
function rankCounts(placement: PlacementSpec): readonly number[] {
  const known = countsOf.get(placement);
  if (known !== undefined) return known;
  const counts = placement.nodes.map((_node, podIndex) => ranksOfPod(placement, podIndex).length);
  countsOf.set(placement, counts);
  return counts;
}

function once<T>(ask: () => T): () => T {
  let answer: { readonly value: T } | undefined;
  return () => (answer ??= { value: ask() }).value;
}
