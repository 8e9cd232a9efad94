import { type Rate, TokenBucket } from '@coxswain/units';

/** No engine saves this often for long; the burst covers checkpoints that accumulated without a leader. */
const RATE: Rate = { perSecond: 1, burst: 20 };
/** Margin above twice the number that is kept, because old objects are deleted late and a tenth at a time. */
const MARGIN = 100;

/** Limits the number and rate of Checkpoint objects of a job, because launchers run untrusted programs and objects stay. */
export class CheckpointQuota {
  readonly #most: number;
  readonly #clock: { monotonicMs(): number };
  /** By the job's UID. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(options: { readonly kept: number; readonly clock: { monotonicMs(): number } }) {
    this.#most = 2 * options.kept + MARGIN;
    this.#clock = options.clock;
  }

  /** Number of jobs with state; for tests of memory. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Counts one more checkpoint of a job. Throws if checkpoints come too fast. */
  take(jobUid: string): void {
    const nowMs = this.#clock.monotonicMs();
    const bucket = this.#buckets.get(jobUid) ?? new TokenBucket(RATE, nowMs);
    this.#buckets.set(jobUid, bucket);
    if (bucket.take(nowMs) > 0)
      throw new Error(`checkpoints of job ${jobUid} come faster than ${RATE.perSecond} a second`);
  }

  /** Throws if a job has too many objects for one more. */
  check(objects: number): void {
    if (objects >= this.#most)
      throw new Error(`there are ${objects} Checkpoint objects of the job: no more are made before some are deleted`);
  }

  /** Drops the state of a deleted job. */
  forget(jobUid: string): void {
    this.#buckets.delete(jobUid);
  }
}
