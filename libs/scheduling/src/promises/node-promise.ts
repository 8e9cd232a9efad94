/** Nodes that are held from a predicted time on, for the first job in line that cannot start. */
import type { EndBasis } from '@coxswain/api-types';
import type { JobName } from '../gang-request.ts';

/** GPUs by node. */
export type GpusByNode = ReadonlyMap<string, number>;

/** Nodes that are held for a job. */
export interface NodePromise {
  readonly job: JobName;
  readonly priority: number;
  /** Nodes of one kind of GPU; one promise for each kind and priority. */
  readonly pool: string;
  /** The request that the nodes suit. */
  readonly request: string;
  readonly gpus: GpusByNode;
  readonly start: Date;
  readonly earliest: Date;
  /** Absent: some job on these nodes may run for any time. */
  readonly latest?: Date;
  readonly restsOn: EndBasis;
  /** Jobs on these nodes that are to end before the start, by UID, with the ends that were predicted. */
  readonly awaits: ReadonlyMap<string, Date>;
  /** GPUs of these nodes that others use at the start. */
  readonly beyond: GpusByNode;
  readonly promisedAt: Date;
  readonly firstStart: Date;
  /** Why the start is later than it was; absent: it never moved later. */
  readonly moved?: string;
}

/** What keeps other jobs from nodes: a promise, or the right of a job that made room to return. */
export type HeldNodes = Pick<NodePromise, 'job' | 'priority' | 'gpus' | 'start' | 'beyond'>;
