/** Where does the conversion of a checkpoint stand, as the Checkpoint that it makes shows? */
import type { Checkpoint } from '@coxswain/api-types';
import { adoptionProblem, conversionFolder, isFoundBroken } from '@coxswain/checkpoint';
import { isCheckpointReason } from '../failure/checkpoint-standing.ts';
import type { JobRecord } from '../record/job-record.ts';

/** After that, a conversion that failed is tried again if it is still needed: storage has room again, or a quota was raised. */
export const AGAIN_MS = 3_600_000;
/** Attempts that could not load a converted save before it is used no longer. */
const MOST_TRIES = 2;

/** The state of a conversion. */
export type ConversionState =
  /** Nothing has begun, or it may begin again. */
  | { readonly kind: 'possible' }
  /** `problem`: why it cannot go on now. */
  | { readonly kind: 'running'; readonly problem?: string }
  | { readonly kind: 'usable'; readonly checkpoint: Checkpoint }
  /** `why` completes "its conversion ...". */
  | { readonly kind: 'failed'; readonly why: string };

/** Whether a Checkpoint of that name is the converted save of `source`. Anyone can make one of that name. */
export function isConvertedFrom(converted: Checkpoint, source: Checkpoint): boolean {
  const { convertedFrom, path } = converted.spec;
  const isBeside = placeOf(converted) === placeOf(source) && path.startsWith(`${conversionFolder(source.spec.path)}/`);
  return isBeside && convertedFrom?.uid === source.metadata.uid;
}

/** Claim, or bucket and its server. */
function placeOf({ spec: { claimName, bucket } }: Checkpoint): string {
  return bucket === undefined ? `claim ${claimName}` : `bucket ${bucket.uri} ${bucket.endpoint ?? ''}`;
}

/** The state of the conversion of `source`. `converted`: the Checkpoint of that name; undefined: there is none. */
export function conversionState(
  source: Checkpoint,
  converted: Checkpoint | undefined,
  { record, now }: { readonly record: JobRecord; readonly now: Date },
): ConversionState {
  if (converted === undefined) return { kind: 'possible' };
  const { name } = converted.metadata;
  if (!isConvertedFrom(converted, source)) return { kind: 'failed', why: `needs the name ${name}, which is taken` };
  const { conversion, deletion } = converted.status ?? {};
  if (conversion?.droppedAt !== undefined || deletion !== undefined) return { kind: 'running' };
  if (conversion?.failedAt !== undefined) {
    const isOld = now.getTime() - Date.parse(conversion.failedAt) >= AGAIN_MS;
    return isOld
      ? { kind: 'possible' }
      : { kind: 'failed', why: `failed: ${conversion.problem ?? 'no reason is known'}` };
  }
  if (conversion?.convertedAt === undefined) {
    const { problem } = conversion ?? {};
    return { kind: 'running', ...(problem === undefined ? {} : { problem }) };
  }
  return verifiedState(converted, record);
}

/** A converted save is used only once a pod has read it. */
function verifiedState(converted: Checkpoint, record: JobRecord): ConversionState {
  const { verification, message } = converted.status ?? {};
  if (verification === undefined)
    return { kind: 'running', ...(message === undefined ? {} : { problem: unstopped(message) }) };
  const problem = adoptionProblem(converted);
  if (problem !== undefined || isFoundBroken(converted))
    return { kind: 'failed', why: `made a save that ${problem ?? 'is not whole'}` };
  const tries = record.attempts.filter(
    ({ reason, resumedFrom }) => isCheckpointReason(reason) && resumedFrom?.checkpoint === converted.metadata.name,
  );
  if (tries.length >= MOST_TRIES)
    return { kind: 'failed', why: `made a save that could not be loaded in ${tries.length} attempts` };
  return { kind: 'usable', checkpoint: converted };
}

function unstopped(sentence: string): string {
  return sentence.replace(/\.$/, '');
}
