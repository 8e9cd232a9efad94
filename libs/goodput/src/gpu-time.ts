/** GPU time of a job by category, as a function of time: what it held at a moment, and how fast it grows from then on. */
import type { GoodputCategory } from '@coxswain/api-types';
import type { AttemptHistory, JobHistory, RunHistory } from './history.ts';
import { CATEGORIES, emptyShares, type Ledger, ledgerOf } from './ledger.ts';

/** GPU time of a job from one moment to another. It grows in proportion to time in between. */
export interface GpuTime {
  readonly fromMs: number;
  /** The first moment of the history after `fromMs`; the growth may change there. Infinity: there is none. */
  readonly toMs: number;
  /** GPU-milliseconds at `fromMs`. */
  readonly gpuMs: Readonly<Record<GoodputCategory, number>>;
  /** GPU-milliseconds that each millisecond adds: the number of GPUs that the job holds, in the category of the present. */
  readonly growth: Readonly<Record<GoodputCategory, number>>;
}

/** Any duration: growth is the same everywhere up to the next moment of the history. */
const PROBE_MS = 1_000;

/**
 * The GPU time of a job from the moment of the observation on, as {@link ledgerOf} computes it. A record may lie after the observation if clocks differ.
 * If a straggler's cost is among such records, the growth up to the next moment is the mean, and exact at that moment.
 */
export function gpuTimeOf(history: JobHistory): GpuTime {
  const time = timeOfJob(history);
  const { observedMs } = history;
  const held = history.attempts.flatMap(({ heldBeyond }) => heldBeyond);
  const isOpen = held.filter(({ fromMs, toMs = Infinity }) => fromMs <= observedMs && toMs > observedMs);
  const ends = held.flatMap(({ fromMs, toMs = Infinity }) => [fromMs, toMs]).filter((ms) => ms > observedMs);
  if (held.length === 0) return time;
  const lostNode = isOpen.reduce((sum, { gpus }) => sum + gpus, 0);
  // Fenced pods outlive the job: from the end of the job on, their GPUs alone grow.
  return {
    ...time,
    fromMs: observedMs,
    toMs: Math.min(time.toMs, ...ends),
    growth: { ...time.growth, lostNode },
  };
}

/** Without the growth of what fenced pods hold. */
function timeOfJob(history: JobHistory): GpuTime {
  const fromMs = history.asOfMs;
  const gpuMs = gpuMsOf(ledgerOf(history));
  if (history.isFinished) return { fromMs, toMs: Infinity, gpuMs, growth: emptyShares() };
  const toMs = nextMomentMs(history, fromMs);
  const holdsGpus = history.attempts.some(({ heldToMs }) => heldToMs === undefined);
  if (!holdsGpus && toMs === Infinity) return { fromMs, toMs, gpuMs, growth: emptyShares() };
  const laterMs = Number.isFinite(toMs) ? toMs : fromMs + PROBE_MS;
  const later = gpuMsOf(ledgerOf({ ...history, asOfMs: laterMs }));
  const growth = emptyShares();
  for (const category of CATEGORIES) growth[category] = (later[category] - gpuMs[category]) / (laterMs - fromMs);
  return { fromMs, toMs, gpuMs, growth };
}

/** GPU-milliseconds by category: whole numbers, so that nothing is lost in adding them. */
export function gpuMsOf({
  runs,
  lostNodeGpuMs,
  standbys,
}: Pick<Ledger, 'runs' | 'lostNodeGpuMs' | 'standbys'>): Record<GoodputCategory, number> {
  const sum = { ...emptyShares(), lostNode: lostNodeGpuMs };
  for (const { gpus, fromMs, toMs } of standbys) sum.standby += gpus * (toMs - fromMs);
  for (const { gpus, ms } of runs) for (const category of CATEGORIES) sum[category] += gpus * ms[category];
  return sum;
}

function nextMomentMs({ createdMs, attempts }: JobHistory, afterMs: number): number {
  let next = Infinity;
  const consider = (momentMs: number | undefined): void => {
    if (momentMs !== undefined && momentMs > afterMs && momentMs < next) next = momentMs;
  };
  consider(createdMs);
  for (const attempt of attempts) for (const momentMs of momentsOf(attempt)) consider(momentMs);
  return next;
}

function momentsOf({ heldFromMs, heldToMs, standbys, runs }: AttemptHistory): readonly (number | undefined)[] {
  return [heldFromMs, heldToMs, ...standbys.map(({ toMs }) => toMs), ...runs.flatMap(momentsOfRun)];
}

function momentsOfRun(run: RunHistory): readonly (number | undefined)[] {
  return [run.runningMs, run.restoredMs, run.firstStepMs, run.lastStepMs, run.endedMs];
}
