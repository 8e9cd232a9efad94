import { LABELS } from '@coxswain/api-types';
import type { Situation } from './situation.ts';

/** Names to list; the rest is counted. */
const MAX_NAMES = 3;

/**
 * A sentence about Placements that name this job although its status records no such placement; undefined: there are none. Placements of
 * attempts that the status no longer holds are left over and removed silently, as are those of claims that have ended.
 */
export function describeUnrecordedPlacements({ facts, record }: Situation): string | undefined {
  const { uid } = facts.job.metadata;
  const oldest = Math.min(record.attempts[0]?.epoch ?? 0, record.epoch);
  const names = facts.unrecordedPlacements
    .filter(
      ({ spec, metadata }) =>
        spec?.jobUid === uid &&
        spec.epoch >= oldest &&
        metadata.labels?.[LABELS.claim] === undefined &&
        metadata.deletionTimestamp === undefined,
    )
    .map(({ metadata }) => metadata.name)
    .toSorted();
  if (names.length === 0) return undefined;
  const shown = names.slice(0, MAX_NAMES).join(', ');
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  return names.length === 1
    ? `Placement ${shown} names this job, and the job's status does not record it, so it has no effect. Delete it unless you created it, and check who may create Placements here.`
    : `Placements ${shown}${more} name this job, and the job's status does not record them, so they have no effect. Delete them unless you created them, and check who may create Placements here.`;
}
