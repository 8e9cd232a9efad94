/** What promises are derived from. */
import type { FabricCapacity } from '@coxswain/fabric';
import type { GangRequest, JobName } from '../gang-request.ts';
import type { PredictedEnd } from '../times/predicted-end.ts';
import type { GpusByNode, HeldNodes, NodePromise } from './node-promise.ts';

/** A job that waits and has asked for nodes. */
export interface WaitingGang {
  readonly job: JobName;
  readonly priority: number;
  readonly pool: string;
  readonly request: GangRequest;
  /** Equal for equal requests. */
  readonly requestKey: string;
  /** What its status records of a promise that an earlier process made. */
  readonly recorded?: { readonly promisedAt: Date; readonly firstStart: Date };
}

/** A job that holds GPUs. */
export interface Holder {
  readonly job: JobName;
  readonly gpus: GpusByNode;
  readonly end: PredictedEnd;
}

/** What promises are derived from. */
export interface PromiseInput {
  /** In the order in which nodes are held for them. */
  readonly waiting: readonly WaitingGang[];
  readonly holders: readonly Holder[];
  /** Nodes that suit the request. */
  readonly capacityOf: (request: GangRequest) => Omit<FabricCapacity, 'usedGpus'>;
  /** GPUs that anything uses now, by node. */
  readonly usedGpus: GpusByNode;
  /** Adds to the used GPUs all GPUs of nodes that windows of the Fabric keep the job of that UID off. */
  readonly withClosed: (used: GpusByNode, jobUid: string) => GpusByNode;
  readonly kept: readonly NodePromise[];
  /** Those whose jobs are about to start on reserved nodes. They stay as they are, and the reserved GPUs are among the used ones. */
  readonly starting?: readonly NodePromise[];
  /** Nodes that jobs left for others: no other job starts there before them. Absent: none. */
  readonly returning?: readonly Pick<HeldNodes, 'job' | 'priority' | 'gpus'>[];
  readonly now: Date;
}
