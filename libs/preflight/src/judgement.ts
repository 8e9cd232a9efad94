import type { PreflightReport } from '@coxswain/api-types';

/** A pod of a gang, its node, and its preflight report. */
export interface ObservedPod {
  readonly podIndex: number;
  readonly node: string;
  /** Ranks that the pod will run, one per GPU if there are GPUs. */
  readonly ranks: number;
  readonly report: PreflightReport;
}

/** Names of checks. */
export type CheckName =
  'gpus' | 'gpuMemory' | 'sharedMemory' | 'memlock' | 'scratch' | 'clock' | 'versions' | 'bandwidth';

/** A finding against the node of a pod. */
export interface Finding {
  readonly check: CheckName;
  readonly podIndex: number;
  readonly node: string;
  /** What was found and what was expected, without a full stop. */
  readonly message: string;
}

/** The result of checking a gang. */
export interface Judgement {
  readonly findings: readonly Finding[];
  /** Observations that blame no node. */
  readonly notes: readonly string[];
}
