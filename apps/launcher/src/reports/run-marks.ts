/** When did the ranks of this pod get how far? */
import type { PodMarks } from '@coxswain/api-types';
import type { MarksFact } from '../facts/engine-facts.ts';

/** What a rank reports of itself. */
type RankMark = 'imported' | 'met' | 'loaded';
/** When it passed the mark; `unknown`: its hook saw that it went on, and did not see when. */
type Moment = number | 'unknown';

/** Keeps the marks of the newest incarnation in this pod, by this process's monotonic clock. Each is passed when the pod's last rank has passed it. */
export class RunMarks {
  #rankCount = 0;
  #reapedMs: number | undefined;
  /** When the present ranks were gone: a mark of those that take their place. */
  #nextReapedMs: number | undefined;
  #startedMs: number | undefined;
  #failedMs: number | undefined;
  readonly #ofRanks: Readonly<Record<RankMark, Map<number, Moment>>> = {
    imported: new Map(),
    met: new Map(),
    loaded: new Map(),
  };

  /** Other ranks are to start; those before were reaped. */
  begin(rankCount: number): void {
    this.#rankCount = rankCount;
    this.#reapedMs = this.#nextReapedMs;
    this.#nextReapedMs = undefined;
    this.#startedMs = undefined;
    this.#failedMs = undefined;
    for (const moments of Object.values(this.#ofRanks)) moments.clear();
  }

  /** Every process of the ranks is gone. */
  reap(nowMs: number): void {
    this.#nextReapedMs = nowMs;
  }

  /** The process of every rank was started. */
  start(nowMs: number): void {
    this.#startedMs = nowMs;
  }

  /** A rank failed. Only the first counts: the launcher ends the others. */
  fail(nowMs: number): void {
    this.#failedMs ??= nowMs;
  }

  /** A hook reports the marks of its rank. */
  receive(rank: number, { imported, met, loaded }: Omit<MarksFact, 'kind'>, nowMs: number): void {
    this.#note('imported', rank, momentOf(imported, nowMs));
    this.#note('met', rank, momentOf(met, nowMs));
    this.#note('loaded', rank, momentOf(loaded, nowMs));
  }

  /**
   * An engine reports that this rank has loaded its checkpoint. A time that the hook reported before is more exact. Returns whether that was the last
   * rank of the pod.
   */
  load(rank: number, nowMs: number): boolean {
    const before = this.#lastOf('loaded');
    const moments = this.#ofRanks.loaded;
    // The hook has not seen it; the engine's report came late, over a connection of its own.
    if (moments.get(rank) === 'unknown') moments.delete(rank);
    this.#note('loaded', rank, nowMs);
    return before === undefined && this.#lastOf('loaded') !== undefined;
  }

  /** The marks that were passed, as ages in milliseconds. */
  ages(nowMs: number): Omit<PodMarks, 'saves'> {
    const marks = {
      reaped: this.#reapedMs,
      started: this.#startedMs,
      imported: this.#lastOf('imported'),
      met: this.#lastOf('met'),
      loaded: this.#lastOf('loaded'),
      failed: this.#failedMs,
    };
    return Object.fromEntries(
      Object.entries(marks).flatMap(([mark, atMs]) =>
        atMs === undefined ? [] : [[mark, Math.max(0, Math.round(nowMs - atMs))]],
      ),
    );
  }

  #note(mark: RankMark, rank: number, moment: Moment | undefined): void {
    const moments = this.#ofRanks[mark];
    if (moment !== undefined && !moments.has(rank)) moments.set(rank, moment);
  }

  /** Undefined while it is not known of every rank. */
  #lastOf(mark: RankMark): number | undefined {
    const moments = [...this.#ofRanks[mark].values()];
    if (this.#rankCount === 0 || moments.length < this.#rankCount) return undefined;
    const known = moments.filter((moment) => moment !== 'unknown');
    return known.length < moments.length ? undefined : Math.max(...known);
  }
}

function momentOf(ageMs: number | null | undefined, nowMs: number): Moment | undefined {
  if (ageMs === undefined) return undefined;
  return ageMs === null ? 'unknown' : nowMs - ageMs;
}
