/** What a forecast of the waiting jobs is computed from. All times are milliseconds since the epoch. */
import { END_BASES, type EndBasis } from '@coxswain/api-types';

/** A time with its interval. */
export interface ForecastTime {
  readonly atMs: number;
  readonly earliestMs: number;
  /** undefined: no bound is known. */
  readonly latestMs: number | undefined;
}

/** A predicted time, and what it rests on. */
export interface RestedTime extends ForecastTime {
  readonly restsOn: EndBasis;
}

/** A node that takes pods of gangs. */
export interface ForecastNode {
  readonly name: string;
  readonly gpus: number;
  /** Type of its GPUs. Requests name types with the same words. */
  readonly type: string;
}

/** A gang that holds GPUs. */
export interface RunningGang {
  readonly uid: string;
  /** GPUs that it holds, one entry for each pod. */
  readonly pods: readonly { readonly node: string; readonly gpus: number }[];
  readonly end: RestedTime;
}

/** GPUs that a gang needs of one type. */
export interface RequestPart {
  /** undefined: any type. */
  readonly type: string | undefined;
  readonly gpus: number;
  /** GPUs of each pod. undefined: as many as a node has. */
  readonly gpusPerPod: number | undefined;
}

/** A job that waits. */
export interface WaitingGang {
  readonly uid: string;
  /** Needed only if a window is kept for a namespace. */
  readonly namespace?: string | undefined;
  readonly parts: readonly RequestPart[];
  /** How long the job would hold its GPUs, from its start. */
  readonly hold: RestedTime;
  /** The start that the operator has recorded for the job. It is used as it is. */
  readonly promised?: RestedTime | undefined;
  /** A ResourceQuota refuses the pods of the job. No start is predicted, and jobs behind it are not delayed. */
  readonly isOverQuota?: boolean | undefined;
}

/** GPUs by type that pods of other owners hold. */
export type OtherUse = ReadonlyMap<string, number>;

/** Nodes that a window of the Fabric keeps jobs off. */
export interface ClosedTime {
  readonly fromMs: number;
  readonly untilMs: number;
  /** Namespace whose jobs may use the nodes; undefined: maintenance. */
  readonly namespace: string | undefined;
  /** Names of nodes. */
  readonly nodes: readonly string[];
}

/** A cluster at one moment. */
export interface ForecastInput {
  readonly nowMs: number;
  readonly nodes: readonly ForecastNode[];
  readonly running: readonly RunningGang[];
  /** In the order of their turn. */
  readonly waiting: readonly WaitingGang[];
  readonly otherUse?: OtherUse | undefined;
  /** Windows over nodes, none twice at the same time. */
  readonly closed?: readonly ClosedTime[] | undefined;
}

/** The least sure of both. */
export function leastSure(left: EndBasis, right: EndBasis): EndBasis {
  return END_BASES.indexOf(left) > END_BASES.indexOf(right) ? left : right;
}
