import type { TrainingJob } from '@coxswain/api-types';
import { fairOrder } from '../order/fair-order.ts';
import { waitingSince } from '../order/waiting-jobs.ts';
import type { RestsOn } from './forecast-input.ts';

export type Servings = ReadonlyMap<string, number>;

export function inOrder(waiting: readonly TrainingJob[], servings: Servings): readonly TrainingJob[] {
  const queued = waiting.map((job) => ({ job, namespace: job.metadata.namespace ?? '', since: waitingSince(job) }));
  return fairOrder(queued, (namespace) => servings.get(namespace) ?? 0).map(({ job }) => job);
}

export function servingsOf(_jobs: Iterable<TrainingJob>): Servings {
  return new Map();
}

export interface PredictedEnd {
  readonly at: Date;
  readonly earliest: Date;
  readonly latest?: Date;
  readonly restsOn: RestsOn;
}

export function predictedEnd(_job: TrainingJob, now: Date): PredictedEnd {
  return { at: new Date(now.getTime() + 3_600_000), earliest: now, restsOn: 'Assumed' };
}
