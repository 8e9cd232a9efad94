import type { RefusedWrite } from './observed.ts';

/** A write to a Checkpoint object, as it is remembered. */
export interface CheckpointWrite {
  readonly kind: 'createCheckpoint' | 'markCheckpointDamaged' | 'deleteCheckpoint';
  readonly name: string;
}

export function checkpointWriteKey({ kind, name }: CheckpointWrite): string {
  return `${kind}/${name}`;
}

/** First pause after a refusal, and after a failure of the server itself; each further one doubles it. */
const FIRST_PAUSE_MS = { refused: 30_000, failed: 5_000 } as const;
const LONGEST_PAUSE_MS = 600_000;
/** How long a server may fail at a write before that counts like a refusal: a webhook that answers nobody would hold the job for ever. */
const PATIENCE_MS = 60_000;

interface Failing {
  readonly message: string;
  readonly sinceMs: number;
  /** undefined: it is not a refusal as yet. */
  readonly retryAtMs: number | undefined;
  readonly refusals: number;
}

/**
 * Which writes to Checkpoint objects the API server has refused, and when each is to be tried again. Nothing that matters is lost with it: a new
 * leader tries once more. Times are monotonic, in milliseconds.
 */
export class RefusedCheckpoints {
  readonly #ofJob = new Map<string, Map<string, Failing>>();

  /** What the job's next look is told. */
  of(job: string, nowMs: number): ReadonlyMap<string, RefusedWrite> {
    const refused = [...(this.#ofJob.get(job) ?? [])].flatMap(([key, { message, retryAtMs }]) =>
      retryAtMs === undefined ? [] : [[key, { message, retryInMs: retryAtMs - nowMs }] as const],
    );
    return new Map(refused);
  }

  /** The write was not made. Answers whether that counts as a refusal: a server that fails has a minute to do better. */
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

  /** The write was made. */
  done(job: string, write: CheckpointWrite): void {
    const writes = this.#ofJob.get(job);
    writes?.delete(checkpointWriteKey(write));
    if (writes?.size === 0) this.#ofJob.delete(job);
  }

  forget(job: string): void {
    this.#ofJob.delete(job);
  }

  /** Jobs of which a write was refused; for tests of memory. */
  get size(): number {
    return this.#ofJob.size;
  }
}

interface Failure {
  /** Of the object itself; else the server was away, busy or ill. */
  readonly isRefusal: boolean;
  readonly nowMs: number;
}
