import { type Attempt, FINALIZER, findCondition, type TrainingJob, type TrainingJobStatus } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { decide } from '../decide/decide.ts';
import type { Action, Decision } from '../decide/decision.ts';
import type { Observed, ObservedPod } from '../observation/observed.ts';
import { aPlacement, aPod, observe } from './builders.ts';

/** When the look takes place. */
export const NOW = new Date('2026-01-01T00:20:00Z');
/** When the attempt began. */
export const EARLIER = '2026-01-01T00:10:00Z';

/** A job with its finalizer. */
export function aJob(spec: Parameters<typeof aTrainingJob>[0] = {}): ReturnType<typeof aTrainingJob> {
  return aTrainingJob({ ...spec, metadata: { finalizers: [FINALIZER], ...spec.metadata } });
}

/** An attempt that was released a minute ago. */
export function anAttempt(overrides: Partial<Attempt> = {}): Attempt {
  const { epoch = 1 } = overrides;
  return {
    epoch,
    stage: 'Released',
    placement: `tiny-gpt-3f1c2b9e-e${epoch}`,
    layout: aJob().spec.layout,
    startedAt: EARLIER,
    releasedAt: '2026-01-01T00:19:00Z',
    ...overrides,
  };
}

/** A status with one attempt, whose epoch is the job’s. */
export function aStatus(overrides: Partial<TrainingJobStatus> = {}): TrainingJobStatus {
  const attempts = overrides.attempts ?? [anAttempt()];
  return { epoch: attempts.at(-1)?.epoch ?? 0, restarts: { total: 0, charged: 0 }, ...overrides, attempts };
}

/** A job of attempt 1 with two running pods, unless told otherwise. */
export function aRunningJob(about: {
  readonly status?: Partial<TrainingJobStatus>;
  readonly spec?: Parameters<typeof aTrainingJob>[0];
  readonly pods?: (job: TrainingJob) => readonly ObservedPod[];
  readonly observed?: Partial<Observed>;
}): Observed {
  const job = aJob({ ...about.spec, status: aStatus(about.status) });
  const pods = about.pods?.(job) ?? [aPod(job), aPod(job, { podIndex: 1 })];
  return observe({ job, pods, placements: [aPlacement(job)], ...about.observed });
}

/** The decision once nothing is left to be recorded: what the performer acts on. */
export function settled(observed: Observed, now = NOW): Decision {
  let seen = observed;
  for (let pass = 0; pass < 3; pass++) {
    const { status, reserve } = decide(seen, now);
    seen = { ...seen, job: { ...seen.job, status }, ...(reserve === undefined ? {} : { reserved: reserve }) };
  }
  return decide(seen, now);
}

/** What is done, in order. */
export const kinds = (actions: readonly Action[]): readonly string[] => actions.map((action) => action.kind);

/** `True/SpecValid` */
export function summaryOfCondition(
  status: TrainingJobStatus,
  type:
    'Placed' | 'Running' | 'Accepted' | 'NodesRequested' | 'FabricAsPlaced' | 'TrainedAsAsked' | 'Suspended' | 'Failed',
) {
  const condition = findCondition(status.conditions, type);
  return condition === undefined ? undefined : `${condition.status}/${condition.reason}`;
}
