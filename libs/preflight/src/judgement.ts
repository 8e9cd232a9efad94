import type { PreflightReport } from '@coxswain/api-types';

/** A pod of a gang, where it is, and what it said. */
export interface LookedAtPod {
  readonly podIndex: number;
  readonly node: string;
  /** Ranks that it is to run, one per GPU where there are GPUs. */
  readonly ranks: number;
  readonly report: PreflightReport;
}

/** What is looked at. */
export type CheckName =
  'gpus' | 'gpuMemory' | 'sharedMemory' | 'memlock' | 'scratch' | 'clock' | 'versions' | 'bandwidth';

/** Something that speaks against the node under a pod. */
export interface Finding {
  readonly check: CheckName;
  readonly podIndex: number;
  readonly node: string;
  /** What was found, and what was to be expected; no full stop. */
  readonly message: string;
}

/** What a look at a whole gang comes to. */
export interface Judgement {
  readonly findings: readonly Finding[];
  /** What is worth knowing and nobody's doing. */
  readonly notes: readonly string[];
}
