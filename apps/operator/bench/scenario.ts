import type { BenchCluster } from './bench-cluster.ts';
import type { Progress } from './progress.ts';

/** One line of the table. */
export interface Measurement {
  readonly what: string;
  /** NaN where it could not be measured. */
  readonly value: number;
  readonly unit: string;
  /** What the project promises; absent: told for information. */
  readonly atMost?: number;
  /** Single values that `value` stands for. */
  readonly of?: readonly number[];
}

/** Operator processor time per pod that the project promises, whatever the gang's size. */
export const CPU_MS_PER_POD = 4;
/** Longest stretch for which the operator may hold its event loop. */
const LOOP_MS = 50;

/** The longest of these stretches, beside the next ones. */
export function longestStretch(when: string, stretchesMs: readonly number[]): Measurement {
  const [longest = 0] = stretchesMs;
  return {
    what: `longest stretch of the event loop, CPU, ${when}`,
    value: longest,
    unit: 'ms',
    of: stretchesMs.slice(0, 5),
    atMost: LOOP_MS,
  };
}

/** How large a run is: `quick` shows that the bench works and where time goes, not that a bar is met. */
export type Size = 'full' | 'quick';

export interface Context {
  readonly cluster: BenchCluster;
  readonly size: Size;
  readonly progress: Progress;
  /** What is measured is told first, and where nothing comes after it the cluster goes as it is. */
  readonly clearUp: (clear: () => Promise<void>) => void;
}

/** One question to the operator at scale. */
export interface Scenario {
  readonly name: string;
  /** One sentence: what is measured. */
  readonly question: string;
  /** What it measures that the project promises; a row of each is told, whatever happens. */
  readonly bars: readonly string[];
  /** Hands what is left of its jobs and pods to `clearUp`. */
  run(context: Context): Promise<readonly Measurement[]>;
}

/** The middle value; the mean of the two middle ones of an even number. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length / 2;
  const pair = sorted.slice(Math.ceil(middle) - 1, Math.floor(middle) + 1);
  return pair.reduce((sum, value) => sum + value, 0) / pair.length;
}
