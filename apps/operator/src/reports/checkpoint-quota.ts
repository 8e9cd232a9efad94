/** No engine saves so often for long; what has gathered while nobody led comes at once. */
const RATE_PER_SECOND = 1;
const BURST = 20;
/** Beside twice the number that is kept: a collection may be late, and removes a tenth at a time. */
const MARGIN = 100;

/** How many Checkpoint objects may be made for a job, and how fast: launchers are other people's programs, and objects stay. */
export class CheckpointQuota {
  readonly #most: number;
  readonly #clock: { monotonicMs(): number };
  /** By the job's UID. */
  readonly #buckets = new Map<string, { readonly tokens: number; readonly atMs: number }>();

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
    const atMs = this.#clock.monotonicMs();
    const known = this.#buckets.get(jobUid) ?? { tokens: BURST, atMs };
    const tokens = Math.min(BURST, known.tokens + ((atMs - known.atMs) / 1000) * RATE_PER_SECOND);
    if (tokens < 1) throw new Error(`checkpoints of job ${jobUid} come faster than ${RATE_PER_SECOND} a second`);
    this.#buckets.set(jobUid, { tokens: tokens - 1, atMs });
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
