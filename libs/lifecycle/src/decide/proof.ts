import type { JobName } from '@coxswain/scheduling';
import type { Attempt } from '@coxswain/api-types';
import type { Action } from './decision.ts';
import { type Facts, isLive } from '../observation/facts.ts';
import { allPodsOf, missingPodNames } from '../observation/gang.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';
import { verdictsOn } from '../failure/verdicts.ts';
import { endedStandbys } from './release-pods.ts';
import type { Situation } from './situation.ts';
import { nodesToGrowOnto } from '../epoch/growth.ts';
import { unreadVictims } from '../epoch/make-claim.ts';
import { jobToMakeRoomFor } from '../epoch/make-room.ts';
import { missingClaimName } from '../epoch/record-claim.ts';
import { missingPlacementName } from '../epoch/unwritten-placement.ts';

/**
 * What may only be done on a state that was read from the API server a moment ago. A cache may be minutes old, and one kind of object older
 * than another: for example, a job in attempt 1 beside healthy pods of attempt 2. Creating from such a view is harmless, because a name can be
 * taken only once. Deleting, failing and charging are not harmless.
 */

/** Whether the decision needs proof that a cache cannot give. `isRecorded`: no change of status has to be written first. */
export function needsProof(
  situation: Situation,
  decided: { readonly before: JobRecord; readonly actions: readonly Action[]; readonly isRecorded: boolean },
): boolean {
  const { before, actions, isRecorded } = decided;
  const { record, facts } = situation;
  if (hasLostStatus(facts) || isHarmful(before, record) || beginsAfterUnrecordedEnd(before, record)) return true;
  if (missingPlacementName(record, facts) !== undefined || missingClaimName(record, facts) !== undefined) return true;
  if (recordsClaim(before, record)) return true;
  if (!isRecorded) return false;
  const kinds = actions.map(({ kind }) => kind);
  const isOldStatusHarmful =
    kinds.some((kind) => CONTINUES_GANG.includes(kind)) || endedStandbys(record, facts).length > 0;
  const goesOn = !facts.isStatusProven && isOldStatusHarmful;
  return goesOn || kinds.some((kind) => HARMFUL.includes(kind)) || areExpectedPodsMissing(situation);
}

/** Outcomes that evidence leads to, and no request: a failure, leaving nodes, and nodes that have become free. */
const ENDED_ON_EVIDENCE: readonly Attempt['outcome'][] = ['Failed', 'Moved', 'Resized'];

/** Whether the record changes irreversibly: an attempt or one of its incarnations fails, or ends. */
function isHarmful(before: JobRecord, { attempts }: JobRecord): boolean {
  const now = attempts.at(-1);
  const then = before.attempts.find(({ epoch }) => epoch === now?.epoch);
  const isEnded = ENDED_ON_EVIDENCE.includes(now?.outcome) && then?.outcome === undefined;
  return isEnded || beginsIncarnation(before, { attempts }) || (then?.stage === 'Stopping' && now?.stage === 'Ended');
}

/**
 * Whether an attempt begins although the previous one has no recorded end, because status was lost. Only a live list shows that the earlier
 * pods are gone.
 */
function beginsAfterUnrecordedEnd(before: JobRecord, { attempts }: JobRecord): boolean {
  const begins = (attempts.at(-1)?.epoch ?? 0) > before.epoch;
  return begins && before.epoch > 0 && before.attempts.at(-1)?.epoch !== before.epoch;
}

/**
 * Whether the job had a status and lost it: a status is written before our finalizer. What the job has run is then known from its pods,
 * checkpoints and Placements only. If a cache lacked some of these, they would count as missing for good.
 */
export function hasLostStatus({ job, hasFinalizer }: Facts): boolean {
  const status: { readonly epoch?: unknown } | undefined = job.status;
  return hasFinalizer && typeof status?.epoch !== 'number';
}

/** Whether the record names running jobs that are to make room. They may have ended, or have another attempt, since the cache saw them. */
function recordsClaim(before: JobRecord, { claim }: JobRecord): boolean {
  return claim?.state === 'Recorded' && claim.recordedAt !== before.claim?.recordedAt;
}

/** The other jobs that the decision rests on and that were not read for it: the victims of a new claim, or the job for which this one makes room. */
export function unreadJobs({ record, facts, claim }: Situation, before: JobRecord): readonly JobName[] {
  const victims = recordsClaim(before, record) ? unreadVictims(claim, facts) : [];
  const other = jobToMakeRoomFor(before, record, facts);
  const isRead = other === undefined || facts.observed.provenJobs?.has(other.uid) === true;
  return [...victims, ...(isRead ? [] : [other])];
}

/** Whether the ranks of the last attempt restart in their pods, which ends the ranks that run now. */
function beginsIncarnation(before: Pick<JobRecord, 'attempts'>, { attempts }: Pick<JobRecord, 'attempts'>): boolean {
  const now = attempts.at(-1);
  const then = before.attempts.find(({ epoch }) => epoch === now?.epoch);
  return then !== undefined && (now?.incarnation ?? 1) > (then.incarnation ?? 1);
}

/** Whether the record says for the first time that steps of the last attempt are lost: a cache may lack the checkpoint that it saved last. */
function claimsLostWork(before: JobRecord, { attempts }: JobRecord): boolean {
  return attempts.at(-1)?.lostWork !== undefined && before.attempts.at(-1)?.lostWork === undefined;
}

const HARMFUL: readonly Action['kind'][] = [
  'deletePods',
  'deletePlacements',
  'removeFinalizer',
  'markCheckpointDamaged',
];

/**
 * Actions that continue a recorded gang. On an old status they would create pods that its attempt has lost since, start them, or recreate a
 * deleted Checkpoint of an ended attempt.
 */
const CONTINUES_GANG: readonly Action['kind'][] = ['createPod', 'createComputeDomain', 'liftGates', 'createCheckpoint'];

/**
 * Whether expected pods are not observed. While pods of a stopping gang are still observed, no read is needed yet; before the release, a
 * missing pod is simply created.
 */
function areExpectedPodsMissing({ record, facts }: Situation): boolean {
  const attempt = liveAttempt(record);
  if (attempt === undefined || attempt.stage === 'Creating') return false;
  if (attempt.stage === 'Stopping' && allPodsOf(facts, attempt.epoch).some((pod) => isLive(facts, pod))) return false;
  return missingNames(facts, attempt).length > 0;
}

/** Whether what a verdict stands on must be read again before the attempt ends. A proof may have been read before the verdict came. */
export function needsEvidence({ facts }: Situation, before: JobRecord): boolean {
  return facts.observed.isEvidenceProven === false && standsOnVerdict(facts, before);
}

function standsOnVerdict(facts: Facts, before: JobRecord): boolean {
  const attempt = before.attempts.at(-1);
  return attempt !== undefined && attempt.outcome === undefined && verdictsOn(facts, attempt).length > 0;
}

/** Number of missing names to look up one by one; one taken name is enough to know. */
const MAX_NAMES = 8;

/** The live read that confirms or refutes the observation. `before`: the recorded state. */
export function readLive(situation: Situation, before: JobRecord): Action {
  const { record, facts, now } = situation;
  const attempt = liveAttempt(record);
  const podNames = attempt === undefined ? [] : missingNames(facts, attempt).slice(0, MAX_NAMES);
  const doubtful = [...facts.observed.nodeStates].flatMap(([name, state]) => (state === 'ready' ? [] : [name]));
  const nodes = [...new Set([...doubtful, ...nodesToGrowOnto(before, record, { facts, now })])];
  const placement = missingPlacementName(record, facts) ?? missingClaimName(record, facts);
  const jobs = unreadJobs(situation, before).map(({ uid, namespace, name }) => ({ uid, namespace, name }));
  return {
    kind: 'readLive',
    podNames,
    nodes,
    ...(placement === undefined ? {} : { placement }),
    ...(jobs.length === 0 ? {} : { jobs }),
    ...(standsOnVerdict(facts, before) ? { evidence: true } : {}),
    ...(hasLostStatus(facts) ? { allPlacements: true } : {}),
  };
}

/**
 * Whether the job's checkpoints must be read live first, because a cache may lack newer training. That is the case before a gang begins
 * from scratch or further back than status knows, before a user is asked to choose, and before old checkpoints are deleted.
 */
export function needsCheckpoints(
  { record, facts, next }: Situation,
  decided: { readonly before: JobRecord; readonly actions: readonly Action[]; readonly isRecorded: boolean },
): boolean {
  const { before, actions, isRecorded } = decided;
  if (facts.areCheckpointsProven) return false;
  if (isRecorded && actions.some(({ kind }) => kind === 'deleteCheckpoints')) return true;
  if (facts.spec?.checkpoint === undefined) return false;
  if (hasLostStatus(facts)) return true;
  if (beginsIncarnation(before, record) || claimsLostWork(before, record)) return true;
  if (next.kind === 'unresumable') return !isRecorded;
  if (next.kind !== 'placing' || next.answers !== undefined || next.spec.epoch === 1) return false;
  const { resume } = next.spec;
  return resume === undefined || resume.step < (before.checkpoint?.step ?? 0);
}

function missingNames(facts: Facts, attempt: Attempt): readonly string[] {
  return missingPodNames(facts, attempt).filter((name) => !facts.foreignPodNames.has(name));
}
