/** The annotation by which users ask that a checkpoint is verified: its text, and whether it is answered. */
import { ANNOTATIONS, type Checkpoint, VERIFICATION_LEVELS, type VerificationLevel } from '@coxswain/api-types';

/** What a user asked for. */
export interface VerificationRequest {
  readonly level: VerificationLevel;
  /** A verification before this time is no answer. Absent: any is. */
  readonly since?: string;
}

const REQUEST = /^(V[0-3])(?: (\d{4}-\d\d-\d\dT[\d:.]+Z))?$/;

/** The value of the annotation. */
export function describeVerificationRequest({ level, since }: VerificationRequest): string {
  return since === undefined ? level : `${level} ${since}`;
}

/** The request that a worker has not answered yet. A hostile or mistyped annotation is none. */
export function pendingVerification(checkpoint: Checkpoint): VerificationRequest | undefined {
  const [, level, since] = REQUEST.exec(checkpoint.metadata.annotations?.[ANNOTATIONS.verify] ?? '') ?? [];
  if (level === undefined) return undefined;
  const request = { level: level as VerificationLevel, ...(since === undefined ? {} : { since }) };
  return isAnswered(checkpoint, request) ? undefined : request;
}

function isAnswered({ status }: Checkpoint, { level, since }: VerificationRequest): boolean {
  const verification = status?.verification;
  return (
    verification?.by === 'Worker' &&
    isAsClose(verification.level, level) &&
    (since === undefined || Date.parse(verification.at) >= Date.parse(since))
  );
}

/** Whether a verification of `level` answers a request for `wanted`. */
export function isAsClose(level: VerificationLevel, wanted: VerificationLevel): boolean {
  return VERIFICATION_LEVELS.indexOf(level) >= VERIFICATION_LEVELS.indexOf(wanted);
}
