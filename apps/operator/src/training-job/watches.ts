import { type Checkpoint, isAdopted, isFinished, type TrainingJob } from '@coxswain/api-types';
import { type ClusterScheduler, recordedClaim } from '@coxswain/scheduling';
import { keyOf, type CacheChange, type Clock, type KubeObject, type QueuePriority } from '@coxswain/kube';
import { type CachedNode, sameFacts, sameFaults } from '../cluster/cached-node.ts';
import type { CachedPod } from '../cluster/cached-pod.ts';
import { type ClusterCache } from '../cluster/cluster-cache.ts';
import { ALL_STARTING, BY_JOB, BY_NODE, BY_RESUME, BY_UID, STARTING } from '../cluster/indexes.ts';
import { PacedWakes } from './paced-wakes.ts';

/*
 * Which change triggers the reconcile of which jobs. Decisions use the whole state, not the change:
 *
 *   TrainingJob added or edited     that job, first in the queue
 *   TrainingJob whose status or metadata alone changed   that job
 *   TrainingJob with a claim, or that made room   also the jobs that are to make room, or the job for which it did
 *   TrainingJob deleted, or whose gang is stopped before all its pods are bound   those jobs that have a turn at GPUs
 *   Placement, Checkpoint           their job
 *   adopted Checkpoint              the jobs that name it in spec.resumeFrom, or have resumed from it
 *   Pod of a gang that goes wrong or ends   its job, once per interval
 *   Pod of a gang that comes on, or that is being removed    its job, once per millisecond and pod: a reconcile costs as much as the gang is large, and
 *                                   many gangs may start at once; when its last pod runs, at once
 *   Pod with GPUs ended or deleted  those jobs that have a turn at GPUs
 *   Node (readiness, labels, GPUs)  the jobs with pods on it, those that have a turn at GPUs, and those that wait for nodes that can be planned for
 *   PriorityClass                   the jobs that have not ended and name it or had it, and those that name none
 *   Spec of the Fabric                those that have a turn at GPUs, and those that wait for nodes
 */

/** Parts of the watches. */
export interface WatchesParts {
  readonly cache: ClusterCache;
  readonly clock: Clock;
  /** Failing or ending pods of one gang cause at most one reconcile in this time. */
  readonly podNewsIntervalMs: number;
  readonly scheduler: Pick<ClusterScheduler, 'jobChanged' | 'offer'>;
  /** Queues the job of that key for a reconcile. */
  readonly wake: (key: string, priority: QueuePriority) => void;
  /** Called when a job was deleted, so that its state can be dropped. */
  readonly onJobDeleted: (jobUid: string) => void;
}

/**
 * Time between two reconciles of a starting gang, per pod of all that start: a reconcile takes about 8 us per pod, so this is 0.8 % of a core, however many
 * gangs start at once.
 */
const LOOK_SHARE_MS_PER_POD = 1;
/** Status says at least so often how many pods run. */
const LONGEST_LOOK_MS = 10_000;

/** A gang that ends frees GPUs in bursts; waiting jobs are reconciled once. */
const CAPACITY_DELAY_MS = 200;

/** Wakes the jobs that a change in the cluster concerns. */
export class Watches {
  readonly #parts: WatchesParts;
  readonly #podNews: PacedWakes;
  #cancelCapacityTimer: (() => void) | undefined;
  /** The jobs that changes since the last wake-up concern. */
  #concerned: 'gpus' | 'nodes' = 'gpus';

  constructor(parts: WatchesParts) {
    this.#parts = parts;
    this.#podNews = new PacedWakes({
      clock: parts.clock,
      intervalMs: parts.podNewsIntervalMs,
      onDue: (jobUid) => this.wake(jobUid),
    });
    const { jobs, placements, checkpoints, pods, nodes, stated, priorityClasses } = parts.cache;
    jobs.cached.onChange((change) => this.#onJob(change));
    placements.cached.onChange(({ object }) => this.wake(object.spec.jobUid));
    checkpoints.cached.onChange(({ object }) => this.#onCheckpoint(object));
    pods.cached.onChange((change) => this.#onPod(change));
    nodes.onChange((change) => this.#onNode(change));
    stated.onChange(() => this.#wakeWaiting('nodes'));
    priorityClasses.onChange(({ object }) => this.#onPriorityClass(object.metadata.name));
  }

  /** Queues the job of that UID for a reconcile, if it exists. */
  wake(jobUid: string): void {
    const job = this.#parts.cache.jobs.cached.byIndex(BY_UID, jobUid)[0];
    if (job !== undefined) this.#parts.wake(keyOf(job), 'normal');
  }

  /** Nodes are held, or no longer held, for the jobs of these UIDs: their messages change, and others may have what is no longer held. */
  promisesChanged(jobUids: readonly string[]): void {
    for (const jobUid of jobUids) this.wake(jobUid);
    this.#wakeWaiting('gpus');
  }

  /** Stops all timers. */
  stop(): void {
    this.#cancelCapacityTimer?.();
    this.#podNews.stop();
  }

  #onCheckpoint(checkpoint: Checkpoint & KubeObject): void {
    if (!isAdopted(checkpoint)) return this.wake(checkpoint.spec.jobUid);
    for (const job of this.#parts.cache.jobs.cached.byIndex(BY_RESUME, keyOf(checkpoint)))
      this.#parts.wake(keyOf(job), 'normal');
  }

  #onJob(change: CacheChange<TrainingJob & KubeObject>): void {
    const { object } = change;
    if (change.kind === 'deleted') {
      this.#podNews.forget(object.metadata.uid);
      this.#parts.onJobDeleted(object.metadata.uid);
      this.#parts.scheduler.jobChanged(object, undefined);
      this.#wakeWaiting('gpus');
      return;
    }
    if (change.kind === 'updated' && this.#parts.scheduler.jobChanged(change.previous, object))
      this.#wakeWaiting('gpus');
    this.#wakeOthers(object);
    const isEdited = change.kind === 'added' || change.previous.metadata.generation !== object.metadata.generation;
    this.#parts.wake(keyOf(object), isEdited ? 'user' : 'normal');
  }

  /** Those that are to make room for the job, and the one for which it made room. */
  #wakeOthers(job: TrainingJob): void {
    for (const { uid } of recordedClaim(job)?.victims ?? []) this.wake(uid);
    const { uid } = job.status?.attempts?.at(-1)?.forClaim ?? {};
    if (uid !== undefined) this.wake(uid);
  }

  #onPod(change: CacheChange<CachedPod>): void {
    const { gang } = change.object;
    if (gang !== undefined && this.#isOfJob(gang.jobUid)) this.#podNews.news(gang.jobUid, this.#intervalOf(change));
    if (freesGpus(change)) this.#wakeWaiting('gpus');
  }

  /** Classes change seldom, so every job is compared. A job that names none has the default class. */
  #onPriorityClass(name: string): void {
    for (const job of this.#parts.cache.jobs.cached.list()) {
      const named = (job.spec as Partial<TrainingJob['spec']> | undefined)?.priorityClassName;
      if (!isFinished(job) && (named === undefined || named === name)) this.#parts.wake(keyOf(job), 'normal');
    }
  }

  /**
   * A thousand pods that start make five thousand changes within half a minute, and none of them is answered by anything but a word in status. The pods of a
   * gang that is being removed make as many, and only the last end is answered.
   */
  #intervalOf(change: CacheChange<CachedPod>): number {
    const { cache, podNewsIntervalMs } = this.#parts;
    const jobUid = change.object.gang?.jobUid ?? '';
    const isNews = change.kind === 'deleted' || !isWell(change.object);
    if (isNews && !this.#isRemoved(jobUid)) return podNewsIntervalMs;
    const { cached } = cache.pods;
    const own = cached.countByIndex(BY_JOB, jobUid);
    if (this.#isRemoved(jobUid)) return Math.max(podNewsIntervalMs, own * LOOK_SHARE_MS_PER_POD);
    if (cached.countByIndex(STARTING, jobUid) === 0) return podNewsIntervalMs;
    const all = Math.min(LONGEST_LOOK_MS, cached.countByIndex(STARTING, ALL_STARTING) * LOOK_SHARE_MS_PER_POD);
    return Math.max(podNewsIntervalMs, own * LOOK_SHARE_MS_PER_POD, all);
  }

  /** Whether the job has no gang, or one that is being removed. */
  #isRemoved(jobUid: string): boolean {
    const stage = this.#parts.cache.jobs.cached.byIndex(BY_UID, jobUid)[0]?.status?.attempts?.at(-1)?.stage;
    return stage === 'Stopping' || stage === 'Ended';
  }

  /** Pods outlive their job, and anybody may make pods with its label: only of a job that is there something is kept. */
  #isOfJob(jobUid: string): boolean {
    return this.#parts.cache.jobs.cached.countByIndex(BY_UID, jobUid) > 0;
  }

  #onNode(change: CacheChange<CachedNode>): void {
    const { object } = change;
    const isSame = change.kind === 'updated' && sameFacts(change.previous, object);
    if (isSame && sameFaults(change.previous, object)) return;
    for (const { gang } of this.#parts.cache.pods.cached.byIndex(BY_NODE, object.metadata.name)) {
      if (gang !== undefined) this.wake(gang.jobUid);
    }
    if (!isSame) this.#wakeWaiting('nodes');
  }

  /** Jobs that wait for nodes also wait for freed GPUs, so of several kinds of changes within the delay the wider one counts. */
  #wakeWaiting(concerned: 'gpus' | 'nodes'): void {
    if (this.#concerned === 'gpus') this.#concerned = concerned;
    const { clock, wake, scheduler } = this.#parts;
    this.#cancelCapacityTimer ??= clock.setTimer(CAPACITY_DELAY_MS, () => {
      this.#cancelCapacityTimer = undefined;
      const turns = scheduler.offer(this.#concerned);
      this.#concerned = 'gpus';
      for (const { metadata } of turns) wake(keyOf({ metadata }), 'normal');
    });
  }
}

/** Whether only the progress of the pod's start changed, without any sign of an end. */
function isWell({ metadata, terminal, gang }: CachedPod): boolean {
  return (
    !terminal &&
    metadata.deletionTimestamp === undefined &&
    gang?.exit === undefined &&
    gang?.disruption === undefined &&
    gang?.statusReason === undefined
  );
}

function freesGpus(change: CacheChange<CachedPod>): boolean {
  const { object } = change;
  const ended = change.kind === 'updated' && object.terminal && !change.previous.terminal;
  return object.gpus > 0 && (change.kind === 'deleted' || ended);
}
