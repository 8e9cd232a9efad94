/** Reads the history of a job from its records. */
import {
  type Attempt,
  type EndedIncarnation,
  RUN_MARKS,
  type RunClock,
  startStepOf,
  type TrainingJobStatus,
} from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import type {
  AttemptHistory,
  HeldBeyondEnd,
  HeldByStandbys,
  JobHistory,
  RecoveryCategory,
  RunHistory,
} from './history.ts';
import { saveCostOf } from './save-cost.ts';
import { saveStopsOf } from './save-stops.ts';
import { slowMsOf, type StepCost } from './slow-cost.ts';

/** What is recorded about a job. A time that cannot be parsed counts as unknown. */
export interface RecordedJob {
  readonly createdAt: string | undefined;
  /** Undefined: it has not ended. */
  readonly finishedAt: string | undefined;
  /** Oldest first. */
  readonly attempts: readonly Attempt[];
  /** Of the newest attempt. */
  readonly progress: TrainingJobStatus['progress'];
  /** Mean time of a step in each attempt, in milliseconds, as its ranks reported it. */
  readonly stepMsByEpoch: ReadonlyMap<number, number>;
  /** Runs that saved checkpoints, as {@link runKey} writes them. */
  readonly savedRuns: ReadonlySet<string>;
  /** Incidents that made steps longer, if their detectors gave a figure. */
  readonly stepCosts: readonly StepCost[];
  /** The time of the observation. */
  readonly now: Date;
}

/** `2.1`: the first run of epoch 2. */
export function runKey(epoch: number, incarnation = 1): string {
  return `${epoch}.${incarnation}`;
}

/** The history of a job, from its records. */
export function recordedHistory(job: RecordedJob): JobHistory {
  const { attempts } = job;
  const finishedMs = momentOf(job.finishedAt);
  const lastEndMs = momentOf(attempts.at(-1)?.endedAt);
  return {
    createdMs: momentOf(job.createdAt),
    // The gang of a job that has ended is gone; the clock that wrote its end may have been another one.
    asOfMs: finishedMs === undefined ? job.now.getTime() : Math.max(finishedMs, lastEndMs ?? finishedMs),
    observedMs: job.now.getTime(),
    isFinished: finishedMs !== undefined,
    saveStops: saveStopsOf(attempts),
    attempts: attempts.map((attempt, index) =>
      attemptHistory(attempt, { job, isNewest: index === attempts.length - 1 }),
    ),
  };
}

function attemptHistory(
  attempt: Attempt,
  { job, isNewest }: { readonly job: RecordedJob; readonly isNewest: boolean },
): AttemptHistory {
  const { epoch, incarnations = [], layout, outcome, startedAt, endedAt } = attempt;
  const ofRun = (run: RecordedRun): Pick<RunHistory, 'stepMs' | 'hasSaved' | 'slowMs'> => ({
    stepMs: job.stepMsByEpoch.get(epoch),
    hasSaved: job.savedRuns.has(runKey(epoch, run.incarnation)),
    slowMs: slowOf(run, epoch, job),
  });
  const newest = isNewest ? { ...attempt, ...progressOf(attempt, job) } : attempt;
  return {
    epoch,
    gpus: worldSize(layout),
    heldFromMs: momentOf(startedAt),
    heldToMs: momentOf(endedAt),
    heldBeyond: heldBeyondOf(attempt),
    standbys: standbysOf(attempt),
    wasSuspended: outcome === 'Suspended',
    lacksRuns: (incarnations[0]?.incarnation ?? 1) > 1,
    saves: saveCostOf(attempt),
    runs: [
      ...incarnations.map((run) => ({
        ...marksOf(run),
        ...ofRun(run),
        endedMs: momentOf(run.endedAt),
        end: 'failed' as const,
        recovery: recoveryOf(run),
      })),
      {
        ...marksOf(newest),
        ...ofRun(newest),
        endedMs: momentOf(attempt.stoppingAt),
        end: endOf(attempt),
        recovery: recoveryOf(attempt),
      },
    ],
  };
}

/**
 * The category of the time that a failure costs, by its blame. A judgement that an earlier release did not record says nothing about the cause.
 * Blames that this release does not know are of something outside the program.
 */
function recoveryOf({ judgement }: Pick<Attempt, 'judgement'>): RecoveryCategory {
  switch (judgement?.blame) {
    case 'program':
      return 'programRecovery';
    case 'unknown':
    case undefined:
      return 'unexplainedRecovery';
    default:
      return 'infrastructureRecovery';
  }
}

/** Each number of GPUs holds until the next one was recorded. A time that cannot be read joins its number to the one before. */
function heldBeyondOf({ heldByFenced = [] }: Attempt): readonly HeldBeyondEnd[] {
  const changes = heldByFenced.flatMap(({ at, gpus }) => {
    const fromMs = momentOf(at);
    return fromMs === undefined ? [] : [{ gpus, fromMs }];
  });
  return changes
    .map((change, index) => ({ ...change, toMs: changes[index + 1]?.fromMs }))
    .filter(({ gpus }) => gpus > 0);
}

/**
 * Standbys that waited until the end, that were lost before, and that took a place. An earlier release did not record when: it was the end of the run before, and
 * if status does not keep that run any more, at the latest the end of the first one that it keeps.
 */
function standbysOf({
  standbys = 0,
  standbyGpus = 0,
  replacements = [],
  lostStandbys = [],
  incarnations = [],
  startedAt,
}: Attempt): readonly HeldByStandbys[] {
  if (standbys === 0) return [];
  const gpus = standbyGpus / standbys;
  const endedAt = new Map(
    incarnations.flatMap(({ incarnation, endedAt: time }): (readonly [number, number])[] => {
      const moment = momentOf(time);
      return moment === undefined ? [] : [[incarnation, moment]];
    }),
  );
  const [firstEndMs = momentOf(startedAt)] = endedAt.values();
  const left = Math.max(0, standbys - replacements.length - lostStandbys.length);
  return [
    ...replacements.map(({ at, incarnation }) => ({
      gpus,
      toMs: momentOf(at) ?? endedAt.get(incarnation - 1) ?? firstEndMs,
    })),
    ...lostStandbys.map(({ at }) => ({ gpus, toMs: momentOf(at) ?? momentOf(startedAt) })),
    ...(left === 0 ? [] : [{ gpus: gpus * left, toMs: undefined }]),
  ];
}

/** The progress of a run that has not ended, as it was last recorded. */
function progressOf(attempt: Attempt, { progress }: RecordedJob): Pick<Attempt, 'lastStep' | 'lastStepAt'> {
  if (attempt.stage === 'Ended' || progress === undefined) return {};
  return { lastStep: Math.max(attempt.lastStep ?? 0, progress.step), lastStepAt: progress.reportedAt };
}

function slowOf(run: RecordedRun, epoch: number, { stepMsByEpoch, stepCosts }: RecordedJob): number | undefined {
  if (stepCosts.length === 0) return undefined;
  const { firstStepMs: firstMs, lastStepMs: lastMs, firstStep = 0, lastStep = 0, incarnation } = marksOf(run);
  if (firstMs === undefined || lastMs === undefined) return undefined;
  const stepMs = stepMsByEpoch.get(epoch) ?? (lastMs - firstMs) / (lastStep - firstStep);
  return slowMsOf(stepCosts, { epoch, incarnation, firstMs, lastMs, stepMs });
}

type RecordedRun = Pick<
  EndedIncarnation,
  'runningAt' | 'restoredAt' | 'clock' | 'firstStep' | 'lastStep' | 'lastStepAt' | 'resumedFrom' | 'memorySave'
> & { readonly incarnation?: number | undefined };

function marksOf(
  run: RecordedRun,
): Omit<RunHistory, 'endedMs' | 'end' | 'recovery' | 'stepMs' | 'hasSaved' | 'slowMs'> {
  return {
    incarnation: run.incarnation ?? 1,
    runningMs: momentOf(run.runningAt),
    restoredMs: momentOf(run.restoredAt),
    marks: marksOfClock(run.clock ?? {}),
    firstStepMs: momentOf(run.firstStep?.at),
    lastStepMs: momentOf(run.lastStepAt),
    firstStep: run.firstStep?.step,
    lastStep: run.lastStep,
    resumedFromStep: startStepOf(run),
  };
}

function marksOfClock(clock: RunClock): RunHistory['marks'] {
  return Object.fromEntries(
    RUN_MARKS.flatMap((mark) => {
      const moment = momentOf(clock[`${mark}At`]);
      return moment === undefined ? [] : [[mark, moment]];
    }),
  );
}

function endOf({ outcome, stage, reason }: Attempt): RunHistory['end'] {
  if (outcome === 'Failed') return 'failed';
  if (reason === 'MadeRoom' || reason === 'QuotaEvicted') return 'madeRoom';
  if (outcome !== undefined) return 'stopped';
  return stage === 'Ended' ? 'unknown' : 'live';
}

function momentOf(time: string | undefined): number | undefined {
  if (time === undefined) return undefined;
  const moment = Date.parse(time);
  return Number.isNaN(moment) ? undefined : moment;
}
