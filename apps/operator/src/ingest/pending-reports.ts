import type { RankWatermark } from '@coxswain/api-types';
import type { TraceRecord } from '@coxswain/health';

type RecordOf<Kind extends TraceRecord['kind']> = Extract<TraceRecord, { kind: Kind }>;

/** Watermarks of one record. */
const RANKS_OF_RECORD = 1_024;
/** Reports of steps that wait; older ones are dropped, and detectors compare the rest. */
const MAX_STEPS = 16;
/** Of a rank's timings in a report of a step that waits. */
const TIMING_BYTES = 128;

/**
 * Reports of a run that its detectors have not seen yet. Only the newest watermark of a rank waits, because each holds all that the earlier ones did. So a
 * run that waits for its turn holds no more than one report of each rank, and some reports of steps.
 */
export class PendingReports {
  readonly #marked = new Set<number>();
  readonly #alive = new Map<number, number | null>();
  #steps: readonly RecordOf<'step'>[] = [];
  #ticked = false;

  mark(ranks: readonly Pick<RankWatermark, 'rank'>[]): void {
    for (const { rank } of ranks) this.#marked.add(rank);
  }

  /** Ranks without watermarks whose processes live. */
  hear(ranks: RecordOf<'heartbeat'>['ranks']): void {
    for (const { rank, step } of ranks) this.#alive.set(rank, step);
  }

  step(record: RecordOf<'step'>): void {
    this.#steps = [...this.#steps, record].slice(-MAX_STEPS);
  }

  tick(): void {
    this.#ticked = true;
  }

  /** Bytes of what is only here. */
  get bytes(): number {
    return this.#steps.reduce((sum, { ranks }) => sum + TIMING_BYTES * ranks.length, 0);
  }

  /**
   * Everything as records, which are no longer pending. Steps have the time of their arrival, so they come first. Time passes last, so that no rank counts as
   * silent whose report waits.
   */
  take(marks: ReadonlyMap<number, RankWatermark>, atMs: number): readonly TraceRecord[] {
    const marked = [...this.#marked].flatMap((rank) => marks.get(rank) ?? []);
    const ranks = [...this.#alive].map(([rank, step]) => ({ rank, step }));
    const records: TraceRecord[] = [
      ...this.#steps,
      ...inRecords(marked).map((some) => ({ kind: 'watermarks' as const, atMs, ranks: some })),
      ...inRecords(ranks).map((some) => ({ kind: 'heartbeat' as const, atMs, ranks: some })),
      ...(this.#ticked ? [{ kind: 'tick' as const, atMs }] : []),
    ];
    this.clear();
    return records;
  }

  clear(): void {
    this.#marked.clear();
    this.#alive.clear();
    this.#steps = [];
    this.#ticked = false;
  }
}

function inRecords<T>(all: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(all.length / RANKS_OF_RECORD) }, (_, at) =>
    all.slice(at * RANKS_OF_RECORD, (at + 1) * RANKS_OF_RECORD),
  );
}
