import { type Rate, TokenBucket } from '@coxswain/units';

/** No engine saves so often for long; what has gathered while nobody led comes at once. */
const RATE: Rate = { perSecond: 1, burst: 20 };
/** Beside twice the number that is kept: a collection may be late, and removes a tenth at a time. */
const MARGIN = 100;

/** How many Checkpoint objects may be made for a job, and how fast: launchers are other people's programs, and objects stay. */
export class CheckpointQuota {
  readonly #most: number;
  readonly #clock: { monotonicMs(): number };
  /** By the job's UID. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(options: { readonly kept: number; readonly clock: { monotonicMs(): number } }) {
    this.#most = 2 * options.kept + MARGIN;
    this.#clock = options.clock;
  }

  /** Jobs that something is held for; for tests of memory. */
  get size(): number {
    return this.#buckets.size;
  }

  /** It is the turn of another one of that job; throws where it comes too soon. */
  take(jobUid: string): void {
    const nowMs = this.#clock.monotonicMs();
    const bucket = this.#buckets.get(jobUid) ?? new TokenBucket(RATE, nowMs);
    this.#buckets.set(jobUid, bucket);
    if (bucket.take(nowMs) > 0)
      throw new Error(`checkpoints of job ${jobUid} come faster than ${RATE.perSecond} a second`);
  }

  /** Throws where so many objects of a job are too many for one more. */
  check(objects: number): void {
    if (objects >= this.#most)
      throw new Error(`there are ${objects} Checkpoint objects of the job: no more are made before some are deleted`);
  }

  /** The job is gone. */
  forget(jobUid: string): void {
    this.#buckets.delete(jobUid);
  }
}
