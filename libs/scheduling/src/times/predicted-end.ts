/** When does a job end? Pure: the operator, the API and the simulator ask the same question. */
import {
  type Attempt,
  effectiveLayout,
  type EndBasis,
  gpuCount,
  startStepOf,
  stepsOf,
  type TrainingJob,
} from '@coxswain/api-types';
import { heldByRunMs, type HeldTimes } from './held-time.ts';
import { measuredStepMs, startDelayMs } from './step-time.ts';

/** A predicted end. `latest` is absent if the job may run for any time. */
export interface PredictedEnd {
  readonly at: Date;
  readonly earliest: Date;
  readonly latest?: Date;
  readonly restsOn: EndBasis;
}

/** How far measured steps may be off: later ones may save more often, or wait for a neighbour. */
const MEASURED = { low: 0.95, high: 1.1 };
/** How far predicted steps may be off if the plan records no interval: the widest that is documented. */
const PREDICTED = { low: 0.8, high: 1.4 };
/** Time for a last save, and for the pods to end. */
const ENDING_MS = 120_000;
/** A job without a known end is assumed to run at least so long. */
const LEAST_ASSUMED_MS = 3_600_000;

/**
 * When the job ends: a running one from its progress, a waiting one as if it started at `now`. A job that runs past the latest predicted end counts
 * as one without a known end. `overrun`: how many times its stated steps it makes at the latest ({@link OverrunHistory}).
 */
export function predictedEnd(job: TrainingJob, now: Date, overrun = 1): PredictedEnd {
  const run = runOf(job, now);
  const end = knownEnds(job, run, { now, overrun }).find((one) => one !== 'past' && one.latestMs >= now.getTime());
  return end === undefined || end === 'past' ? assumed(run, now) : toEnd(end, now);
}

/** Whether the job runs past the latest end that its steps or its limit predicted, or past its last step. */
export function isOverdue(job: TrainingJob, now: Date): boolean {
  const run = runOf(job, now);
  if (run.attempt === undefined) return false;
  const [first] = knownEnds(job, run, { now, overrun: 1 });
  return first === 'past' || (first !== undefined && first.latestMs < now.getTime());
}

/** Ends that the record gives, the one that counts first; `past`: it makes more steps than it asked for. */
function knownEnds(
  job: TrainingJob,
  run: Run,
  { now, overrun }: { readonly now: Date; readonly overrun: number },
): readonly (EndMs | 'past')[] {
  const limitMs = endByLimit(job, now);
  const bySteps = endOfStop(job, run) ?? endBySteps(job, run, overrun);
  const byLimit = limitMs === undefined ? [] : [boundAlone(limitMs, now)];
  if (bySteps === undefined) return byLimit;
  return [bySteps === 'past' ? bySteps : withBound(bySteps, limitMs), ...byLimit];
}

/** The job's attempt that holds GPUs, and from when on it takes steps. */
interface Run {
  /** Absent: the job waits. */
  readonly attempt: Attempt | undefined;
  readonly fromMs: number;
  readonly stepsDone: number;
  readonly startedMs: number;
}

interface EndMs {
  readonly atMs: number;
  readonly earliestMs: number;
  readonly latestMs: number;
  readonly restsOn: EndBasis;
}

/** The job's attempt that holds GPUs; undefined: the job waits, or has ended. */
export function runningAttempt({ status }: Pick<TrainingJob, 'status'>): Attempt | undefined {
  const attempt = status?.attempts?.at(-1);
  return attempt === undefined || attempt.stage === 'Ended' ? undefined : attempt;
}

function runOf(job: TrainingJob, now: Date): Run {
  const { status } = job;
  const attempt = runningAttempt(job);
  const startedMs = parsed(attempt?.startedAt) ?? now.getTime();
  const { progress } = status ?? {};
  const reportedMs = parsed(progress?.reportedAt);
  const from = attempt === undefined ? (status?.checkpoint?.step ?? 0) : startStepOf(attempt);
  if (attempt?.firstStep !== undefined && progress !== undefined && reportedMs !== undefined)
    return { attempt, startedMs, fromMs: reportedMs, stepsDone: progress.step };
  return { attempt, startedMs, fromMs: startedMs + startDelayMs(job), stepsDone: from };
}

/** A gang that was asked to stop has its grace period. */
function endOfStop({ spec }: TrainingJob, { attempt }: Run): EndMs | undefined {
  const stoppingMs = parsed(attempt?.stoppingAt);
  if (attempt?.stage !== 'Stopping' || stoppingMs === undefined) return undefined;
  const atMs = stoppingMs + spec.terminationGracePeriodSeconds * 1_000;
  return { atMs, earliestMs: stoppingMs, latestMs: atMs + ENDING_MS, restsOn: 'Measured' };
}

function endBySteps(
  job: TrainingJob,
  { attempt, fromMs, stepsDone }: Run,
  overrun: number,
): EndMs | 'past' | undefined {
  const { spec, status } = job;
  const total = stepsOf(spec) ?? status?.progress?.totalSteps;
  if (total === undefined) return undefined;
  if (stepsDone > total) return 'past';
  const gpus = gpuCount(attempt?.layout ?? effectiveLayout(spec, status?.plan), spec.gpus);
  const pace = stepTimeOf(job, gpus);
  if (pace === undefined) return undefined;
  const endMs = (stepMs: number, steps = total): number => fromMs + (steps - stepsDone) * stepMs;
  return {
    atMs: endMs(pace.stepMs),
    earliestMs: endMs(pace.lowMs),
    latestMs: endMs(pace.highMs, total * overrun) + ENDING_MS,
    restsOn: pace.restsOn,
  };
}

function stepTimeOf(
  job: TrainingJob,
  gpus: number,
):
  | {
      readonly stepMs: number;
      readonly lowMs: number;
      readonly highMs: number;
      readonly restsOn: 'Measured' | 'Predicted';
    }
  | undefined {
  const measured = measuredStepMs(job, gpus);
  if (isPositive(measured)) {
    return {
      stepMs: measured,
      lowMs: measured * MEASURED.low,
      highMs: measured * MEASURED.high,
      restsOn: 'Measured',
    };
  }
  const { predictedStepMs, predictedStepLowMs, predictedStepHighMs } = job.status?.plan ?? {};
  const stepMs = predictedStepMs ?? job.status?.attempts?.at(-1)?.prediction?.stepMs;
  if (!isPositive(stepMs)) return undefined;
  return {
    stepMs,
    lowMs: Math.min(stepMs, predictedStepLowMs ?? stepMs * PREDICTED.low),
    highMs: Math.max(stepMs, predictedStepHighMs ?? stepMs * PREDICTED.high),
    restsOn: 'Predicted',
  };
}

/** When the limit of its running time ends the job, in milliseconds; undefined: it has none. A job that waits counts as one that starts now. */
function endByLimit(
  { spec, status = {} }: Pick<TrainingJob, 'spec'> & { readonly status?: HeldTimes },
  now: Date,
): number | undefined {
  if (spec.maxRuntimeSeconds === undefined) return undefined;
  const leftMs = spec.maxRuntimeSeconds * 1_000 - heldByRunMs(status, now);
  return now.getTime() + leftMs + ENDING_MS;
}

function withBound(end: EndMs, limitMs: number | undefined): EndMs {
  if (limitMs === undefined || end.latestMs <= limitMs) return end;
  return {
    atMs: Math.min(end.atMs, limitMs),
    earliestMs: Math.min(end.earliestMs, limitMs),
    latestMs: limitMs,
    restsOn: end.atMs > limitMs ? 'MaxRuntime' : end.restsOn,
  };
}

function boundAlone(limitMs: number, now: Date): EndMs {
  return { atMs: limitMs, earliestMs: now.getTime(), latestMs: limitMs, restsOn: 'MaxRuntime' };
}

function assumed({ startedMs }: Run, now: Date): PredictedEnd {
  const ranMs = Math.max(0, now.getTime() - startedMs);
  return {
    at: new Date(now.getTime() + Math.max(LEAST_ASSUMED_MS, ranMs)),
    earliest: now,
    restsOn: 'Assumed',
  };
}

function toEnd({ atMs, earliestMs, latestMs, restsOn }: EndMs, now: Date): PredictedEnd {
  const notBefore = (ms: number): Date => new Date(Math.min(MAX_TIME_MS, Math.max(now.getTime(), ms)));
  return { at: notBefore(atMs), earliest: notBefore(earliestMs), latest: notBefore(latestMs), restsOn };
}

/**
 * The last time that a field of a resource can hold. A job may ask for any number of steps, and its end becomes the expected start of the first in
 * line: the API server rejects a status with a year of five digits.
 */
const MAX_TIME_MS = Date.parse('9999-12-31T23:59:59Z');

function parsed(at: string | undefined): number | undefined {
  const ms = Date.parse(at ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

function isPositive(ms: number | undefined): ms is number {
  return ms !== undefined && Number.isFinite(ms) && ms > 0;
}
