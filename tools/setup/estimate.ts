/** One thing that set-up has yet to do. */
export interface Task {
  /** What it does, for people. */
  readonly title: string;
  /** Tasks of one lane follow each other; lanes run side by side. */
  readonly lane: string;
  /** Of processor time on one core. */
  readonly cpuSeconds: number;
  /** On how many cores it can spend that time at once. */
  readonly parallel: number;
  /** Waiting for the network, with a connection of about 50 MB/s. */
  readonly waitSeconds: number;
}

/**
 * Seconds until every task is done on a machine with so many cores that nothing else uses: no sooner than the
 * processor time of all tasks allows, and no sooner than the longest lane alone.
 */
export function estimateSeconds(tasks: readonly Task[], cores: number): number {
  const processor = sum(tasks.map(({ cpuSeconds }) => cpuSeconds)) / cores;
  const lanes = [...new Set(tasks.map(({ lane }) => lane))].map((lane) =>
    sum(tasks.filter((task) => task.lane === lane).map((task) => secondsAlone(task, cores))),
  );
  return Math.max(processor, ...lanes);
}

function secondsAlone({ cpuSeconds, parallel, waitSeconds }: Task, cores: number): number {
  return cpuSeconds / Math.min(parallel, cores) + waitSeconds;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** "under a minute" or "about 9 min", rounded up: a promise that is kept is worth more than one that is close. */
export function minutes(seconds: number): string {
  return seconds < 60 ? 'under a minute' : `about ${Math.ceil(seconds / 60)} min`;
}
