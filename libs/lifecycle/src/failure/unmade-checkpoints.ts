/** Which checkpoints are saved and have no object as yet, and is anything to wait for them? */
import { MAX_UNRECORDED_CHECKPOINTS, type UnrecordedCheckpoint } from '@coxswain/api-types';
import { safeText } from '@coxswain/safe-text';
import type { Facts } from '../observation/facts.ts';
import type { RefusedWrite } from '../observation/observed.ts';
import { checkpointWriteKey } from '../observation/refused-checkpoints.ts';
import type { JobRecord } from '../record/job-record.ts';
import { isMade, type UnmadeCheckpoint, unreportedCheckpoints } from './unreported-checkpoints.ts';

/** Those that pods of the attempt under way tell of, and those of earlier ones that were refused. */
export function unmadeCheckpoints(record: JobRecord, facts: Facts): readonly UnmadeCheckpoint[] {
  if (facts.deleting) return [];
  const refused = record.unrecordedCheckpoints.filter(({ name }) => !isMade(name, facts));
  return [...refused, ...unreportedCheckpoints(record, facts)];
}

/** What the API server said to the last try, as long as this process remembers it. */
export function refusalOf({ refusedCheckpoints }: Facts, name: string): RefusedWrite | undefined {
  return refusedCheckpoints.get(checkpointWriteKey({ kind: 'createCheckpoint', name }));
}

/** Whether it is to be tried: for the first time, or once more. */
export function isToBeMade(facts: Facts, { name }: Pick<UnmadeCheckpoint, 'name'>): boolean {
  return (refusalOf(facts, name)?.retryInMs ?? 0) <= 0;
}

/**
 * Whether the end of an attempt, and the beginning of the next, are to wait for an object: for one answer of the API server and no longer. What it
 * refuses holds up nothing; it is kept in status and tried again beside all else.
 */
export function areCheckpointsDue(record: JobRecord, facts: Facts): boolean {
  return unmadeCheckpoints(record, facts).some((checkpoint) => isToBeMade(facts, checkpoint));
}

/** How long until each of those that were refused is tried again, in milliseconds. */
export function checkpointRetriesMs(record: JobRecord, facts: Facts): readonly number[] {
  return unmadeCheckpoints(record, facts).flatMap(({ name }) => refusalOf(facts, name)?.retryInMs ?? []);
}

/** The record with what is refused of the attempt under way, which ends: its pods are not asked again. */
export function withRefusedKept(record: JobRecord, facts: Facts): JobRecord {
  const refused = unreportedCheckpoints(record, facts).map(({ name, spec }): UnrecordedCheckpoint => {
    const refusal = safeText(refusalOf(facts, name)?.message ?? '', 1024);
    return { name, spec, refusal };
  });
  if (refused.length === 0) return record;
  const unrecordedCheckpoints = [...record.unrecordedCheckpoints, ...refused].slice(-MAX_UNRECORDED_CHECKPOINTS);
  return { ...record, unrecordedCheckpoints };
}

/** An object that is there at last is kept in status no longer. */
export function forgetMade(record: JobRecord, facts: Facts): JobRecord {
  const unrecordedCheckpoints = record.unrecordedCheckpoints.filter(({ name }) => !isMade(name, facts));
  return unrecordedCheckpoints.length === record.unrecordedCheckpoints.length
    ? record
    : { ...record, unrecordedCheckpoints };
}

/** `Checkpoint tiny-gpt-3f1c2b9e-e1-s40 of step 40: exceeded quota` of each that was refused. */
export function describeRefused(record: JobRecord, facts: Facts): readonly string[] {
  const kept = new Map(record.unrecordedCheckpoints.map(({ name, refusal }) => [name, refusal]));
  return unmadeCheckpoints(record, facts).flatMap(({ name, spec }) => {
    const words = kept.get(name) ?? refusalOf(facts, name)?.message;
    return words === undefined ? [] : [`Checkpoint ${name} of step ${spec.step}: ${words}`];
  });
}
