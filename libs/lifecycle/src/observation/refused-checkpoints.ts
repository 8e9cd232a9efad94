import type { RefusedWrite } from './observed.ts';

/** A write to a Checkpoint object. */
export interface CheckpointWrite {
  readonly kind: 'createCheckpoint' | 'markCheckpointDamaged' | 'markCheckpoint' | 'deleteCheckpoint';
  readonly name: string;
}

/** A key that is equal for equal writes. */
export function checkpointWriteKey({ kind, name }: CheckpointWrite): string {
  return `${kind}/${name}`;
}

/** First pause after a refusal, and after a failure of the server; each further one doubles it. */
const FIRST_PAUSE_MS = { refused: 30_000, failed: 5_000 } as const;
const LONGEST_PAUSE_MS = 600_000;
/**
 * How long a server may fail at a write before the failure counts as a refusal. Otherwise a webhook that never answers would hold up the
 * job forever.
 */
const PATIENCE_MS = 60_000;

interface Failing {
  readonly message: string;
  readonly sinceMs: number;
  /** undefined: it does not count as a refusal yet. */
  readonly retryAtMs: number | undefined;
  readonly refusals: number;
}

/**
 * Writes to Checkpoint objects that the API server has refused, and when each is to be repeated. Losing this memory is harmless: a new
 * leader tries once more. Times are monotonic milliseconds.
 */
export class RefusedCheckpoints {
  readonly #ofJob = new Map<string, Map<string, Failing>>();

  /** The job's refused writes, for its next observation. */
  of(job: string, nowMs: number): ReadonlyMap<string, RefusedWrite> {
    const refused = [...(this.#ofJob.get(job) ?? [])].flatMap(([key, { message, retryAtMs }]) =>
      retryAtMs === undefined ? [] : [[key, { message, retryInMs: retryAtMs - nowMs }] as const],
    );
    return new Map(refused);
  }

  /** Records a failed write. Returns whether it counts as a refusal: a failing server gets a minute to recover. */
  note(job: string, write: CheckpointWrite, why: Pick<RefusedWrite, 'message'> & Failure): boolean {
    const { message, isRefusal, nowMs } = why;
    const key = checkpointWriteKey(write);
    const before = this.#ofJob.get(job)?.get(key);
    const sinceMs = before?.sinceMs ?? nowMs;
    const counts = isRefusal || nowMs - sinceMs >= PATIENCE_MS;
    const refusals = (before?.refusals ?? 0) + (counts ? 1 : 0);
    const pauseMs = FIRST_PAUSE_MS[isRefusal ? 'refused' : 'failed'] * 2 ** Math.min(refusals - 1, 20);
    const retryAtMs = counts ? nowMs + Math.min(pauseMs, LONGEST_PAUSE_MS) : undefined;
    const writes = this.#ofJob.get(job) ?? new Map<string, Failing>();
    this.#ofJob.set(job, writes.set(key, { message, sinceMs, retryAtMs, refusals }));
    return counts;
  }

  /** Records a successful write. */
  done(job: string, write: CheckpointWrite): void {
    const writes = this.#ofJob.get(job);
    writes?.delete(checkpointWriteKey(write));
    if (writes?.size === 0) this.#ofJob.delete(job);
  }

  /** Forgets a job that was deleted. */
  forget(job: string): void {
    this.#ofJob.delete(job);
  }

  /** Number of jobs with refused writes; for tests of memory. */
  get size(): number {
    return this.#ofJob.size;
  }
}

interface Failure {
  /** Whether the object was refused; otherwise the server was unavailable, busy or failing. */
  readonly isRefusal: boolean;
  readonly nowMs: number;
}
