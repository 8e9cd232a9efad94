/** How long did ranks stand still for each of the newest saves? */
import { type Attempt, type JobSaveStop, MAX_JOB_SAVE_STOPS, type RunClock } from '@coxswain/api-types';

/** Of all recorded runs, oldest first. */
export function saveStopsOf(attempts: readonly Attempt[]): readonly JobSaveStop[] {
  return attempts
    .flatMap(({ epoch, incarnation = 1, incarnations = [], clock }) => [
      ...incarnations.flatMap((run) => stopsOf(epoch, run.incarnation, run.clock)),
      ...stopsOf(epoch, incarnation, clock),
    ])
    .slice(-MAX_JOB_SAVE_STOPS);
}

/** Of the saves in `after` that `before` lacks; both are the newest attempts of one job. */
export function newSaveStops(before: Attempt | undefined, after: Attempt | undefined): readonly JobSaveStop[] {
  if (after?.clock?.saves === undefined || after.clock.saves === before?.clock?.saves) return [];
  const nameOf = ({ epoch, incarnation, step }: JobSaveStop): string => `${epoch}.${incarnation}.${step}`;
  const known = new Set(saveStopsOf(before === undefined ? [] : [before]).map(nameOf));
  return saveStopsOf([after]).filter((stop) => !known.has(nameOf(stop)));
}

function stopsOf(epoch: number, incarnation: number, clock: RunClock | undefined): readonly JobSaveStop[] {
  return (clock?.saves ?? []).map(({ step, ms }) => ({ epoch, incarnation, step, seconds: ms / 1000 }));
}
