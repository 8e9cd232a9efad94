/** A job that ran on a real cluster. Times are milliseconds since 1970. */
export interface HistoryJob {
  readonly id: string;
  readonly namespace: string;
  readonly pods: number;
  readonly gpusPerPod: number;
  readonly submitMs: number;
  readonly startMs: number;
  /** Absent: it still ran. */
  readonly endMs?: number;
  /** How long it was expected to run, as its time limit or its plan said; absent: unknown. */
  readonly predicted?: { readonly runMs: number; readonly latestMs: number };
}

/** What was read of a file. */
export interface ReadHistory {
  readonly jobs: readonly HistoryJob[];
  /** Rows that a replay cannot use: how many, and why, as words that follow "jobs". */
  readonly leftOut: readonly { readonly count: number; readonly why: string }[];
}

/** A file is not what it should be. The message names the place in it and what to give. */
export class HistoryError extends Error {}

/** Counts rows that are left out, by reason. */
export class LeftOut {
  readonly #counts = new Map<string, number>();

  add(why: string): void {
    this.#counts.set(why, (this.#counts.get(why) ?? 0) + 1);
  }

  list(): ReadHistory['leftOut'] {
    return [...this.#counts].map(([why, count]) => ({ count, why }));
  }
}

/** Pods of one number of GPUs each, at most those of a node; undefined: so many GPUs do not fit on so many nodes. */
export function podsOf(
  gpus: number,
  { nodes, gpusPerNode }: { readonly nodes?: number | undefined; readonly gpusPerNode: number },
): Pick<HistoryJob, 'pods' | 'gpusPerPod'> | undefined {
  const pods = nodes ?? Math.ceil(gpus / gpusPerNode);
  const gpusPerPod = Math.ceil(gpus / Math.max(1, pods));
  return gpusPerPod > gpusPerNode || gpusPerPod < 1 ? undefined : { pods, gpusPerPod };
}
