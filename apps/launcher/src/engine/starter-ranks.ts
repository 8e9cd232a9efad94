/** Which process below torchrun or ft_launcher is which rank, and which ranks have exited with 0 while it runs on? */

/** A starter asks ten times a second how its ranks are, and reports and ends all of them if one failed. */
const GONE_MS = 2_000;

/**
 * A starter reports failures only. A rank that is gone for two seconds, while its starter runs on and reports no failure, has exited with 0. The starter keeps
 * the other ranks, which may wait for it for ever. A process that has ended is gone once its starter has asked for its exit code, which an older release of
 * torchrun, or one with another --monitor-interval, does seconds later.
 */
export class StarterRanks {
  readonly #ranks: readonly number[];
  readonly #pids = new Map<number, number>();
  readonly #goneSinceMs = new Map<number, number>();
  readonly #finished = new Set<number>();

  constructor(ranks: readonly number[]) {
    this.#ranks = ranks;
  }

  /** Ranks that exited with 0, in order of their numbers. */
  get finished(): readonly number[] {
    return this.#ranks.filter((rank) => this.#finished.has(rank));
  }

  /** The process of each rank that was seen, running or not. */
  get pids(): ReadonlyMap<number, number> {
    return this.#pids;
  }

  /** The rank exited with 0, as the kernel shows. Returns whether that is news. */
  finish(rank: number): boolean {
    const isNews = !this.#finished.has(rank);
    this.#finished.add(rank);
    return isNews;
  }

  /** Takes the running processes into account, by rank. Returns whether a rank has finished since. Not to be called once the starter ends its ranks. */
  observe(running: ReadonlyMap<number, number>, nowMs: number): boolean {
    for (const [rank, pid] of running) this.#pids.set(rank, pid);
    // It starts all of them together.
    if (this.#pids.size === 0) return false;
    return this.#ranks.filter((rank) => this.#isNewlyFinished(rank, running.has(rank), nowMs)).length > 0;
  }

  #isNewlyFinished(rank: number, isRunning: boolean, nowMs: number): boolean {
    if (isRunning) {
      this.#goneSinceMs.delete(rank);
      return false;
    }
    const sinceMs = this.#goneSinceMs.get(rank) ?? nowMs;
    this.#goneSinceMs.set(rank, sinceMs);
    return nowMs - sinceMs >= GONE_MS && this.finish(rank);
  }
}
