/** Which saves were found broken, or did not load at the layout, and were passed over by a restore? Each is an incident of the run that resumed from the one before. */
import { type Attempt, type Checkpoint, type Incident, MAX_PASSED_OVER } from '@coxswain/api-types';
import { describeLoadRefusal, isFoundBroken, recordedSave } from '@coxswain/checkpoint';
import { worldSize } from '@coxswain/layout';
import { safeText } from '@coxswain/safe-text';
import { describeCondemnation, type Standings, standingOf, standingsOf } from '../failure/checkpoint-standing.ts';
import { describeVerification } from '../failure/resume-point.ts';
import type { Facts } from '../observation/facts.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';
import { evidenceOf, withIncident } from './incident-record.ts';

/** Records them before the first step of the run: afterwards nothing newer than its checkpoint was passed over by it. */
export function recordPassedSaves(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const attempt = liveAttempt(record);
  const from = attempt?.resumedFrom;
  if (attempt === undefined || from === undefined || attempt.firstStep !== undefined) return record;
  // A user who chose an older checkpoint passed over nothing because it was broken.
  if (record.resumeFrom?.epoch === attempt.epoch) return record;
  const standings = standingsOf(record);
  const since = record.resumeFrom?.epoch ?? 0;
  return facts.checkpoints
    .filter(({ spec }) => spec.step > from.step && spec.epoch >= since && isBefore(spec, attempt))
    .toSorted((one, other) => other.spec.step - one.spec.step)
    .slice(0, MAX_PASSED_OVER)
    .reduce((current, checkpoint) => {
      const why = whyBroken(checkpoint, standings) ?? describeLoadRefusal(recordedSave(checkpoint), attempt.layout);
      const incident = why === undefined ? undefined : incidentOf(checkpoint, { why, attempt, from, now });
      const isKnown = current.incidents.some(({ id }) => id === incident?.id);
      return incident === undefined || isKnown ? current : withIncident(current, incident);
    }, record);
}

function isBefore({ epoch, incarnation = 1 }: Checkpoint['spec'], attempt: Attempt): boolean {
  return epoch < attempt.epoch || (epoch === attempt.epoch && incarnation < (attempt.incarnation ?? 1));
}

/** Completes "Checkpoint x ..."; undefined: nothing shows that it is broken. */
function whyBroken(checkpoint: Checkpoint, standings: Standings): string | undefined {
  if (isFoundBroken(checkpoint)) return describeVerification(checkpoint.status?.verification);
  const standing = standingOf(checkpoint, standings);
  if (standing.kind !== 'damaged') return undefined;
  const { condemnation } = standing;
  const message = condemnation === undefined ? checkpoint.status?.message : describeCondemnation(condemnation);
  return `is damaged: ${message ?? 'no reason is recorded'}`;
}

/** In the ID of these incidents. */
const PASSED_OVER = 'savePassedOver';

/** Whether the incident is a save that was passed over. */
export function isPassedSave({ id }: Pick<Incident, 'id'>): boolean {
  return id.includes(`-${PASSED_OVER}-`);
}

function incidentOf(
  { metadata, spec, status }: Checkpoint,
  about: {
    readonly why: string;
    readonly attempt: Attempt;
    readonly from: NonNullable<Attempt['resumedFrom']>;
    readonly now: Date;
  },
): Incident {
  const { why, attempt, from, now } = about;
  const { epoch, incarnation = 1, layout } = attempt;
  const steps = spec.step - from.step;
  const message = `Checkpoint ${metadata.name} (step ${spec.step}) ${why.replace(/\.$/, '')}. Training resumes from checkpoint ${from.checkpoint} (step ${from.step}) instead, and repeats ${steps} more step${steps === 1 ? '' : 's'}.`;
  const { level, verdict, node } = status?.verification ?? {};
  return {
    id: `${epoch}.${incarnation}-${PASSED_OVER}-e${spec.epoch}i${spec.incarnation ?? 1}s${spec.step}`,
    // Not a kind of its own: the release before rejects a status with a kind that it does not know, and that would stop the job after a rollback.
    kind: 'CheckpointTrouble',
    epoch,
    incarnation,
    noticedAt: now.toISOString(),
    message: safeText(message, 1_000),
    ...(node === undefined ? {} : { node }),
    evidence: [
      ...evidenceOf({
        checkpoint: metadata.name,
        usedInstead: from.checkpoint,
        usedStep: from.step,
        verdict,
        level,
      }),
    ],
    gpus: worldSize(layout),
    step: spec.step,
    action: 'None',
  };
}
