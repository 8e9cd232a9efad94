import type { Placement, TrainingJob } from '@coxswain/api-types';
import type { findNodes, NodeFacts, NodeWindow, Reserve } from '@coxswain/fabric';
import type { NodeQuestion } from './gang-request.ts';

/**
 * What the scheduler reads of the cluster. It reads the caches of this process, so each kind of object may lag behind the API server by a
 * different time. No method waits.
 */
export interface SchedulerView {
  /** Milliseconds of a clock that never goes back. */
  monotonicMs(): number;
  /** The time of day. Absent: no nodes are held for waiting jobs, because ends are predicted in the time of day. */
  now?(): Date;
  /** Searches nodes in another process, for searches that would block this one. Absent: there is none. */
  findNodes?(question: NodeQuestion): Promise<ReturnType<typeof findNodes>>;
  /**
   * Nodes are held, held from another time on, or no longer held for the jobs of these UIDs. Called at once. Without a UID: this is still to be found, and
   * the next offer goes on with it.
   */
  promisesChanged?(jobUids: readonly string[]): void;
  nodes(): readonly NodeFacts[];
  /** Windows over nodes, by name of the node; nodes without windows are not in it. The same map until nodes or windows change. Absent: there are none. */
  windows?(): ReadonlyMap<string, readonly NodeWindow[]>;
  /** Nodes kept free for gangs whose nodes fail; undefined: none. */
  reserve(): Reserve | undefined;
  /** undefined: the cache has no such Node. */
  node(name: string): NodeFacts | undefined;
  /** GPUs of the pods that are bound to that node and have not ended. Pods of other owners count too. */
  gpusUnderPods(node: string): number;
  /** The same for every node that has such pods; a copy, which the caller may change. */
  gpusUnderPodsByNode(): Map<string, number>;
  jobs(): readonly TrainingJob[];
  /** The newest version of the job of that UID that this process knows. */
  job(uid: string): TrainingJob | undefined;
  /** Every Placement in the cache that is complete, of any author. */
  placements(): readonly Placement[];
  /** Names of the job's own pods that are bound or have ended: the first are counted as pods, the second not at all. */
  settledPods(job: TrainingJob): ReadonlySet<string>;
  /** Whether the job has a pod of that name. Absent: pods that were created exist as long as their attempt. */
  hasPod?(job: TrainingJob, name: string): boolean;
}
