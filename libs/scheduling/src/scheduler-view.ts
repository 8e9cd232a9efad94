import type { Placement, TrainingJob } from '@coxswain/api-types';
import type { NodeFacts, Reserve } from '@coxswain/fabric';

/** What admission reads of the cluster, as this process sees it. Kinds lag apart, always; nothing here waits. */
export interface AdmissionView {
  /** Never goes back, whatever is done to the clock. */
  monotonicMs(): number;
  nodes(): readonly NodeFacts[];
  /** What gangs leave free for those whose nodes fail; undefined: nothing. */
  reserve(): Reserve | undefined;
  /** Undefined for one that is not seen. */
  node(name: string): NodeFacts | undefined;
  /** GPUs under pods that are bound to that node and have not ended, whoever made them. */
  gpusUnderPods(node: string): number;
  /** The same, of every node that has any; a copy that the caller may add to. */
  gpusUnderPodsByNode(): Map<string, number>;
  jobs(): readonly TrainingJob[];
  /** The job of that UID as new as it is known. */
  job(uid: string): TrainingJob | undefined;
  /** Every Placement that is seen whole, whoever made it. */
  placements(): readonly Placement[];
  /** Names of the job's own pods that count for themselves (bound) or for nothing any more (ended). */
  settledPods(job: TrainingJob): ReadonlySet<string>;
}
