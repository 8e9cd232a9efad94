/** Assigns each GPU-millisecond of a job to a category. */
import { GOODPUT_CATEGORIES, type GoodputCategory, type GoodputSpan } from '@coxswain/api-types';
import type { AttemptHistory, JobHistory, RecoveryCategory, RunHistory } from './history.ts';

/** A stretch of time, [fromMs, toMs), and what it was spent on. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
  readonly spent: GoodputSpan['spent'];
  readonly gpus: number;
  /** Null: between attempts. */
  readonly epoch: number | null;
}

/** How one run of the ranks spent its time. */
export interface RunLedger {
  readonly epoch: number;
  readonly incarnation: number;
  readonly gpus: number;
  /** By category, whole milliseconds; their sum is the time in which the run held its GPUs. */
  readonly ms: Readonly<Record<GoodputCategory, number>>;
  /** From its start to its first step, and from its last step to its end: parts of what `ms` holds. */
  readonly startMs: number;
  readonly tailMs: number;
  /** Undefined: it never took a step. */
  readonly firstStepAtMs: number | undefined;
  readonly lastStepAtMs: number | undefined;
}

/** How a job spent its GPU time, by run and by span. */
export interface Ledger {
  /** Oldest first. */
  readonly runs: readonly RunLedger[];
  /** Consecutive, from the creation of the job to the moment of the observation. */
  readonly spans: readonly Span[];
  /** GPU-milliseconds that pods on lost nodes hold beyond the end of their attempt. They overlap with spans. */
  readonly lostNodeGpuMs: number;
  /** When standbys hold GPUs. They overlap with spans. */
  readonly standbys: readonly Pick<Span, 'fromMs' | 'toMs' | 'gpus'>[];
}

/** Every category of goodput. */
export const CATEGORIES = Object.keys(GOODPUT_CATEGORIES) as readonly GoodputCategory[];

const NOTHING = Object.fromEntries(CATEGORIES.map((name) => [name, 0])) as Record<GoodputCategory, number>;

/** Every category with nothing in it. */
export function emptyShares(): Record<GoodputCategory, number> {
  return { ...NOTHING };
}

/**
 * Computes the ledger of a job. Clocks step and processes are killed, so times can be missing, contradict each other, or lie
 * outside their run. Such a time moves a border and loses nothing. Borders never go back, so the categories of a run add up to
 * the time that it held its GPUs, and no two attempts hold GPUs at one time.
 */
export function ledgerOf(history: JobHistory): Ledger {
  const { attempts, asOfMs } = history;
  const cuts = laterResumes(attempts);
  const runs: RunLedger[] = [];
  const spans: Span[] = [];
  let cursor = Math.min(history.createdMs ?? attempts[0]?.heldFromMs ?? asOfMs, asOfMs);
  let idle: Span['spent'] = 'waiting';
  let replaces: RecoveryCategory | undefined;
  const standbys: Pick<Span, 'fromMs' | 'toMs' | 'gpus'>[] = [];
  const wait = (toMs: number): void => {
    if (toMs > cursor) spans.push({ fromMs: cursor, toMs, spent: idle, gpus: 0, epoch: null });
    cursor = Math.max(cursor, toMs);
  };
  attempts.forEach((attempt, index) => {
    wait(clamped(attempt.heldFromMs, cursor, asOfMs));
    const toMs = clamped(attempt.heldToMs ?? attempts[index + 1]?.heldFromMs ?? asOfMs, cursor, asOfMs);
    const ledger = attemptLedger(attempt, { fromMs: cursor, toMs, replaces, cuts: cuts[index] ?? [] });
    runs.push(...ledger.runs);
    spans.push(...ledger.spans);
    for (const { gpus, toMs: untilMs } of attempt.standbys)
      standbys.push({ gpus, fromMs: cursor, toMs: clamped(untilMs ?? toMs, cursor, toMs) });
    cursor = toMs;
    idle = attempt.wasSuspended ? 'suspended' : 'waiting';
    replaces = recoveryAfter(attempt.runs.at(-1));
  });
  if (!history.isFinished) wait(asOfMs);
  return { runs, spans, lostNodeGpuMs: heldByLostNodes(history), standbys };
}

/** GPU-milliseconds that fenced pods held up to the observation. */
function heldByLostNodes({ attempts, observedMs }: JobHistory): number {
  const held = attempts.flatMap(({ heldBeyond }) => heldBeyond);
  return held.reduce((sum, { gpus, fromMs, toMs }) => {
    const ms = Math.min(toMs ?? observedMs, observedMs) - fromMs;
    return sum + gpus * Math.max(0, ms);
  }, 0);
}

interface Bounds {
  readonly fromMs: number;
  readonly toMs: number;
  /** Category of the failure that it takes the place of; undefined: none. */
  readonly replaces: RecoveryCategory | undefined;
}

/** The category in which the run that follows waits; undefined: this one did not fail. */
function recoveryAfter(run: RunHistory | undefined): RecoveryCategory | undefined {
  return run?.end === 'failed' ? run.recovery : undefined;
}

function attemptLedger(
  attempt: AttemptHistory,
  { fromMs, toMs, replaces, cuts }: Bounds & { readonly cuts: readonly number[] },
): Pick<Ledger, 'runs' | 'spans'> {
  const { epoch, gpus, runs } = attempt;
  let cursor = fromMs;
  const ledger = runs.map((run, index) => {
    const endMs = index === runs.length - 1 ? toMs : clamped(run.endedMs, cursor, toMs);
    const before = index === 0 ? replaces : (runs[index - 1]?.recovery ?? replaces);
    const bounds = { fromMs: cursor, toMs: endMs, replaces: before };
    cursor = endMs;
    const isUnknown = index === 0 && attempt.lacksRuns;
    return runLedger(run, { ...bounds, isUnknown, cut: cuts[index] ?? Infinity });
  });
  return {
    runs: ledger.map(({ pieces: _, ...run }) => ({ epoch, gpus, ...run })),
    spans: ledger.flatMap(({ pieces }) => pieces.map((piece) => ({ ...piece, gpus, epoch }))),
  };
}

type Piece = Pick<Span, 'fromMs' | 'toMs'> & { readonly spent: GoodputCategory };

function runLedger(
  run: RunHistory,
  bounds: Bounds & { readonly isUnknown: boolean; readonly cut: number },
): Omit<RunLedger, 'epoch' | 'gpus'> & { readonly pieces: readonly Piece[] } {
  const { fromMs, toMs, cut } = bounds;
  const pieces: Piece[] = [];
  let cursor = fromMs;
  const until = (moment: number | undefined, spent: GoodputCategory): void => {
    const next = clamped(moment, cursor, toMs);
    if (next > cursor) pieces.push({ fromMs: cursor, toMs: next, spent });
    cursor = next;
  };
  const stopMs = run.endedMs ?? toMs;
  until(run.runningMs ?? run.restoredMs ?? run.firstStepMs ?? stopMs, waitsFor(bounds));
  if (run.restoredMs !== undefined) until(run.restoredMs, 'checkpointRestore');
  until(run.firstStepMs ?? stopMs, 'initialisation');
  const firstMs = cursor;
  const lastMs = run.firstStepMs === undefined ? firstMs : clamped(run.lastStepMs, firstMs, toMs);
  until(firstMs + Math.round((lastMs - firstMs) * keptShare(run, cut)), 'productive');
  until(lastMs, run.end === 'madeRoom' ? 'preemption' : 'wastedProgress');
  until(toMs, run.end === 'failed' ? run.recovery : TAIL[run.end]);
  const hasStepped = run.firstStepMs !== undefined;
  return {
    incarnation: run.incarnation,
    pieces,
    ms: withoutStalls(summed(pieces), run, lastMs - firstMs),
    startMs: firstMs - fromMs,
    tailMs: toMs - lastMs,
    firstStepAtMs: hasStepped ? firstMs : undefined,
    lastStepAtMs: hasStepped ? lastMs : undefined,
  };
}

/** The category of the time before a run's ranks start. */
function waitsFor({
  isUnknown,
  replaces,
}: Pick<Bounds, 'replaces'> & { readonly isUnknown: boolean }): GoodputCategory {
  if (isUnknown) return 'other';
  return replaces ?? 'initialisation';
}

const TAIL = {
  madeRoom: 'preemption',
  stopped: 'plannedStop',
  live: 'other',
  unknown: 'other',
} as const satisfies Record<Exclude<RunHistory['end'], 'failed'>, GoodputCategory>;

/** Number of steps after the first one. Each is counted as equally long. */
function steps({ firstStep, lastStep }: RunHistory): number {
  return Math.max(0, (lastStep ?? 0) - (firstStep ?? 0));
}

/** The share of the steps that no later run repeated, in [0, 1]: those up to the step from which a later run resumed. */
function keptShare(run: RunHistory, cut: number): number {
  const count = steps(run);
  if (count === 0) return (run.lastStep ?? 0) > cut ? 0 : 1;
  return Math.min(1, Math.max(0, (cut - (run.firstStep ?? 0)) / count));
}

/** The earliest step from which a later run began, for each run of each attempt. */
function laterResumes(attempts: readonly AttemptHistory[]): readonly (readonly number[])[] {
  let earliest = Infinity;
  return attempts
    .toReversed()
    .map(({ runs }) =>
      runs
        .toReversed()
        .map(({ resumedFromStep }) => {
          const later = earliest;
          earliest = Math.min(earliest, resumedFromStep);
          return later;
        })
        .toReversed(),
    )
    .toReversed();
}

function summed(pieces: readonly Piece[]): Record<GoodputCategory, number> {
  const ms = emptyShares();
  for (const { fromMs, toMs, spent } of pieces) ms[spent] += toMs - fromMs;
  return ms;
}

/**
 * Takes the time between steps, and the cost of stragglers, out of the steps, in proportion from those that were trained again.
 * What ranks report about their steps moves time between categories of their own run, and never more than the run has.
 */
function withoutStalls(ms: Record<GoodputCategory, number>, run: RunHistory, steppedMs: number): RunLedger['ms'] {
  const inStepsMs = run.stepMs === undefined ? steppedMs : run.stepMs * steps(run);
  const between = moved(ms, run.hasSaved ? 'checkpointSave' : 'other', steppedMs - inStepsMs);
  return moved(between, 'slow', run.slowMs ?? 0);
}

function moved(
  ms: Record<GoodputCategory, number>,
  to: GoodputCategory,
  wantedMs: number,
): Record<GoodputCategory, number> {
  const { productive, wastedProgress } = ms;
  const wholeMs = productive + wastedProgress;
  const takenMs = Math.round(Math.min(wholeMs, Math.max(0, wantedMs)));
  if (!(takenMs > 0)) return ms;
  const inProportion = Math.round((takenMs * productive) / wholeMs);
  const ofProductive = clamped(inProportion, takenMs - wastedProgress, productive);
  return {
    ...ms,
    productive: productive - ofProductive,
    wastedProgress: wastedProgress - (takenMs - ofProductive),
    [to]: ms[to] + takenMs,
  };
}

function clamped(moment: number | undefined, fromMs: number, toMs: number): number {
  return Math.min(Math.max(moment ?? fromMs, fromMs), toMs);
}
