/** Which events tell a user that a job needs an action? */
import {
  type Attempt,
  type Condition,
  findCondition,
  PERSON_REASONS,
  type TrainingJob,
  type TrainingJobSpec,
} from '@coxswain/api-types';
import { type JobRecord, recordedConditions } from '../record/job-record.ts';
import type { DerivedJobEvent } from './derived-job-event.ts';

/** Why the ranks of the current attempt do not start, once per attempt and reason. */
export function awaitedStart(record: JobRecord, conditions: readonly Condition[]): readonly DerivedJobEvent[] {
  const running = findCondition(conditions, 'Running');
  const reasons: readonly string[] = PERSON_REASONS.Running ?? [];
  if (running?.status !== 'False' || !reasons.includes(running.reason)) return [];
  const { lastTransitionTime: at, message, reason } = running;
  const { epoch } = record;
  return [{ type: 'Waiting', severity: 'warning', epoch, at, message, key: `e${epoch}/Waiting/${reason}` }];
}

/** What a condition says that stays false until a person acts, beside a job that goes on. */
export function standingProblems(record: JobRecord, job: TrainingJob): readonly DerivedJobEvent[] {
  const conditions = recordedConditions(job);
  const epoch = record.epoch === 0 ? null : record.epoch;
  const about = [
    [findCondition(conditions, 'CheckpointsRecorded'), 'CheckpointRefused'],
    [findCondition(conditions, 'TrainedAsAsked'), 'LayoutDiffers'],
    [findCondition(conditions, 'LoadsOnFewerGpus'), 'ShrinkBlocked'],
  ] as const;
  const standing = about.flatMap(([condition, type]): readonly DerivedJobEvent[] => {
    if (condition?.status !== 'False') return [];
    const { lastTransitionTime: at, message } = condition;
    return [{ type, severity: 'warning', epoch, at, message, key: `${type}/${at}` }];
  });
  return [...standing, ...nearMaxRuntime(record, conditions)];
}

/** The announcement that a run nears the limit of its time, once for each. */
function nearMaxRuntime({ epoch, runtime }: JobRecord, conditions: readonly Condition[]): readonly DerivedJobEvent[] {
  const near = findCondition(conditions, 'MaxRuntimeNear');
  const at = runtime?.announcedAt;
  if (near === undefined || at === undefined) return [];
  const { message } = near;
  return [{ type: 'MaxRuntimeNear', severity: 'warning', epoch, at, message, key: `MaxRuntimeNear/${at}` }];
}

/** Said once, with the charged failure after which no restart is left. */
export function nearlySpent(record: JobRecord, spec: TrainingJobSpec | undefined): readonly DerivedJobEvent[] {
  const maxRestarts = spec?.restartPolicy.maxRestarts ?? 0;
  const isLast = maxRestarts > 0 && record.restarts.charged >= maxRestarts && record.terminal === undefined;
  const last = isLast ? record.attempts.flatMap(chargedEnds).at(-1) : undefined;
  if (last === undefined) return [];
  const message = `All ${maxRestarts} restarts of restartPolicy.maxRestarts are used. The next charged failure ends the job.`;
  return [{ type: 'RestartsNearlySpent', severity: 'warning', ...last, message, key: 'RestartsNearlySpent' }];
}

function chargedEnds({
  epoch,
  incarnations = [],
  charged,
  stoppingAt,
}: Attempt): readonly { readonly epoch: number; readonly at: string }[] {
  const inPods = incarnations.filter((ended) => ended.charged).map(({ endedAt }) => ({ epoch, at: endedAt }));
  return charged === true && stoppingAt !== undefined ? [...inPods, { epoch, at: stoppingAt }] : inPods;
}
