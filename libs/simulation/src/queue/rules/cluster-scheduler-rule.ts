import type { PlacementSpec, TrainingJob } from '@coxswain/api-types';
import { findNodes } from '@coxswain/fabric';
import { ClusterScheduler, type GangRequest } from '@coxswain/scheduling';
import type { QueueCluster, QueueJob, QueuePromise, StartedJob } from '../load/queue-job.ts';
import { Grower } from './grower.ts';
import type { PassPorts, QueueRule } from './queue-rule.ts';
import { RoomMaker } from './room-maker.ts';
import { layoutOfPods, placedCondition, SchedulerCluster } from './scheduler-cluster.ts';

/** How often the operator reconciles a waiting job without another cause. */
const RESYNC_MS = 300_000;
/** Ranks report often; the end that their steps predict moves little in that time. */
const REPORT_MS = 60_000;
/** More than the longest time for which the scheduler keeps promises of an older state. */
const DERIVED_AGAIN_MS = 60_000;

/** How long an elastic job finds no room before it starts on fewer pods (`operator.timeouts.shrinkAfterSeconds`). */
const SHRINK_AFTER_MS = 120_000;

/** The sentences that explain a refusal are left out: they take twice as long as the search, and decide nothing. */
const NO_NODES = { kind: 'waiting', message: '' } as const;

/** The scheduler of the operator itself, called in the order in which the operator calls it. */
export class ClusterSchedulerRule implements QueueRule {
  readonly everyMs = RESYNC_MS;
  readonly #clock = { nowMs: 0, spentMs: 0 };
  readonly #cluster: SchedulerCluster;
  readonly #scheduler: ClusterScheduler;
  readonly #jobs = new Map<string, QueueJob>();
  readonly #startedMs = new Map<string, number>();
  readonly #indexOf: ReadonlyMap<string, number>;
  /** Jobs as they were submitted, which may run on fewer pods. */
  readonly #submittedAs = new Map<string, QueueJob>();
  /** Jobs that were asked to go on with fewer pods: they wait for all pods if there is no room for fewer. */
  readonly #shrinking = new Set<string>();
  /** Since when each elastic job waits, or when it last found no room for fewer pods, in milliseconds. */
  readonly #waitsSinceMs = new Map<string, number>();
  /** Absent: no job makes room. */
  readonly #room: RoomMaker | undefined;
  readonly #grower = new Grower();
  #reportedAtMs = 0;
  /** As the scheduler derived them last. */
  #promises: readonly QueuePromise[] = [];
  /** UIDs of jobs that were submitted since the last pass. */
  readonly #submitted = new Set<string>();

  constructor(cluster: QueueCluster, { makesRoom = true }: { readonly makesRoom?: boolean } = {}) {
    this.#cluster = new SchedulerCluster(cluster, this.#clock);
    this.#scheduler = new ClusterScheduler(this.#cluster);
    this.#indexOf = new Map(this.#cluster.names.map((name, index) => [name, index]));
    const parts = { scheduler: this.#scheduler, cluster: this.#cluster, jobs: this.#jobs, indexOf: this.#indexOf };
    this.#room = makesRoom
      ? new RoomMaker({ ...parts, changed: ({ before, after }) => this.#scheduler.jobChanged(before, after) })
      : undefined;
  }

  submitted(job: QueueJob, nowMs: number): void {
    this.#clock.nowMs = nowMs;
    this.#jobs.set(job.uid, job);
    this.#submittedAs.set(job.uid, job);
    this.#waitsSinceMs.set(job.uid, nowMs);
    this.#cluster.add(job);
    this.#submitted.add(job.uid);
  }

  ended({ job, nodes }: StartedJob, nowMs: number): void {
    this.#clock.nowMs = nowMs;
    const before = this.#cluster.end(job.uid, job.gpusPerPod);
    if (before !== undefined) this.#scheduler.jobChanged(before, undefined);
    this.#gpusChanged(nodes);
    this.#scheduler.forget(job.uid);
    this.#jobs.delete(job.uid);
    this.#startedMs.delete(job.uid);
    this.#submittedAs.delete(job.uid);
    this.#waitsSinceMs.delete(job.uid);
    this.#room?.left(job.uid);
  }

  /** The job is reconciled in the next pass, so that it may start elsewhere at once. */
  left({ job, nodes }: StartedJob, nowMs: number): void {
    const { uid } = job;
    this.#clock.nowMs = nowMs;
    const change = this.#cluster.leave(job, this.#startedMs.get(uid) ?? nowMs);
    this.#startedMs.delete(uid);
    this.#changed(change);
    this.#gpusChanged(nodes);
    const pods = this.#room?.left(uid);
    const full = this.#submittedAs.get(uid) ?? job;
    if (pods !== undefined) this.#shrinking.add(uid);
    this.#resize(pods === undefined ? full : { ...full, pods });
    this.#waitsSinceMs.set(uid, nowMs);
    this.#submitted.add(uid);
  }

  /** Offers what is free to waiting jobs in turn, then reconciles the jobs that are new. */
  pass(ports: PassPorts): void {
    this.#clock.nowMs = ports.nowMs;
    this.#reportProgress();
    this.#derivePromises(ports);
    ports.promised();
    for (const placement of this.#room?.ready(ports) ?? []) this.#startOn(placement, ports);
    const offered = ports.measure(() => this.#scheduler.offer('gpus'));
    for (const { metadata } of offered) this.#reconcile(metadata.uid, ports);
    for (const uid of this.#submitted) this.#reconcile(uid, ports);
    this.#submitted.clear();
    this.#waitInFull(ports);
    this.#startSmaller(ports);
    this.#grow(ports);
    this.#makeRoom(ports);
  }

  promisesOf(): readonly QueuePromise[] {
    return this.#promises;
  }

  /** Lets the scheduler derive its promises from the present state, so that the auditor sees what each start changes. */
  #derivePromises(ports: PassPorts): void {
    this.#clock.spentMs += DERIVED_AGAIN_MS;
    // Nodes that others leave for a job are no promise: the auditor of claims watches them.
    const isClaimant = (uid: string): boolean => this.#room?.isClaimant(uid) === true;
    const waiting = [...this.#jobs.keys()].filter((uid) => !this.#startedMs.has(uid) && !isClaimant(uid));
    const promised = ports.measure(() => waiting.map((uid) => this.#scheduler.promiseFor(uid)));
    this.#promises = promised.flatMap((promise) => {
      if (promise === undefined || promise === 'deriving') return [];
      const nodes = [...promise.gpus.keys()].map((name) => this.#indexOf.get(name) ?? -1);
      return [{ jobUid: promise.job.uid, priority: promise.priority, startMs: promise.start.getTime(), nodes }];
    });
  }

  #reconcile(uid: string, ports: PassPorts): void {
    const job = this.#jobs.get(uid);
    if (job === undefined || this.#startedMs.has(uid) || this.#room?.isClaimant(uid) === true) return;
    const placement = ports.measure(() => this.#place(job));
    if (placement === undefined) return this.#wait(uid, ports);
    this.#start(job, placement, ports);
  }

  /** Jobs that were to go on with fewer pods and found no room ask for all of them again. What is promised to them changes by this, and by no start of others. */
  #waitInFull(ports: PassPorts): void {
    for (const uid of this.#shrinking) {
      const full = this.#submittedAs.get(uid);
      if (full === undefined || this.#startedMs.has(uid)) continue;
      this.#resize(full);
      this.#reconcile(uid, ports);
      this.#derivePromises(ports);
      ports.promised();
    }
    this.#shrinking.clear();
  }

  /** Elastic jobs that have found no room for a while start on half of their pods, or on half of that, as the operator plans them again. */
  #startSmaller(ports: PassPorts): void {
    for (const [uid, sinceMs] of this.#waitsSinceMs) {
      const job = this.#jobs.get(uid);
      const isDue = ports.nowMs - sinceMs >= SHRINK_AFTER_MS && !this.#startedMs.has(uid);
      if (job?.minPods === undefined || !isDue || this.#room?.isClaimant(uid) === true) continue;
      this.#waitsSinceMs.set(uid, ports.nowMs);
      const smaller = ports.measure(() => this.#placeSmaller(job));
      if (smaller !== undefined) this.#start(smaller.job, smaller.placement, ports);
    }
  }

  #placeSmaller(full: QueueJob): { readonly job: QueueJob; readonly placement: PlacementSpec } | undefined {
    const { uid, gpusPerPod, minPods = full.pods } = full;
    const { version: _asked, ...capacity } = this.#scheduler.capacityFor(uid);
    for (let pods = Math.floor(full.pods / 2); pods >= Math.max(1, minPods); pods = Math.floor(pods / 2)) {
      const request = { layout: layoutOfPods(pods, gpusPerPod), gpusPerNode: gpusPerPod };
      if (findNodes(request, { ...capacity, usedGpus: capacity.usedGpus }) === undefined) continue;
      const job = { ...full, pods };
      this.#resize(job);
      // On fewer pods the job ends later, so nodes that are held for others from some time on may be out of its reach.
      const { version, ...later } = this.#scheduler.capacityFor(uid);
      const found = findNodes(request, { ...later, usedGpus: later.usedGpus });
      if (found === undefined) {
        this.#resize(full);
        continue;
      }
      const placement = this.#placementOf(job, request.layout, found);
      if (this.#scheduler.reserve(placement, version)) return { job, placement };
      this.#resize(full);
    }
    return undefined;
  }

  /** Others have left these nodes for the job. */
  #startOn(placement: PlacementSpec, ports: PassPorts): void {
    const job = this.#jobs.get(placement.jobUid);
    if (job === undefined || !this.#scheduler.reserve(placement, Infinity)) return;
    this.#room?.started(job.uid);
    this.#start(job, placement, ports);
  }

  get isWaiting(): boolean {
    return this.#grower.isWaiting;
  }

  /** Jobs on fewer pods take all of them again while no other job waits. */
  #grow(ports: PassPorts): void {
    const runs = [...this.#startedMs.keys()];
    const small = runs.flatMap((uid) => {
      const [running, full] = [this.#jobs.get(uid), this.#submittedAs.get(uid)];
      return running === undefined || full === undefined || running.pods >= full.pods
        ? []
        : [{ uid, job: this.#cluster.job(uid), running, full }];
    });
    const used = runs.reduce((sum, uid) => sum + (this.#jobs.get(uid)?.pods ?? 0), 0);
    const freeNodes = this.#jobs.size > runs.length ? 0 : this.#cluster.names.length - used;
    for (const uid of this.#grower.grows(small, { nowMs: ports.nowMs, freeNodes })) {
      this.#changed(this.#cluster.stopToGrow(uid));
      ports.grows(uid);
    }
  }

  /** The jobs for which nodes are held ask the others. */
  #makeRoom(ports: PassPorts): void {
    if (this.#room === undefined) return;
    const runs = [...this.#startedMs.keys()].flatMap((uid) => this.#jobs.get(uid)?.priority ?? []);
    const least = Math.min(...runs);
    const heads = this.#promises.flatMap(({ jobUid }) => this.#jobs.get(jobUid) ?? []);
    this.#room.makeRoom(
      heads.filter(({ priority }) => priority > least),
      ports,
    );
  }

  #resize(job: QueueJob): void {
    this.#jobs.set(job.uid, job);
    this.#changed(this.#cluster.resize(job.uid, job.pods, job.gpusPerPod));
  }

  #start(job: QueueJob, placement: PlacementSpec, ports: PassPorts): void {
    const { uid } = job;
    this.#startedMs.set(uid, ports.nowMs);
    this.#scheduler.markCreated(uid);
    this.#changed(this.#cluster.start(placement, job.gpusPerPod));
    const nodes = placement.nodes.map((name) => this.#indexOf.get(name) ?? -1);
    this.#gpusChanged(nodes);
    this.#derivePromises(ports);
    ports.started({ job, nodes });
  }

  /** As a reconcile of the operator decides: an earlier refusal stands, or nodes are searched and reserved. */
  #place(queued: QueueJob): PlacementSpec | undefined {
    const { uid } = queued;
    const scheduler = this.#scheduler;
    const request = requestOf(queued, this.#cluster.job(uid));
    if (request === undefined || scheduler.standingRefusal(uid, request) !== undefined) return undefined;
    const { version, ...capacity } = scheduler.capacityFor(uid, request.demand);
    const found = findNodes(request, { ...capacity, usedGpus: capacity.usedGpus });
    if (found === undefined) {
      scheduler.recordRefusal({ request, refusal: NO_NODES, jobUid: uid });
      return undefined;
    }
    const placement = this.#placementOf(queued, request.layout, found);
    return scheduler.reserve(placement, version) ? placement : undefined;
  }

  #placementOf(
    { uid, pods, gpusPerPod }: QueueJob,
    layout: PlacementSpec['layout'],
    { nodes, ranksPerPod }: NonNullable<ReturnType<typeof findNodes>>,
  ): PlacementSpec {
    const epoch = (this.#cluster.job(uid)?.status?.epoch ?? 0) + 1;
    return { jobName: uid, jobUid: uid, epoch, layout, worldSize: pods * gpusPerPod, ranksPerPod, nodes: [...nodes] };
  }

  #wait(uid: string, ports: PassPorts): void {
    const isWaiting = this.#cluster.job(uid)?.status?.conditions !== undefined;
    if (isWaiting) return;
    const condition = placedCondition(this.#cluster.now().toISOString(), 'WaitingForCapacity');
    this.#changed(this.#cluster.write(uid, { conditions: [condition] }));
    this.#derivePromises(ports);
    ports.promised();
  }

  #reportProgress(): void {
    const { nowMs } = this.#clock;
    if (nowMs - this.#reportedAtMs < REPORT_MS) return;
    this.#reportedAtMs = nowMs;
    for (const [uid, startMs] of this.#startedMs) {
      const job = this.#jobs.get(uid);
      const change = job === undefined ? undefined : this.#cluster.reportProgress(job, startMs);
      if (change !== undefined) this.#changed(change);
    }
  }

  #changed({ before, after }: { readonly before: TrainingJob; readonly after: TrainingJob }): void {
    this.#scheduler.jobChanged(before, after);
  }

  #gpusChanged(nodes: readonly number[]): void {
    for (const node of nodes) this.#scheduler.gpusChanged(this.#cluster.names[node] ?? '');
  }
}

function requestOf(queued: QueueJob, job: TrainingJob | undefined): GangRequest | undefined {
  const layout = job?.spec.layout;
  return layout === undefined ? undefined : { layout, gpusPerNode: queued.gpusPerPod };
}
