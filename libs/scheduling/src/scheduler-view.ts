import type { Placement, TrainingJob } from '@coxswain/api-types';
import type { NodeFacts, Reserve } from '@coxswain/fabric';

/**
 * What the scheduler reads of the cluster. It reads the caches of this process, so each kind of object may lag behind the API server by a
 * different time. No method waits.
 */
export interface SchedulerView {
  /** Milliseconds of a clock that never goes back. */
  monotonicMs(): number;
  nodes(): readonly NodeFacts[];
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
}
