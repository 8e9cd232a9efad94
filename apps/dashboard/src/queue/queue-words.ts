import type { PastStarts, Queue, QueueStart, QueueUse, QueueWindow } from '@coxswain/api-types';
import { formatCount, formatDuration } from '@coxswain/units';

/** What an expected time rests on, in words. */
const RESTS_ON: Readonly<Record<NonNullable<QueueStart['restsOn']>, string>> = {
  Measured: 'from measured steps',
  Predicted: 'from predicted steps',
  MaxRuntime: 'from a time limit',
  Assumed: 'because the end of a running job is not known',
};

/** What the times rest on. */
export function restsOnWords({ restsOn }: Pick<QueueStart, 'restsOn'>): string {
  return restsOn === null ? '' : RESTS_ON[restsOn];
}

/** The state of the queue in one or two sentences. */
export function queueSentence({ waitingJobs, waitingGpus, freeGpus, totalGpus, oldestWaitSeconds }: Queue): string {
  const free = `${freeGpus.toLocaleString('en')} of ${formatCount(totalGpus, 'GPU')} ${freeGpus === 1 ? 'is' : 'are'} free.`;
  if (waitingJobs === 0) return `No job waits for GPUs. ${free}`;
  const waits = `${formatCount(waitingJobs, 'job')} ${waitingJobs === 1 ? 'waits' : 'wait'} for ${formatCount(waitingGpus, 'GPU')}; ${free}`;
  return oldestWaitSeconds === null
    ? waits
    : `${waits} The longest wait so far is ${formatDuration(oldestWaitSeconds * 1_000)}.`;
}

/** `now`, or `in 2 h 5 min`. */
export function untilWords(at: string, asOf: string): string {
  const ms = Date.parse(at) - Date.parse(asOf);
  return ms < 60_000 ? 'now' : `in ${formatDuration(ms)}`;
}

/** `between 2 h and 3 h`, or `not before 2 h`. */
export function intervalWords({ earliest, latest }: Pick<QueueStart, 'earliest' | 'latest'>, asOf: string): string {
  const after = (at: string): string => formatDuration(Math.max(0, Date.parse(at) - Date.parse(asOf)));
  if (latest === null) return `not before ${after(earliest)}, no latest time is known`;
  return earliest === latest ? '' : `between ${after(earliest)} and ${after(latest)}`;
}

/** `firmware: maintenance`, `launch: kept for project research`, `kept for a project`. */
export function windowWords({ kind, name, project }: QueueWindow): string {
  if (kind === 'Maintenance') return `${name ?? ''}: maintenance`;
  return name === null ? 'kept for a project' : `${name}: kept for project ${project ?? ''}`;
}

/** `for 2 h 0 min`: how long the nodes of the window are closed from now on. */
export function closedWords({ from, until }: Pick<QueueWindow, 'from' | 'until'>, asOf: string): string {
  return `for ${formatDuration(Date.parse(until) - Math.max(Date.parse(from), Date.parse(asOf)))}`;
}

/** `96 of 128`, or without a quota `96`. */
export function useWords({ heldGpus, quotaGpus }: QueueUse): string {
  return quotaGpus === null
    ? heldGpus.toLocaleString('en')
    : `${heldGpus.toLocaleString('en')} of ${quotaGpus.toLocaleString('en')}`;
}

/** How expected starts came true, in a sentence. */
export function pastStartsSentence({ count, medianErrorSeconds, p90ErrorSeconds, p90ErrorPct }: PastStarts): string {
  if (medianErrorSeconds === null || p90ErrorSeconds === null)
    return 'No job for which nodes were held has started in the last 30 days.';
  const share = p90ErrorPct === null ? '' : ` (${p90ErrorPct.toFixed(0)} % of the expected wait)`;
  const within = (seconds: number): string => `within ${formatDuration(seconds * 1_000)}`;
  const starts = `${formatCount(count, 'start')} in the last 30 days`;
  if (count === 1) return `${starts}, ${within(p90ErrorSeconds)} of the expected time${share}.`;
  // Of fewer than ten, the figure for nine of ten is the largest.
  const most = count < 10 ? 'all' : '9 of 10';
  return `${starts}. Half were ${within(medianErrorSeconds)} of the expected time, ${most} ${within(p90ErrorSeconds)}${share}.`;
}

/** `4 min later`, `12 min earlier`, `on time`. */
export function errorWords(errorSeconds: number): string {
  if (Math.abs(errorSeconds) < 60) return 'on time';
  return `${formatDuration(Math.abs(errorSeconds) * 1_000)} ${errorSeconds > 0 ? 'later' : 'earlier'}`;
}
