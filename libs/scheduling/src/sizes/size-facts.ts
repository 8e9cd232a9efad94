/** What a job's status says about a change of its size. Read from status alone, so that a new leader decides the same. */
import { type Attempt, type TrainingJob } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { predictedEnd } from '../times/predicted-end.ts';
import { stallSeconds, startDelayMs, stepMsOnSize } from '../times/step-time.ts';
import { type GrowthQuestion, SIZE_RULES } from './size-rules.ts';

type Recorded = Pick<TrainingJob, 'status'>;

/** What another division of a checkpoint adds to a start, if no start on another size was measured. */
const USUAL_RESHARD_SECONDS = 60;
const DAY_MS = 86_400_000;

/** Seconds without training for one change of size: the save, and a start on another size. Work since the last save is not in it. */
export function changeCostSeconds(job: Recorded): number {
  const measured = resizedStarts(job.status?.attempts ?? []);
  const startSeconds = median(measured) ?? startDelayMs(job) / 1_000 + USUAL_RESHARD_SECONDS;
  return stallSeconds(job) + startSeconds;
}

/** From the placement to the first step, in seconds, of attempts on another size than the attempt before. */
function resizedStarts(attempts: readonly Attempt[]): readonly number[] {
  return attempts.flatMap(({ layout, startedAt, firstStep, incarnation = 1 }, index) => {
    const before = attempts[index - 1];
    const seconds = (Date.parse(firstStep?.at ?? '') - Date.parse(startedAt)) / 1_000;
    const isResized = before !== undefined && worldSize(before.layout) !== worldSize(layout);
    return isResized && incarnation === 1 && seconds >= 0 ? seconds : [];
  });
}

/**
 * Step time on `fromGpus` over the step time on `toGpus`: as measured on both sizes, else as the planner predicted for both, else as if each GPU did its share.
 */
export function speedupBetween(job: Recorded, fromGpus: number, toGpus: number): number {
  const measured = ratio(stepMsOnSize(job, fromGpus), stepMsOnSize(job, toGpus));
  return measured ?? ratio(predictedMs(job, fromGpus), predictedMs(job, toGpus)) ?? toGpus / fromGpus;
}

function predictedMs({ status }: Recorded, gpus: number): number | undefined {
  const { plan } = status ?? {};
  return plan?.sizes?.find((size) => size.gpus === gpus)?.predictedStepMs;
}

function ratio(one: number | undefined, other: number | undefined): number | undefined {
  return one !== undefined && other !== undefined && one > 0 && other > 0 ? one / other : undefined;
}

/**
 * How long the gang would keep a larger size, in seconds: until the predicted end of the job, until the announced loss of a node, or until the next end that the
 * job does not choose, at the rate of those in its status.
 */
export function horizonSeconds(job: TrainingJob, now: Date, announcedAtMs = Infinity): number {
  const leftMs = predictedEnd(job, now).at.getTime() - now.getTime();
  const attempts = job.status?.attempts ?? [];
  const forced = attempts.filter(isForcedEnd).length;
  const betweenMs = forced === 0 ? Infinity : attempts.reduce((sum, attempt) => sum + ranMs(attempt, now), 0) / forced;
  return Math.max(0, Math.min(leftMs, betweenMs, announcedAtMs - now.getTime())) / 1_000;
}

/** A lost node, a move, or quota that Kueue took back. */
function isForcedEnd({ stage, outcome, reason }: Attempt): boolean {
  return stage === 'Ended' && (outcome === 'Moved' || reason === 'NodeLost');
}

function ranMs({ startedAt, endedAt }: Attempt, now: Date): number {
  const ms = (endedAt === undefined ? now.getTime() : Date.parse(endedAt)) - Date.parse(startedAt);
  return ms > 0 ? ms : 0;
}

/** Since Kueue evicted a gang within an hour of a growth, in seconds; undefined: it did not. */
export function reclaimedSecondsAgo({ status }: Recorded, now: Date): number | undefined {
  const attempts = status?.attempts ?? [];
  const reclaimed = attempts.findLast(({ reason, startedAt, stoppingAt }, index) => {
    const heldSeconds = (Date.parse(stoppingAt ?? '') - Date.parse(startedAt)) / 1_000;
    const hasGrown = attempts[index - 1]?.outcome === 'Resized';
    return reason === 'QuotaEvicted' && hasGrown && heldSeconds < SIZE_RULES.reclaimedWithinSeconds;
  });
  const ms = now.getTime() - Date.parse(reclaimed?.stoppingAt ?? '');
  return ms >= 0 && ms < DAY_MS ? ms / 1_000 : undefined;
}

/** The question for a running gang that could grow to `toGpus`. */
export function growthQuestion(
  job: TrainingJob,
  about: {
    readonly attempt: Attempt;
    readonly toGpus: number;
    readonly now: Date;
    readonly borrows: boolean;
    /** When the next node of the gang is announced to leave, in milliseconds since 1970. Absent: none is. */
    readonly announcedAtMs?: number;
  },
): GrowthQuestion {
  const { attempt, toGpus, now, borrows, announcedAtMs } = about;
  const fromGpus = worldSize(attempt.layout);
  const ago = reclaimedSecondsAgo(job, now);
  return {
    fromGpus,
    toGpus,
    speedup: speedupBetween(job, fromGpus, toGpus),
    costSeconds: changeCostSeconds(job),
    horizonSeconds: horizonSeconds(job, now, announcedAtMs),
    ranSeconds: ranMs(attempt, now) / 1_000,
    borrows,
    ...(ago === undefined ? {} : { reclaimedSecondsAgo: ago }),
  };
}

/** Median of the times after which the job had as many GPUs again as before it lost a node, in seconds; undefined: it never had. */
export function medianReturnSeconds({ status }: Recorded): number | undefined {
  const attempts = status?.attempts ?? [];
  return median(
    attempts.flatMap(({ reason, endedAt, layout }, index) => {
      if (reason !== 'NodeLost' || endedAt === undefined) return [];
      const back = attempts.slice(index + 1).find((one) => worldSize(one.layout) >= worldSize(layout));
      const seconds = (Date.parse(back?.startedAt ?? '') - Date.parse(endedAt)) / 1_000;
      return seconds >= 0 ? seconds : [];
    }),
  );
}

function median(values: readonly number[]): number | undefined {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];
}
