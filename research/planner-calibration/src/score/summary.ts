/** The score of a set of rows as one JSON object. */
import { errorStatistics, type Comparison, type ErrorStatistics } from './error-statistics.ts';
import { layoutRegret, type LayoutRegret } from './layout-regret.ts';
import { pairedError, type PairedError } from './paired-error.ts';
import type { PredictedRow, ScoredRows } from './score-rows.ts';

/** Errors of peak memory, and wrong verdicts about whether a layout fits. */
export interface MemorySummary extends ErrorStatistics {
  /** Rows labelled out of memory, and how many of them were said to fit. */
  readonly outOfMemory: number;
  readonly falseFits: number;
  /** Rows that ran, and how many of them were said not to fit. */
  readonly ran: number;
  readonly falseDoesNotFit: number;
}

/** The score of a set of rows: errors of time and memory, regret, paired error and coverage. */
export interface Summary {
  readonly time: ErrorStatistics;
  readonly memory: MemorySummary;
  /** Step time of models without and with experts. */
  readonly dense: ErrorStatistics;
  readonly moe: ErrorStatistics;
  readonly regret: LayoutRegret;
  readonly paired: PairedError;
  readonly unpredicted: {
    readonly n: number;
    readonly reasons: Readonly<Record<string, number>>;
    /** Rows whose layout sizes are all published, and how many of them were predicted. */
    readonly fullLayout: number;
    readonly fullLayoutPredicted: number;
  };
}

/** Computes the score of scored rows. It counts unpredicted rows by reason; errors leave them out. */
export function summaryOf({ predicted, unpredicted }: ScoredRows): Summary {
  const fullLayoutPredicted = predicted.filter(({ row }) => row.hasFullLayout).length;
  return {
    time: errorStatistics(timesOf(predicted)),
    memory: memorySummary(predicted),
    dense: errorStatistics(timesOf(predicted.filter((row) => !row.isMoe))),
    moe: errorStatistics(timesOf(predicted.filter((row) => row.isMoe))),
    regret: layoutRegret(predicted),
    paired: pairedError(predicted),
    unpredicted: {
      n: unpredicted.length,
      reasons: countsOf(unpredicted.map(({ reason }) => reason)),
      fullLayout: fullLayoutPredicted + unpredicted.filter(({ row }) => row.hasFullLayout).length,
      fullLayoutPredicted,
    },
  };
}

/** Predicted and measured seconds per step of the rows that have a measured time. */
export function timesOf(rows: readonly PredictedRow[]): readonly Comparison[] {
  return rows.flatMap(({ time }) => (time === undefined ? [] : [time]));
}

/** Predicted and measured GiB per GPU of the rows that have a measured peak. */
export function memoriesOf(rows: readonly PredictedRow[]): readonly Comparison[] {
  return rows.flatMap(({ memory }) => (memory === undefined ? [] : [memory]));
}

function memorySummary(rows: readonly PredictedRow[]): MemorySummary {
  const failed = rows.filter(({ row }) => row.outOfMemory);
  const ran = rows.filter(({ row }) => !row.outOfMemory);
  return {
    ...errorStatistics(memoriesOf(rows)),
    outOfMemory: failed.length,
    falseFits: failed.filter(({ verdict }) => verdict === 'fits').length,
    ran: ran.length,
    falseDoesNotFit: ran.filter(({ verdict }) => verdict === 'doesNotFit').length,
  };
}

/** How often each word stands in the list, most frequent first. */
export function countsOf(words: readonly string[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return Object.fromEntries([...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])));
}

const DIGITS = 4;

/** One line; numbers to four significant digits. */
export function summaryLine(summary: Summary): string {
  return JSON.stringify(summary, (_, value: unknown) =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(DIGITS)) : value,
  );
}
