import type { Situation } from './situation.ts';

/** Names that are told; of more than these the number. */
const MOST_NAMES = 3;

/**
 * Which Placements say to be of this job although its status records none of their hash, in a sentence. Those of epochs that status tells of no
 * more are left over and are removed without a word.
 */
export function strangersOf({ facts, record }: Situation): string | undefined {
  const { uid } = facts.job.metadata;
  const oldest = Math.min(record.attempts[0]?.epoch ?? 0, record.epoch);
  const names = facts.strangePlacements
    .filter(
      ({ spec, metadata }) => spec?.jobUid === uid && spec.epoch >= oldest && metadata.deletionTimestamp === undefined,
    )
    .map(({ metadata }) => metadata.name)
    .toSorted();
  if (names.length === 0) return undefined;
  const told = names.slice(0, MOST_NAMES).join(', ');
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
  const [subject, verb] = names.length === 1 ? ['Placement', 'says'] : ['Placements', 'say'];
  return `${subject} ${told}${more} ${verb} to be of this job, and its status records no such placement: left alone, and without effect. Delete what you did not make, and see who may create Placements here.`;
}
