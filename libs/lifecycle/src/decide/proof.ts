import type { Attempt } from '@coxswain/api-types';
import type { Action } from './decision.ts';
import { type Facts, isLive } from '../observation/facts.ts';
import { missingPodNames, podsOf } from '../observation/gang.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';
import type { Situation } from './situation.ts';
import { nodesToGrowOnto } from '../epoch/growth.ts';
import { missingPlacementName } from '../epoch/unwritten-placement.ts';

/**
 * What may only be done on a state that was read from the API server a moment ago. A cache may be minutes old, and of one kind older than of
 * another: a job seen in epoch 1 beside healthy pods of epoch 2, a pod that is not seen because it was just made. Creating on such a view is
 * harmless, for names are taken once; deleting, failing and charging are not.
 */

/** Whether what was decided stands on more than a cache can tell. `isRecorded`: no change of status is to be written first. */
export function needsProof(
  situation: Situation,
  decided: { readonly before: JobRecord; readonly actions: readonly Action[]; readonly isRecorded: boolean },
): boolean {
  const { before, actions, isRecorded } = decided;
  const { record, facts } = situation;
  if (hasLostStatus(facts) || isHarmful(before, record) || beginsAfterUntoldEnd(before, record)) return true;
  if (missingPlacementName(record, facts) !== undefined) return true;
  if (!isRecorded) return false;
  const kinds = actions.map(({ kind }) => kind);
  const goesOn = !situation.facts.isStatusProven && kinds.some((kind) => GOES_ON.includes(kind));
  return goesOn || kinds.some((kind) => HARMFUL.includes(kind)) || misses(situation);
}

/** What nobody asked for: a failure, nodes that are about to go away, and nodes that have come. */
const ENDED_ON_EVIDENCE: readonly Attempt['outcome'][] = ['Failed', 'Moved', 'Resized'];

/** Whether the record moves on in a way that cannot be taken back: an attempt or one of its incarnations fails, or is said to be over. */
function isHarmful(before: JobRecord, { attempts }: JobRecord): boolean {
  const now = attempts.at(-1);
  const then = before.attempts.find(({ epoch }) => epoch === now?.epoch);
  const isEnded = ENDED_ON_EVIDENCE.includes(now?.outcome) && then?.outcome === undefined;
  return isEnded || beginsIncarnation(before, { attempts }) || (then?.stage === 'Stopping' && now?.stage === 'Ended');
}

/**
 * Whether an epoch is to begin after one of which no end is recorded, because status was lost: only a live list tells that its pods are gone, and
 * not merely unseen.
 */
function beginsAfterUntoldEnd(before: JobRecord, { attempts }: JobRecord): boolean {
  const begins = (attempts.at(-1)?.epoch ?? 0) > before.epoch;
  return begins && before.epoch > 0 && before.attempts.at(-1)?.epoch !== before.epoch;
}

/**
 * Whether there was a status, of which nothing is left: one is written before our finalizer. What the job has run is told by its pods, its
 * checkpoints and its Placements alone, and those that a cache does not show would be taken for none, once and for all.
 */
export function hasLostStatus({ job, hasFinalizer }: Facts): boolean {
  const status: { readonly epoch?: unknown } | undefined = job.status;
  return hasFinalizer && typeof status?.epoch !== 'number';
}

/** Whether the ranks of the last attempt are to be started again in their pods: those that run now are ended for it. */
function beginsIncarnation(before: Pick<JobRecord, 'attempts'>, { attempts }: Pick<JobRecord, 'attempts'>): boolean {
  const now = attempts.at(-1);
  const then = before.attempts.find(({ epoch }) => epoch === now?.epoch);
  return then !== undefined && (now?.incarnation ?? 1) > (then.incarnation ?? 1);
}

const HARMFUL: readonly Action['kind'][] = [
  'deletePods',
  'deletePlacements',
  'removeFinalizer',
  'markCheckpointDamaged',
];

/**
 * What goes on with a gang that is recorded: on an old status it would make pods that its epoch has lost since, or let them start, or bring back a
 * Checkpoint of an attempt that is over, which somebody has deleted since.
 */
const GOES_ON: readonly Action['kind'][] = ['createPod', 'createComputeDomain', 'liftGates', 'createCheckpoint'];

/**
 * Whether pods are not seen that should be there. While pods of a stopping gang are still seen there is no hurry to ask, and before the release a
 * missing pod is simply made.
 */
function misses({ record, facts }: Situation): boolean {
  const attempt = liveAttempt(record);
  if (attempt === undefined || attempt.stage === 'Creating') return false;
  if (attempt.stage === 'Stopping' && podsOf(facts, attempt.epoch).some((pod) => isLive(facts, pod))) return false;
  return missingNames(facts, attempt).length > 0;
}

/** Names that may have been taken by a stranger, to be looked up one by one: one of them is enough to know. */
const MOST_NAMES = 8;

/** The read that proves or disproves what is seen. `before`: as it is recorded. */
export function readLive({ record, facts, now }: Situation, before: JobRecord): Action {
  const attempt = liveAttempt(record);
  const podNames = attempt === undefined ? [] : missingNames(facts, attempt).slice(0, MOST_NAMES);
  const doubtful = [...facts.observed.nodeStates].flatMap(([name, state]) => (state === 'ready' ? [] : [name]));
  const nodes = [...new Set([...doubtful, ...nodesToGrowOnto(before, record, { facts, now })])];
  const placement = missingPlacementName(record, facts);
  return {
    kind: 'readLive',
    podNames,
    nodes,
    ...(placement === undefined ? {} : { placement }),
    ...(hasLostStatus(facts) ? { allPlacements: true } : {}),
  };
}

/**
 * Whether the job's checkpoints are to be read live first: what is about to be lost is training that a cache does not show as yet. A gang that
 * begins anew, or further back than status knows, does so only where nothing later exists; and nobody is asked to choose before that is sure.
 * Nor are old ones deleted on what a cache tells of them, or of the job.
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
  if (beginsIncarnation(before, record)) return true;
  if (next.kind === 'unresumable') return !isRecorded;
  if (next.kind !== 'placing' || next.answers !== undefined || next.spec.epoch === 1) return false;
  const { resume } = next.spec;
  return resume === undefined || resume.step < (before.checkpoint?.step ?? 0);
}

function missingNames(facts: Facts, attempt: Attempt): readonly string[] {
  return missingPodNames(facts, attempt).filter((name) => !facts.foreignPodNames.has(name));
}
