import type { PlacementSpec, TrainingJob } from '@coxswain/api-types';
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
import type { GangRequest, PlacementRefusal, RefusedRequest } from './gang-request.ts';
import type { SchedulerView } from './scheduler-view.ts';
import { demandKey, isEmptyDemand } from './capacity/demand-key.ts';
import { allPods, gpusByNode } from './capacity/gpus-by-node.ts';
import { FreeGpus } from './capacity/free-gpus.ts';
import { attemptHoldingReservation, Reservations, type Reservation } from './reservations/reservations.ts';
import { Refusals } from './capacity/refusals.ts';
import type { ClaimRules } from './claims/claim-rules.ts';
import type { ClaimChoice } from './claims/claim.ts';
import { chooseInView } from './claims/choose-in-view.ts';
import type { GangFacts } from './claims/running-gangs.ts';
import { once } from './capacity/once.ts';
import { HeldForOthers } from './promises/held-for-others.ts';
import type { NodePromise } from './promises/node-promise.ts';
import type { RightOfReturn } from './promises/rights-of-return.ts';
import { NodesInWindows } from './windows/nodes-in-windows.ts';
import { WaitingCount } from './order/waiting-count.ts';
import { isWaitingForCapacity, isWaitingForNodes, waitingSince } from './order/waiting-jobs.ts';

/** Free and taken GPUs, and the version of the scheduler's state that they were read at. */
export interface VersionedCapacity extends FabricCapacity {
  readonly version: number;
  /** How often GPUs had become free by then. */
  readonly rises: number;
}

/** A job that waits for GPUs or nodes. */
export interface WaitingJob {
  readonly job: TrainingJob;
  /** RFC 3339, from the job's status. */
  readonly since: string;
  /** The request that was refused; undefined if this process has not reconciled the job yet, or the job waits for a plan. */
  readonly request: GangRequest | undefined;
}

/**
 * Decides which job gets GPUs: it keeps reservations, refusals and the order of waiting jobs. Each process has one; the operator, tests and the
 * simulator run the same code.
 *
 * GPUs are taken if a bound pod uses them, if a recorded placement reserves them for pods that are not bound yet, or if this process is
 * recording or has created such a placement. A worker may compute a placement from a state that is old by then. So `reserve` checks that the
 * placement still fits and reserves it in one synchronous step, and one leader never gives the same GPUs to two jobs. This does not cover a
 * second leader or pods of other owners. Therefore `takenNodes` is asked until the gang's pods are bound.
 *
 * The caller reports every change of a node (`nodeChanged`), of the GPUs under its pods (`gpusChanged`), of reserved nodes (`reserveChanged`)
 * and of a job (`jobChanged`).
 */
export class ClusterScheduler {
  readonly #view: SchedulerView;
  readonly #reservations: Reservations;
  /** Free GPUs of nodes without taints. */
  readonly #free = new FreeGpus();
  /** The same with tainted nodes, whose taints a runtime may tolerate. */
  readonly #freeWithTaints = new FreeGpus();
  readonly #refusals = new Refusals({
    freeFor: ({ demand }) => ((demand?.tolerations.length ?? 0) > 0 ? this.#freeWithTaints : this.#free),
    rises: () => this.#rises,
  });
  readonly #held: HeldForOthers;
  readonly #windows: NodesInWindows;
  readonly waiting: WaitingCount;
  /** The fabric for each demand that was requested since the nodes last changed. */
  readonly #fabricFor = new Map<string, { readonly fabric: Fabric; readonly leftOut: string | undefined }>();
  #fabric: Fabric | undefined;
  /** Nodes of the fabric, by name. */
  #nodes: ReadonlyMap<string, FabricNode> | undefined;
  /** Counts changes of nodes, and of reserved nodes. */
  #version = 0;
  /** Version at which each node last changed. */
  readonly #changedAt = new Map<string, number>();

  constructor(view: SchedulerView) {
    this.#view = view;
    this.#reservations = new Reservations(view);
    this.waiting = new WaitingCount(view);
    this.#windows = new NodesInWindows({
      view,
      gpusOf: (node) => this.#node(node)?.gpus ?? 0,
    });
    this.#held = new HeldForOthers({
      view,
      reservations: this.#reservations,
      requestOf: (jobUid) => this.#refusals.requestOf(jobUid),
      capacityOf: ({ demand }) => this.#nodesFor(demand),
      usedGpus: () => this.#usedByOthers(''),
      withClosed: (used, jobUid) => this.#windows.withClosed(used, jobUid),
      onFreed: () => this.#free.reservationEnded(),
    });
    for (const { name } of view.nodes()) this.nodeChanged(name);
  }

  /** The node was added or deleted, or its facts changed. */
  nodeChanged(name: string): void {
    this.#fabric = undefined;
    this.#nodes = undefined;
    this.#fabricFor.clear();
    this.#version += 1;
    if (this.#view.node(name) === undefined) this.#changedAt.delete(name);
    else this.#changedAt.set(name, this.#version);
    this.gpusChanged(name);
  }

  /** The reserved nodes changed, so refused requests may fit now. */
  reserveChanged(): void {
    this.#version += 1;
    this.#held.nodesChanged();
    this.#free.reservationEnded();
  }

  /** The number of GPUs that the node's pods use has changed. */
  gpusChanged(name: string): void {
    this.#held.nodesChanged();
    const facts = this.#view.node(name);
    const free = facts?.ready === true ? facts.gpuCapacity - this.#view.gpusUnderPods(name) : 0;
    this.#free.set(name, facts?.schedulable === true ? free : 0);
    this.#freeWithTaints.set(name, facts?.isCordoned === true ? 0 : free);
  }

  /** The job changed, or was deleted (`after` undefined). Returns whether its reservation ended. */
  jobChanged(before: TrainingJob, after: TrainingJob | undefined): boolean {
    const isFreed =
      attemptHoldingReservation(before) !== undefined &&
      (after === undefined || attemptHoldingReservation(after) === undefined);
    if (isFreed) this.#free.reservationEnded();
    this.#held.jobChanged(before, after);
    return isFreed;
  }

  /**
   * Capacity for a placement of the job of that UID. GPUs that the job itself has reserved do not count as taken; those that are held for jobs
   * ahead of it do, unless it ends before they start, and so do those that a window of the Fabric keeps it off. With a demand, only nodes that such pods can run on are included.
   */
  capacityFor(jobUid: string, demand?: NodeDemand): VersionedCapacity {
    const used = once(() => this.#windows.withClosed(this.#held.withHeld(this.#usedByOthers(jobUid), jobUid), jobUid));
    return {
      ...this.#nodesFor(demand),
      // Counted on first access: most reconciliations of a waiting job read the fabric alone.
      get usedGpus() {
        return used();
      },
      version: this.#version,
      rises: this.#rises,
    };
  }

  /** Whether no other job or pod holds the placement's GPUs. Unknown and unschedulable nodes are not checked here. */
  fits(placement: PlacementSpec): boolean {
    return this.takenNodes(placement).length === 0;
  }

  /**
   * Nodes whose free GPUs are too few for these pods of the placement (default: all its pods), beside what others hold. The caller passes pods
   * that are not bound.
   */
  takenNodes(placement: PlacementSpec, podIndices: readonly number[] = allPods(placement)): readonly string[] {
    const wanted = gpusByNode(placement, podIndices);
    const used = this.#usedOn(wanted, placement.jobUid);
    return [...wanted].flatMap(([name, gpus]) => {
      const node = this.#node(name);
      return node === undefined || (used.get(name) ?? 0) + gpus <= node.gpus ? [] : [name];
    });
  }

  /** Whether the placement could be reserved now: its nodes exist, are ready and schedulable, and nothing else holds its GPUs. */
  isReservable(placement: PlacementSpec): boolean {
    const demand = placement.runtime === undefined ? NO_DEMAND : nodeDemandOf(placement.runtime.template);
    const areUsable = placement.nodes.every((name) => {
      const node = this.#view.node(name);
      return node !== undefined && node.gpuCapacity > 0 && node.ready && isSchedulable(node, demand);
    });
    return areUsable && this.fits(placement);
  }

  /**
   * Reserves a placement's GPUs, in one synchronous step with the check that it still fits. Returns false and reserves nothing if one of its
   * nodes has changed since `version`, is unschedulable, or has its GPUs taken or held for a job ahead of it, or if the job is gone; the caller
   * then places again. Changes of other nodes do not matter: they cannot make this placement wrong.
   */
  reserve(placement: PlacementSpec, version: number): boolean {
    const job = this.#view.job(placement.jobUid);
    const isUnchanged = placement.nodes.every((name) => {
      const changedAt = this.#changedAt.get(name);
      return changedAt !== undefined && changedAt <= version;
    });
    if (job === undefined || !isUnchanged || !this.isReservable(placement)) return false;
    const isHeld = this.#reservations.reservedFor(placement.jobUid)?.nodes.join() === placement.nodes.join();
    if (!isHeld && (!this.#held.allows(placement, job) || !this.#windows.allows(placement, job))) return false;
    this.#reservations.reserve(placement);
    this.#held.began(placement, job);
    return true;
  }

  /** Which running gangs make room for the waiting job of that UID, or why none does. Nothing is recorded, and no nodes are held yet. */
  makeRoomFor(jobUid: string, request: GangRequest, facts: GangFacts & { readonly rules?: ClaimRules }): ClaimChoice {
    const promise = this.promiseFor(jobUid);
    return chooseInView(this.#view, {
      jobUid,
      request,
      startWithout: typeof promise === 'object' ? promise.start : undefined,
      fabric: this.#nodesFor(request.demand),
      usedGpus: this.#usedByOthers(jobUid),
      withHeld: (used, uid) => this.#windows.withClosed(this.#held.withHeld(used, uid), uid),
      facts: { requestOf: ({ metadata }) => this.#refusals.requestOf(metadata.uid), ...facts },
    });
  }

  /** Holds the nodes of a claim, on which gangs still run, until the claim is recorded or {@link release} is called. */
  reserveClaim(placement: PlacementSpec): void {
    this.#reservations.reserve(placement);
  }

  /** The placement that is reserved for the job of that UID. */
  reservedFor(jobUid: string): PlacementSpec | undefined {
    return this.#reservations.reservedFor(jobUid);
  }

  /** All reservations of this process. */
  reservations(): readonly Reservation[] {
    return this.#reservations.reservations();
  }

  /** Records that the job's reserved Placement was created. It then holds its GPUs as long as its attempt lasts, even if the view lags. */
  markCreated(jobUid: string): void {
    this.#reservations.markCreated(jobUid);
  }

  /** Releases the job's reservation unless its Placement was created. */
  release(jobUid: string): void {
    this.#reservations.release(jobUid);
  }

  /**
   * Whether the API server accepts the status of the job of that UID. While it does not, the job cannot start, so no nodes are held for it: a job whose
   * status is rejected keeps no nodes from others.
   */
  setRecordable(jobUid: string, isRecordable: boolean): void {
    this.#held.setRecordable(jobUid, isRecordable);
  }

  /** The earlier refusal of that request, while its cause has not changed or other jobs have their turn. */
  standingRefusal(jobUid: string, request: GangRequest): PlacementRefusal | undefined {
    const uses = this.#usesOf(jobUid);
    if (this.#refusals.requestOf(jobUid) === undefined) this.#held.asked();
    const standing = this.#refusals.standing({ uid: jobUid, request, uses }, this.#view.monotonicMs());
    return standing ?? this.#held.untilKnown(jobUid);
  }

  /** Records that no nodes were found for a request. */
  recordRefusal({ request, refusal, jobUid = '', rises = this.#rises }: RefusedRequest): void {
    this.#refusals.record({ request, refusal, uses: this.#usesOf(jobUid), rises }, this.#view.monotonicMs());
    // What became free during the search was offered before the job was known to wait for it.
    if (rises < this.#rises) this.#view.promisesChanged?.([]);
  }

  get #rises(): number {
    return this.#free.rises + this.#freeWithTaints.rises;
  }

  /** The nodes that are held for the job of that UID; undefined: none, `deriving`: not known yet. */
  promiseFor(jobUid: string): NodePromise | 'deriving' | undefined {
    return this.#held.promiseFor(jobUid);
  }

  /** Whether nodes are held for the job of that UID. */
  hasPromise(jobUid: string): boolean {
    return typeof this.promiseFor(jobUid) === 'object';
  }

  /** The right of the job of that UID to get back the nodes that it left for another one; undefined: it has none. */
  rightOfReturn(jobUid: string): RightOfReturn | undefined {
    return this.#held.rightOfReturn(jobUid);
  }

  /** Free nodes are held for this job, so that the job of that UID waits; undefined: none are. */
  waitsBehind(jobUid: string): NodePromise['job'] | undefined {
    return this.#held.waitsBehind(jobUid);
  }

  /** Which windows of the Fabric keep the job of that UID off nodes, in a sentence; undefined: none does. */
  closedTo(jobUid: string): string | undefined {
    return this.#windows.describe(jobUid);
  }

  /** Whether any job waits for GPUs. */
  isAnyJobWaiting(): boolean {
    return this.#view.jobs().some(isWaitingForCapacity);
  }

  /** Jobs that wait for GPUs, or also those that wait for other nodes, in the order of their turn. */
  waitingJobs(waitsFor: 'gpus' | 'nodes'): readonly WaitingJob[] {
    return this.#inTurn(this.#view.jobs().filter(waitsFor === 'gpus' ? isWaitingForCapacity : isWaitingForNodes));
  }

  /**
   * Offers the GPUs that have become free. Returns the jobs to reconcile, in the order of their turn; jobs that need more than is free, or that others
   * with the same request come before, are not among them. Until the next offer, or for ten seconds, all other jobs keep their refusals.
   */
  offer(waitsFor: 'gpus' | 'nodes'): readonly TrainingJob[] {
    this.#held.refresh();
    if (waitsFor === 'gpus' && this.#refusals.isOfferVain(this.#view.monotonicMs())) return [];
    const jobs = this.#view.jobs();
    const waiting = jobs.filter(isWaitingForCapacity);
    const may = this.#refusals.offer(waiting, this.#view.monotonicMs(), (uid) => this.#usesOf(uid));
    const others =
      waitsFor === 'gpus' ? [] : jobs.filter((job) => isWaitingForNodes(job) && !isWaitingForCapacity(job));
    return this.#refusals.firstOf(this.#inTurn([...may, ...others]).map(({ job }) => job));
  }

  #inTurn(jobs: readonly TrainingJob[]): readonly WaitingJob[] {
    return this.#held.inOrder(jobs).map((job) => ({
      job,
      since: waitingSince(job),
      request: this.#refusals.requestOf(job.metadata.uid),
    }));
  }

  /** Forgets a job that was deleted. */
  forget(jobUid: string): void {
    this.#held.setRecordable(jobUid, true);
    this.#reservations.forget(jobUid);
    this.#refusals.forget(jobUid);
  }

  /** Number of jobs and requests that are kept; for tests of memory. */
  get size(): number {
    return this.#refusals.size + this.#reservations.reservations().length;
  }

  /** Equal for jobs that may use the same nodes. */
  #usesOf(jobUid: string): string {
    return `${this.#held.usesOf(jobUid)}${this.#windows.usesOf(jobUid)}`;
  }

  #usedByOthers(jobUid: string): ReadonlyMap<string, number> {
    const used = this.#view.gpusUnderPodsByNode();
    for (const placement of this.#reservations.ofOthersThan(jobUid)) this.#reservations.addUnbound(placement, used);
    return used;
  }

  /** GPUs of these nodes that other jobs and pods hold. */
  #usedOn(nodes: ReadonlyMap<string, number>, jobUid: string): ReadonlyMap<string, number> {
    const used = new Map([...nodes.keys()].map((name) => [name, this.#view.gpusUnderPods(name)]));
    for (const placement of this.#reservations.ofOthersThan(jobUid)) {
      if (placement.nodes.some((name) => nodes.has(name))) this.#reservations.addUnbound(placement, used);
    }
    return used;
  }

  #node(name: string): FabricNode | undefined {
    this.#nodes ??= new Map(this.#currentFabric().nodes.map((node) => [node.name, node]));
    return this.#nodes.get(name);
  }

  /** Nodes that such pods can run on, without what is used of them. */
  #nodesFor(demand: NodeDemand | undefined): Omit<FabricCapacity, 'usedGpus'> {
    const { fabric, leftOut } =
      demand === undefined || isEmptyDemand(demand)
        ? { fabric: this.#currentFabric(), leftOut: undefined }
        : this.#fabricOf(demand);
    const reserve = this.#view.reserve();
    return {
      fabric,
      ...(reserve === undefined ? {} : { reserve }),
      ...(leftOut === undefined ? {} : { leftOut }),
    };
  }

  #fabricOf(demand: NodeDemand): { readonly fabric: Fabric; readonly leftOut: string | undefined } {
    const key = demandKey(demand);
    const known = this.#fabricFor.get(key);
    if (known !== undefined) return known;
    const { nodes, leftOut } = nodesFor(demand, this.#view.nodes());
    const made = { fabric: fabricFromNodes(nodes), leftOut };
    if (this.#fabricFor.size >= MAX_DEMANDS) this.#fabricFor.clear();
    this.#fabricFor.set(key, made);
    return made;
  }

  #currentFabric(): Fabric {
    this.#fabric ??= fabricFromNodes(this.#view.nodes());
    return this.#fabric;
  }
}

const NO_DEMAND = { tolerations: [] };

/** Fabrics that are kept; each takes 2 MiB at 10,000 nodes. */
const MAX_DEMANDS = 16;
