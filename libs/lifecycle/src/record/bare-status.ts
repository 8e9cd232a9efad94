import type { Attempt, Incident, TrainingJobStatus } from '@coxswain/api-types';
import { sameStatus } from './same-status.ts';

const REFUSED =
  'The API server refused this status with its texts; the events of the job and the log of the operator say why.';

/**
 * The status without texts and other fields that are only for reading, which the API server may refuse. Every field that a decision needs
 * stays.
 */
export function bareStatus(status: TrainingJobStatus): TrainingJobStatus {
  const { plan, attempts, incidents, conditions, ...rest } = status;
  return {
    ...rest,
    summary: REFUSED,
    ...(plan === undefined
      ? {}
      : { plan: { ...plan, runnersUp: undefined, errorStatement: undefined, whyStages: undefined } }),
    ...(attempts === undefined ? {} : { attempts: attempts.map(bareAttempt) }),
    ...(incidents === undefined ? {} : { incidents: incidents.map(bareIncident) }),
    ...(conditions === undefined ? {} : { conditions: conditions.map((one) => ({ ...one, message: '' })) }),
  };
}

function bareAttempt(attempt: Attempt): Attempt {
  const { incarnations } = attempt;
  const bare = incarnations?.map((one) => ({ ...one, message: undefined }));
  return { ...attempt, message: undefined, ...(bare === undefined ? {} : { incarnations: bare }) };
}

/** Detection and action of the incident stay; users find its evidence elsewhere. */
function bareIncident(incident: Incident): Incident {
  return { ...incident, message: '', evidence: undefined, operations: undefined };
}

/** Whether the API server's status equals the decided one, with its texts or, if these were refused, without. */
export function isRecordedAs(held: TrainingJobStatus | undefined, decided: TrainingJobStatus): boolean {
  return sameStatus(held, decided) || (held?.summary === REFUSED && sameStatus(held, bareStatus(decided)));
}
