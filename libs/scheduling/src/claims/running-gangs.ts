/** The gangs that run, with what their status says of their price. */
import { type Attempt, gpuCount, type Placement, type PlacementSpec, type TrainingJob } from '@coxswain/api-types';
import type { GangRequest } from '../gang-request.ts';
import { priorityOf } from '../order/priority.ts';
import { gpusOfPlacement, nameOf } from '../promises/holders.ts';
import { isRecordedPlacement } from '../reservations/recorded-placement.ts';
import { runningAttempt } from '../times/predicted-end.ts';
import { measuredStepMs, stallSeconds, startDelayMs } from '../times/step-time.ts';
import type { RunningGang, SmallerSize } from './claim.ts';

/** What others know of a job. */
export interface GangFacts {
  /** Whether the ranks of the job save on request and train on. */
  readonly savesWhenAsked: (job: TrainingJob) => boolean;
  /** Smaller sizes that the job accepts and whose layouts are known, the largest first. Absent: no job is elastic. */
  readonly smallerSizes?: (job: TrainingJob) => readonly SmallerSize[];
  /** What the job asked for when it was placed; undefined: not known, so that it asks for its layout and pods as they are. */
  readonly requestOf?: (job: TrainingJob) => GangRequest | undefined;
}

const DAY_MS = 86_400_000;

/** Every gang of an attempt that has not ended. */
export function runningGangs(
  jobs: Iterable<TrainingJob>,
  placements: readonly Placement[],
  about: GangFacts & { readonly now: Date },
): readonly RunningGang[] {
  const byJob = Map.groupBy(placements, ({ spec }) => spec.jobUid);
  return [...jobs].flatMap((job) => {
    const attempt = runningAttempt(job);
    const placement = byJob
      .get(job.metadata.uid)
      ?.find((one) => attempt !== undefined && isRecordedPlacement(one, attempt));
    return attempt === undefined || placement === undefined
      ? []
      : [gangOf(job, { attempt, placement: placement.spec, about })];
  });
}

function gangOf(
  job: TrainingJob,
  {
    attempt,
    placement,
    about,
  }: {
    readonly attempt: Attempt;
    readonly placement: PlacementSpec;
    readonly about: GangFacts & { readonly now: Date };
  },
): RunningGang {
  const { spec } = job;
  return {
    job: nameOf(job),
    epoch: attempt.epoch,
    priority: priorityOf(job),
    gpus: gpusOfPlacement(placement),
    startedAt: new Date(attempt.startedAt),
    isStopping: attempt.stage === 'Stopping' || isAskedToStop(job),
    graceSeconds: spec.terminationGracePeriodSeconds,
    savesWhenAsked: spec.checkpoint !== undefined && attempt.firstStep !== undefined && about.savesWhenAsked(job),
    unsavedSeconds: unsavedSeconds(job, attempt, about.now),
    stallSeconds: stallSeconds(job),
    restartSeconds: startDelayMs(job) / 1_000,
    madeRoomFor: madeRoomInADay(job, about.now),
    ...lastMadeRoomFor(job),
    ...nextSave(job, { attempt, placement, now: about.now }),
    request: about.requestOf?.(job) ?? requestAsPlaced(attempt, placement),
    smaller: about.smallerSizes?.(job) ?? [],
  };
}

function requestAsPlaced({ layout }: Attempt, { ranksPerPod }: PlacementSpec): GangRequest {
  return { layout, ...(ranksPerPod === undefined ? {} : { gpusPerNode: ranksPerPod }) };
}

function isAskedToStop({ metadata, spec }: TrainingJob): boolean {
  return metadata.deletionTimestamp !== undefined || spec.suspend || spec.cancel;
}

/** Steps since the newest checkpoint, at the measured pace. Where neither is known, the time since the start of the attempt. */
function unsavedSeconds(job: TrainingJob, attempt: Attempt, now: Date): number {
  const { spec, status } = job;
  const ranSeconds = Math.max(0, (now.getTime() - Date.parse(attempt.startedAt)) / 1_000);
  const { progress, checkpoint } = status ?? {};
  const stepMs = measuredStepMs(job, gpuCount(attempt.layout, spec.gpus));
  if (progress === undefined || stepMs === undefined || attempt.firstStep === undefined) return ranSeconds;
  const resumedStep = attempt.resumedFrom?.step ?? 0;
  const savedStep = spec.checkpoint === undefined ? resumedStep : Math.max(checkpoint?.step ?? 0, resumedStep);
  const sinceReport = Math.max(0, (now.getTime() - Date.parse(progress.reportedAt)) / 1_000);
  return Math.min(ranSeconds, (Math.max(0, progress.step - savedStep) * stepMs) / 1_000 + sinceReport);
}

/** At the measured pace; not known before the first step is reported. */
function nextSave(
  job: TrainingJob,
  about: { readonly attempt: Attempt; readonly placement: PlacementSpec; readonly now: Date },
): Pick<RunningGang, 'nextSave'> {
  const { attempt, placement, now } = about;
  const { spec, status } = job;
  const everySteps = placement.saveEverySteps ?? spec.checkpoint?.everySteps;
  const stepMs = measuredStepMs(job, gpuCount(attempt.layout, spec.gpus));
  const { progress, checkpoint } = status ?? {};
  if (everySteps === undefined || stepMs === undefined || progress === undefined || attempt.firstStep === undefined)
    return {};
  const sinceReport = Math.max(0, now.getTime() - Date.parse(progress.reportedAt));
  const leftMs = (everySteps - (progress.step % everySteps)) * stepMs - sinceReport;
  const seconds = Math.ceil(Math.max(0, leftMs) / 1_000 + stallSeconds(job));
  return { nextSave: { seconds, afterStep: checkpoint?.step ?? attempt.resumedFrom?.step ?? 0 } };
}

function lastMadeRoomFor({ status }: TrainingJob): Pick<RunningGang, 'lastMadeRoomFor'> {
  const uid = status?.attempts?.findLast(({ forClaim }) => forClaim !== undefined)?.forClaim?.uid;
  return uid === undefined ? {} : { lastMadeRoomFor: uid };
}

/** Priorities of the jobs for which the job made room. */
function madeRoomInADay(job: TrainingJob, now: Date): readonly number[] {
  return (job.status?.attempts ?? []).flatMap((attempt) => {
    const made = attempt.forClaim;
    const stoppedMs = Date.parse(attempt.stoppingAt ?? attempt.endedAt ?? '');
    if (made === undefined || !(now.getTime() - stoppedMs < DAY_MS)) return [];
    return [made.priority];
  });
}
