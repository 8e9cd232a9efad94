import type { PlacementSpec, TrainingJob } from '@coxswain/api-types';
import { type ChosenVictim, type ClusterScheduler, type GangRequest, placementSha256 } from '@coxswain/scheduling';
import type { QueueJob } from '../load/queue-job.ts';
import type { PassPorts } from './queue-rule.ts';
import { layoutOfPods, type SchedulerCluster } from './scheduler-cluster.ts';

/** How often a job asks again while no job makes room for it. */
const ASK_AGAIN_MS = 300_000;

/** Jobs that leave nodes, and the job that gets them. */
interface Claim {
  readonly placement: PlacementSpec;
  readonly expiresMs: number;
  /** UIDs of those that have not left. */
  readonly leaving: Set<string>;
}

/** Parts of {@link RoomMaker}. */
interface RoomMakerParts {
  readonly scheduler: ClusterScheduler;
  readonly cluster: SchedulerCluster;
  readonly jobs: ReadonlyMap<string, QueueJob>;
  readonly indexOf: ReadonlyMap<string, number>;
  readonly changed: (change: { readonly before: TrainingJob; readonly after: TrainingJob }) => void;
}

/** Lets jobs make room as the operator does: it records who leaves which nodes, asks them to stop, and waits until they have left. */
export class RoomMaker {
  readonly #parts: RoomMakerParts;
  readonly #claims = new Map<string, Claim>();
  readonly #askedMs = new Map<string, number>();
  /** Pods with which jobs that leave go on. */
  readonly #shrinksTo = new Map<string, number>();

  constructor(parts: RoomMakerParts) {
    this.#parts = parts;
  }

  /** Whether jobs leave nodes for that one. */
  isClaimant(uid: string): boolean {
    return this.#claims.has(uid);
  }

  /** The job has left its nodes. Returns the number of pods with which it goes on; undefined: with all. */
  left(uid: string): number | undefined {
    for (const { leaving } of this.#claims.values()) leaving.delete(uid);
    const pods = this.#shrinksTo.get(uid);
    this.#shrinksTo.delete(uid);
    return pods;
  }

  /** Ends records whose time is over. Returns the placements that all others have left. */
  ready(ports: PassPorts): readonly PlacementSpec[] {
    for (const [uid, { expiresMs }] of this.#claims) if (ports.nowMs >= expiresMs) this.#end(uid, ports);
    return [...this.#claims.values()].filter(({ leaving }) => leaving.size === 0).map(({ placement }) => placement);
  }

  /** The job has started on the nodes that others left. */
  started(uid: string): void {
    this.#claims.delete(uid);
  }

  /** Asks which jobs make room for these, and stops them. */
  makeRoom(waiting: Iterable<QueueJob>, ports: PassPorts): void {
    const { nowMs } = ports;
    for (const job of waiting) {
      if (this.#claims.has(job.uid) || nowMs - (this.#askedMs.get(job.uid) ?? -Infinity) < ASK_AGAIN_MS) continue;
      this.#askedMs.set(job.uid, nowMs);
      this.#ask(job, ports);
    }
  }

  #ask(job: QueueJob, ports: PassPorts): void {
    const { scheduler, cluster, jobs, indexOf } = this.#parts;
    const { uid } = job;
    const asking = cluster.job(uid);
    if (asking?.spec.layout === undefined) return;
    const request: GangRequest = { layout: asking.spec.layout, gpusPerNode: job.gpusPerPod };
    const choice = ports.measure(() =>
      scheduler.makeRoomFor(uid, request, {
        savesWhenAsked: ({ metadata }) => jobs.get(metadata.uid)?.savesWhenAsked !== false,
        smallerSizes: ({ metadata }) => smallerSizes(jobs.get(metadata.uid)),
      }),
    );
    if (choice.kind === 'none') return;
    const epoch = (asking.status?.epoch ?? 0) + 1;
    const placement: PlacementSpec = {
      jobName: uid,
      jobUid: uid,
      epoch,
      layout: asking.spec.layout,
      worldSize: job.pods * job.gpusPerPod,
      ranksPerPod: choice.placement.ranksPerPod,
      nodes: [...choice.placement.nodes],
    };
    scheduler.reserveClaim(placement);
    const { victims, expiresAfterSeconds, gainGpuSeconds } = choice;
    const recordedAt = cluster.now().toISOString();
    this.#record(uid, {
      epoch,
      generation: 1,
      state: 'Asking',
      placement: `${uid}-${epoch}`,
      placementSha256: placementSha256(placement),
      victims: victims.map(({ namespace: _namespace, ...victim }) => victim),
      gainGpuSeconds,
      recordedAt,
      expiresAfterSeconds,
    });
    const expiresMs = ports.nowMs + expiresAfterSeconds * 1_000;
    this.#claims.set(uid, { placement, expiresMs, leaving: new Set(victims.map((victim) => victim.uid)) });
    const nodes = placement.nodes.map((name) => indexOf.get(name) ?? -1);
    ports.claimed({ jobUid: uid, nodes, victims: victims.map((victim) => victim.uid), expiresMs });
    for (const victim of victims) this.#stop(victim, { job, epoch }, ports);
  }

  #stop(
    victim: ChosenVictim,
    { job, epoch }: { readonly job: QueueJob; readonly epoch: number },
    ports: PassPorts,
  ): void {
    const { cluster, changed, jobs } = this.#parts;
    const { uid, wayOut, toGpus, deadlineSeconds } = victim;
    const deadline = new Date(cluster.now().getTime() + deadlineSeconds * 1_000).toISOString();
    changed(cluster.stop(uid, { uid: job.uid, epoch, priority: job.priority, wayOut, deadline }));
    if (toGpus !== undefined) this.#shrinksTo.set(uid, toGpus / (jobs.get(uid)?.gpusPerPod ?? 1));
    ports.stopped(uid, job.uid);
  }

  #end(uid: string, ports: PassPorts): void {
    this.#claims.delete(uid);
    this.#parts.scheduler.release(uid);
    this.#record(uid, undefined);
    ports.claimEnded(uid);
  }

  #record(uid: string, claim: NonNullable<TrainingJob['status']>['claim']): void {
    const { cluster, changed } = this.#parts;
    if (cluster.job(uid) !== undefined) changed(cluster.recordClaim(uid, claim));
  }
}

/** Halves of the pods, down to the fewest that the job accepts. */
function smallerSizes(job: QueueJob | undefined): readonly { readonly gpus: number; readonly request: GangRequest }[] {
  if (job?.minPods === undefined) return [];
  const { gpusPerPod, minPods } = job;
  const sizes: { gpus: number; request: GangRequest }[] = [];
  for (let pods = Math.floor(job.pods / 2); pods >= Math.max(1, minPods); pods = Math.floor(pods / 2))
    sizes.push({
      gpus: pods * gpusPerPod,
      request: { layout: layoutOfPods(pods, gpusPerPod), gpusPerNode: gpusPerPod },
    });
  return sizes;
}
