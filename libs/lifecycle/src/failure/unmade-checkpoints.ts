/** Which saved checkpoints have no object yet, and does anything wait for them? */
import { MAX_UNRECORDED_CHECKPOINTS, type UnrecordedCheckpoint } from '@coxswain/api-types';
import { safeText } from '@coxswain/safe-text';
import type { Facts } from '../observation/facts.ts';
import type { RefusedWrite } from '../observation/observed.ts';
import { checkpointWriteKey } from '../observation/refused-checkpoints.ts';
import type { JobRecord } from '../record/job-record.ts';
import { isMade, type UnmadeCheckpoint, unreportedCheckpoints } from './unreported-checkpoints.ts';

/** Saves that pods of the current attempt report, and refused ones of earlier attempts. */
export function unmadeCheckpoints(record: JobRecord, facts: Facts): readonly UnmadeCheckpoint[] {
  if (facts.deleting) return [];
  const refused = record.unrecordedCheckpoints.filter(({ name }) => !isMade(name, facts));
  return [...refused, ...unreportedCheckpoints(record, facts)];
}

/** The API server's last refusal to create the object, as long as this process remembers it. */
export function refusalOf({ refusedCheckpoints }: Facts, name: string): RefusedWrite | undefined {
  return refusedCheckpoints.get(checkpointWriteKey({ kind: 'createCheckpoint', name }));
}

/** Whether the object is to be created now, for the first time or again. */
export function isToBeMade(facts: Facts, { name }: Pick<UnmadeCheckpoint, 'name'>): boolean {
  return (refusalOf(facts, name)?.retryInMs ?? 0) <= 0;
}

/**
 * Whether the end of an attempt, and the beginning of the next, wait for an object. They wait for one answer of the API server only. A
 * refused object holds up nothing: status keeps it, and it is tried again later.
 */
export function areCheckpointsDue(record: JobRecord, facts: Facts): boolean {
  return unmadeCheckpoints(record, facts).some((checkpoint) => isToBeMade(facts, checkpoint));
}

/** Milliseconds until each refused object is tried again. */
export function checkpointRetriesMs(record: JobRecord, facts: Facts): readonly number[] {
  return unmadeCheckpoints(record, facts).flatMap(({ name }) => refusalOf(facts, name)?.retryInMs ?? []);
}

/** The record with refused objects of the ending attempt, whose pods are not read again. */
export function withRefusedKept(record: JobRecord, facts: Facts): JobRecord {
  const refused = unreportedCheckpoints(record, facts).map(({ name, spec }): UnrecordedCheckpoint => {
    const refusal = safeText(refusalOf(facts, name)?.message ?? '', 1024);
    return { name, spec, refusal };
  });
  if (refused.length === 0) return record;
  const unrecordedCheckpoints = [...record.unrecordedCheckpoints, ...refused].slice(-MAX_UNRECORDED_CHECKPOINTS);
  return { ...record, unrecordedCheckpoints };
}

/** Drops objects that exist now from the record. */
export function forgetMade(record: JobRecord, facts: Facts): JobRecord {
  const unrecordedCheckpoints = record.unrecordedCheckpoints.filter(({ name }) => !isMade(name, facts));
  return unrecordedCheckpoints.length === record.unrecordedCheckpoints.length
    ? record
    : { ...record, unrecordedCheckpoints };
}

/** Describes each refused object, such as `Checkpoint tiny-gpt-3f1c2b9e-e1-s40 of step 40: exceeded quota`. */
export function describeRefused(record: JobRecord, facts: Facts): readonly string[] {
  const kept = new Map(record.unrecordedCheckpoints.map(({ name, refusal }) => [name, refusal]));
  return unmadeCheckpoints(record, facts).flatMap(({ name, spec }) => {
    const words = kept.get(name) ?? refusalOf(facts, name)?.message;
    return words === undefined ? [] : [`Checkpoint ${name} of step ${spec.step}: ${words}`];
  });
}
