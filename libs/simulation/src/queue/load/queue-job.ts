/** What a queue of jobs is made of. Times are milliseconds since the beginning of the simulation. */

/** A job as a scheduling rule and the simulation see it. */
export interface QueueJob {
  readonly uid: string;
  readonly namespace: string;
  /** Number of pods; each has a node of its own or a part of one. */
  readonly pods: number;
  readonly gpusPerPod: number;
  /** Higher values come first. Jobs of generated months have 0, those of low priority -1. */
  readonly priority: number;
  readonly submitMs: number;
  /** How long it really holds its GPUs. No rule reads this but those that are named exact. */
  readonly runMs: number;
  /** How long it is expected to run, and its latest expected end; absent: unknown. */
  readonly predicted?: { readonly runMs: number; readonly latestMs: number };
  /** How long the steps that it states really take, which its measured steps show. Absent: only the prediction is known. */
  readonly statedMs?: number;
  /** Its ranks save on request and train on; absent: they do. */
  readonly savesWhenAsked?: boolean;
  /** Fewest pods on which it goes on where others need its nodes; absent: it needs all. */
  readonly minPods?: number;
}

/** Nodes with equal numbers of GPUs. */
export interface QueueCluster {
  readonly nodes: number;
  readonly gpusPerNode: number;
}

/** A job that holds these nodes, one pod on each; `nodes` are numbers from 0. */
export interface StartedJob {
  readonly job: QueueJob;
  readonly nodes: readonly number[];
}

/** A job's times under a rule. */
export interface JobOutcome {
  readonly job: QueueJob;
  /** Absent: it never started. */
  readonly startMs?: number;
  readonly endMs?: number;
  /** When it held how many pods. Absent: all of them from its start to its end. */
  readonly runs?: readonly QueueSpan[];
}

/** A time in which a job held its nodes. */
export interface QueueSpan {
  readonly startMs: number;
  readonly endMs: number;
  readonly pods: number;
  /** GPU time of it that was lost because the job made room or grew: the save, the next start and training without a save, in GPU-milliseconds. */
  readonly lostGpuMs: number;
  /** The job stopped to go on with more pods, and not to make room. */
  readonly grew?: true;
}

/** Nodes that a rule keeps for a job from `startMs` on. */
export interface QueuePromise {
  readonly jobUid: string;
  /** Priority of the job; jobs of a higher one are not bound by the promise. Absent: it binds all. */
  readonly priority?: number;
  readonly startMs: number;
  readonly nodes: readonly number[];
}

/** GPUs of all pods. */
export function gpusOfJob({ pods, gpusPerPod }: Pick<QueueJob, 'pods' | 'gpusPerPod'>): number {
  return pods * gpusPerPod;
}
