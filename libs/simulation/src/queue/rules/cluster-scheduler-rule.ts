import type { PlacementSpec, TrainingJob } from '@coxswain/api-types';
import { placeGang } from '@coxswain/fabric';
import { ClusterScheduler, type GangRequest } from '@coxswain/scheduling';
import type { QueueCluster, QueueJob, QueuePromise, StartedJob } from '../load/queue-job.ts';
import type { PassPorts, QueueRule } from './queue-rule.ts';
import { placedCondition, SchedulerCluster } from './scheduler-cluster.ts';

/** How often the operator reconciles a waiting job without another cause. */
const RESYNC_MS = 300_000;

/** The scheduler of the operator itself, called in the order in which the operator calls it. */
export class ClusterSchedulerRule implements QueueRule {
  readonly everyMs = RESYNC_MS;
  readonly #clock = { nowMs: 0 };
  readonly #cluster: SchedulerCluster;
  readonly #scheduler: ClusterScheduler;
  readonly #jobs = new Map<string, QueueJob>();
  readonly #startedMs = new Map<string, number>();
  /** UIDs of jobs that were submitted since the last pass. */
  readonly #submitted = new Set<string>();

  constructor(cluster: QueueCluster) {
    this.#cluster = new SchedulerCluster(cluster, this.#clock);
    this.#scheduler = new ClusterScheduler(this.#cluster);
  }

  submitted(job: QueueJob, nowMs: number): void {
    this.#clock.nowMs = nowMs;
    this.#jobs.set(job.uid, job);
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
  }

  /** Offers what is free to waiting jobs in turn, then reconciles the jobs that are new. */
  pass(ports: PassPorts): void {
    this.#clock.nowMs = ports.nowMs;
    this.#reportProgress();
    const offered = ports.measure(() => this.#scheduler.offer('gpus'));
    for (const { metadata } of offered) this.#reconcile(metadata.uid, ports);
    for (const uid of this.#submitted) this.#reconcile(uid, ports);
    this.#submitted.clear();
  }

  /** Today's scheduler promises nothing. */
  promisesOf(): readonly QueuePromise[] {
    return [];
  }

  #reconcile(uid: string, ports: PassPorts): void {
    const job = this.#jobs.get(uid);
    if (job === undefined || this.#startedMs.has(uid)) return;
    const placement = ports.measure(() => this.#place(job));
    if (placement === undefined) return this.#wait(uid);
    this.#startedMs.set(uid, ports.nowMs);
    this.#scheduler.markCreated(uid);
    this.#changed(this.#cluster.start(placement, job.gpusPerPod));
    const nodes = placement.nodes.map((name) => this.#cluster.names.indexOf(name));
    this.#gpusChanged(nodes);
    ports.started({ job, nodes });
  }

  /** As a reconcile of the operator decides: an earlier refusal stands, or nodes are searched and reserved. */
  #place(queued: QueueJob): PlacementSpec | undefined {
    const { uid } = queued;
    const scheduler = this.#scheduler;
    const request = requestOf(queued, this.#cluster.job(uid));
    if (request === undefined || scheduler.standingRefusal(uid, request) !== undefined) return undefined;
    const { version, ...capacity } = scheduler.capacityFor(uid, request.demand);
    const outcome = placeGang(request, { ...capacity, usedGpus: capacity.usedGpus });
    if (outcome.kind !== 'placed') {
      scheduler.recordRefusal(request, outcome);
      return undefined;
    }
    const placement = {
      jobName: uid,
      jobUid: uid,
      epoch: 1,
      layout: request.layout,
      worldSize: queued.pods * queued.gpusPerPod,
      ranksPerPod: outcome.ranksPerPod,
      nodes: [...outcome.nodes],
    };
    return scheduler.reserve(placement, version) ? placement : undefined;
  }

  #wait(uid: string): void {
    const isWaiting = this.#cluster.job(uid)?.status?.conditions !== undefined;
    if (isWaiting) return;
    const condition = placedCondition(this.#cluster.now().toISOString(), 'WaitingForCapacity');
    this.#changed(this.#cluster.write(uid, { conditions: [condition] }));
  }

  #reportProgress(): void {
    for (const [uid, startMs] of this.#startedMs) this.#changed(this.#cluster.reportProgress(uid, { startMs }));
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
