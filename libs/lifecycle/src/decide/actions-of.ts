import { type Attempt, LABELS, type Placement, gangName, podName } from '@coxswain/api-types';
import { ARBITER_SETTINGS } from '../arbiter/settings.ts';
import { type HeldVerdict, judgeVerdicts } from '../failure/verdicts.ts';
import { isBroken } from '../failure/broken-gang.ts';
import { standingsOf } from '../failure/checkpoint-standing.ts';
import { markOf } from './mark-checkpoint.ts';
import { isToBeMade, unmadeCheckpoints } from '../failure/unmade-checkpoints.ts';
import type { Action } from './decision.ts';
import { endingByThemselves } from './ending-launchers.ts';
import { podsToTidy } from './kept-pods.ts';
import { leavingStandbys } from '../disruption/leaving-nodes.ts';
import { standingClaim } from '../observation/claims.ts';
import { type Facts, isLive, isTerminal, placementOf } from '../observation/facts.ts';
import { exitKind } from '../failure/pod-exit.ts';
import { allPodsOf, podsOf, replacedPods, uncreatedIndices } from '../observation/gang.ts';
import type { ObservedPod } from '../observation/observed.ts';
import { checkpointWriteKey } from '../observation/refused-checkpoints.ts';
import { isGangWanted, isUnderWay } from '../epoch/planning.ts';
import { referencesNow } from '../epoch/next-epoch.ts';
import { quotaQuestion } from './quota-question.ts';
import { podToAskAbout } from '../observation/silent-pods.ts';
import { areReferencesDue } from '../observation/reference-standing.ts';
import { needsRuntime } from '../epoch/unwritten-placement.ts';
import { oldCheckpoints } from './old-checkpoints.ts';
import { toReference } from './pod-reference.ts';
import { releasePods } from './release-pods.ts';
import type { Situation } from './situation.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';

type ActionStep = (situation: Situation) => readonly Action[];

/** The possible actions, in the order in which they are performed. Every step is idempotent. */
const ACTION_STEPS: readonly ActionStep[] = [
  keepFinalizer,
  readRuntime,
  readReferences,
  askPlanner,
  deleteStrayPods,
  stopGang,
  endWithoutRanks,
  createGang,
  liftGates,
  readPodWarning,
  markDamagedCheckpoints,
  findNodes,
  askQuota,
  probePod,
  createPlacement,
  endLingering,
  tidyUp,
  releasePods,
  releaseFinalizer,
  markSuspectCheckpoints,
  readEvidence,
  collectCheckpoints,
  // Last, so that a refusal by the API server holds up nothing else.
  createCheckpoints,
];

/** Every action that the recorded situation justifies, in order. */
export function actionsOf(situation: Situation): readonly Action[] {
  return ACTION_STEPS.flatMap((step) => step(situation));
}

/** Nothing is created before the finalizer is set, so that a deleted job is always cleaned up. */
function keepFinalizer({ record, facts }: Situation): readonly Action[] {
  const isNeeded = !facts.hasFinalizer && !facts.deleting && record.terminal === undefined;
  return isNeeded ? [{ kind: 'addFinalizer' }] : [];
}

/** The runtime is read while a gang is wanted or its Placement must be created again. A running gang keeps the runtime in its Placement. */
function readRuntime({ record, facts }: Situation): readonly Action[] {
  const { runtime } = facts.observed;
  if (facts.spec?.runtimeRef === undefined) return [];
  if (!isGangWanted(record, facts) && !needsRuntime(record, facts)) return [];
  return runtime?.isFresh === true || runtime?.isBeingRead === true ? [] : [{ kind: 'readRuntime' }];
}

/** What a held end stands on may be gone. */
function readEvidence({ record, facts, now }: Situation): readonly Action[] {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Released') return [];
  const isOld = ({ verdict: { readAt } }: HeldVerdict): boolean =>
    readAt !== undefined && now.getTime() - Date.parse(readAt) >= ARBITER_SETTINGS.readAgainMs;
  return judgeVerdicts(facts, attempt).held.some(isOld) ? [{ kind: 'readEvidence' }] : [];
}

/** What the job names is read while a gang is wanted, so that a missing object is reported before there is room. */
function readReferences({ record, facts, acceptance, next }: Situation): readonly Action[] {
  if (acceptance.kind === 'refused' || !isGangWanted(record, facts)) return [];
  const references = referencesNow(facts);
  const isPlacing = next.kind === 'readingReferences';
  return areReferencesDue(facts, references, { isPlacing }) ? [{ kind: 'readReferences', references }] : [];
}

/** One question at a time: a new question replaces the previous one, and one that is no longer needed is dropped. */
function askPlanner({ facts, planning }: Situation): readonly Action[] {
  const { planning: asked } = facts.observed;
  switch (planning.kind) {
    case 'asking':
      return isUnderWay(asked, planning.question) ? [] : [{ kind: 'planJob', question: planning.question }];
    case 'askingLater':
    case 'unanswered':
      return [];
    case 'notWanted':
    case 'planned':
    case 'nothingToAsk':
      return asked === undefined ? [] : [{ kind: 'forgetPlanning' }];
  }
}

/** Grace period of a failed gang and of stray pods, which are not asked to save. */
const AT_ONCE_SECONDS = 1;

/** Deletes live pods of earlier attempts and of finished jobs. */
function deleteStrayPods({ record, facts }: Situation): readonly Action[] {
  const epoch = liveAttempt(record)?.epoch;
  const strays = facts.pods.filter((pod) => pod.epoch !== epoch && isLive(facts, pod));
  return deletePods(strays, AT_ONCE_SECONDS);
}

/**
 * Ends a stopping gang. Launchers of a gang that failed are refused and end by themselves: a delete would take the log of the failed rank
 * with it. Pods whose launchers do not end in time, or cannot receive the refusal, are deleted.
 */
export function stopGang({ record, facts }: Situation): readonly Action[] {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Stopping') return [];
  const isLost = isLostGang(facts, attempt);
  const ending = new Set(isLost ? endingByThemselves(facts, attempt) : []);
  const live = allPodsOf(facts, attempt.epoch).filter((pod) => isLive(facts, pod) && !ending.has(pod));
  const deletes = deletePods(
    live.map((pod) => (isContested(facts, pod) ? ofAnyVersion(pod) : pod)),
    stopSeconds(facts, attempt),
  );
  // A delete reaches the ranks as SIGTERM, which asks them to save. The ranks of a failed gang must have ended before.
  const isRefused = isLost && (ending.size > 0 || deletes.length > 0);
  return isRefused ? [{ kind: 'refuseLaunchers', epoch: attempt.epoch }, ...deletes] : deletes;
}

/** Whether the attempt failed and its gang is not asked to save. */
export function isLostGang(facts: Facts, attempt: Attempt): boolean {
  return attempt.outcome === 'Failed' && stopSeconds(facts, attempt) === AT_ONCE_SECONDS;
}

/** Number of refused deletes of a pod after which the delete names the UID only. */
const MAX_REFUSALS = 2;

/**
 * Whether the pod changes as fast as it is read. The end of its gang is recorded and final, so a changed pod of that UID is not wanted
 * either. Without this rule, a user who may write annotations could keep the pod alive.
 */
function isContested({ observed }: Facts, { uid }: ObservedPod): boolean {
  return (observed.contested?.get(uid) ?? 0) >= MAX_REFUSALS;
}

function ofAnyVersion({ resourceVersion: _, ...pod }: ObservedPod): ObservedPod {
  return pod;
}

/**
 * Grace period for stopping the gang. A whole gang is asked to save. A gang that has lost a rank cannot save, because its ranks must agree
 * on the step, so it is not asked.
 */
export function stopSeconds(facts: Facts, attempt: Attempt): number {
  if (isBroken(attempt)) return AT_ONCE_SECONDS;
  const isWhole = podsOf(facts, attempt.epoch)
    .filter(isTerminal)
    .every((pod) => ['stopped', 'finished'].includes(exitKind(pod, attempt.epoch) ?? ''));
  return isWhole ? graceSeconds(facts, attempt) : AT_ONCE_SECONDS;
}

/** A gang that makes room has no longer than the claim allows. */
function graceSeconds({ gracePeriodSeconds }: Facts, { forClaim, stoppingAt }: Attempt): number {
  const seconds = Math.round((Date.parse(forClaim?.deadline ?? '') - Date.parse(stoppingAt ?? '')) / 1000);
  return Number.isNaN(seconds) ? gracePeriodSeconds : Math.min(gracePeriodSeconds, Math.max(AT_ONCE_SECONDS, seconds));
}

/** Deletes the pods, and shortens the grace period of a delete that is in progress. */
export function deletePods(pods: readonly ObservedPod[], gracePeriodSeconds: number): readonly Action[] {
  const targets = pods.filter(
    (pod) =>
      pod.deletionTimestamp === undefined ||
      (gracePeriodSeconds === AT_ONCE_SECONDS && (pod.deletionGracePeriodSeconds ?? 0) > AT_ONCE_SECONDS),
  );
  return targets.length === 0 ? [] : [{ kind: 'deletePods', pods: targets.map(toReference), gracePeriodSeconds }];
}

/**
 * Deletes the pods of a gang whose ranks standbys hold, and standbys on nodes that are to be emptied. A replaced pod on a lost node goes when its node is
 * back.
 */
function endWithoutRanks({ record, facts }: Situation): readonly Action[] {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Released') return [];
  const unwanted = [...replacedPods(facts, attempt), ...leavingStandbys(facts, attempt)];
  return deletePods(
    unwanted.filter((pod) => isLive(facts, pod)),
    AT_ONCE_SECONDS,
  );
}

function createGang({ record, facts }: Situation): readonly Action[] {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Creating' || !facts.hasFinalizer) return [];
  const placement = placementOf(facts, attempt.epoch);
  const isAlone = !facts.pods.some((pod) => pod.epoch !== attempt.epoch && isLive(facts, pod));
  if (placement === undefined || !isAlone) return [];
  const missing = uncreatedIndices(facts, attempt);
  return [
    ...(missing.length === 0 ? [] : createComputeDomain(facts, attempt, placement)),
    ...missing.map((podIndex): Action => ({
      kind: 'createPod',
      name: podName(facts.job.metadata, { epoch: attempt.epoch, podIndex, placement: attempt.placement }),
      podIndex,
      placement: placement.spec,
    })),
  ];
}

function createComputeDomain({ job }: Facts, attempt: Attempt, { spec }: Placement): readonly Action[] {
  if (spec.runtime?.computeDomain === undefined) return [];
  return [{ kind: 'createComputeDomain', name: gangName(job.metadata, attempt), epoch: attempt.epoch }];
}

function liftGates({ record, facts }: Situation): readonly Action[] {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Released') return [];
  const gated = allPodsOf(facts, attempt.epoch).filter((pod) => pod.gated && pod.deletionTimestamp === undefined);
  return gated.length === 0 ? [] : [{ kind: 'liftGates', pods: gated.map(toReference) }];
}

function readPodWarning({ record, facts }: Situation): readonly Action[] {
  const attempt = liveAttempt(record);
  const pod = attempt === undefined ? undefined : podToAskAbout(facts, attempt);
  return pod === undefined ? [] : [{ kind: 'readPodWarning', pod: toReference(pod) }];
}

function markDamagedCheckpoints(situation: Situation): readonly Action[] {
  return markCheckpoints(situation).filter(({ kind }) => kind === 'markCheckpointDamaged');
}

/** Also clears marks that were refuted. */
function markSuspectCheckpoints(situation: Situation): readonly Action[] {
  return markCheckpoints(situation).filter(({ kind }) => kind === 'markCheckpoint');
}

/** The record alone decides which checkpoint is used; an object is marked as soon as the API server allows it. */
function markCheckpoints({ record, facts }: Situation): readonly Action[] {
  const standings = standingsOf(record);
  return facts.checkpoints.flatMap((checkpoint): readonly Action[] => {
    const mark = markOf(checkpoint, standings);
    if (mark === undefined || checkpoint.metadata.deletionTimestamp !== undefined) return [];
    const refused = facts.refusedCheckpoints.get(checkpointWriteKey(mark));
    return refused !== undefined && refused.retryInMs > 0 ? [] : [mark];
  });
}

/** Creates the Placement that status records, again if it was deleted. */
function createPlacement({ facts: { unwritten }, claimed }: Situation): readonly Action[] {
  return [
    ...(unwritten === undefined ? [] : [{ kind: 'createPlacement' as const, ...unwritten }]),
    ...(claimed === undefined ? [] : [{ kind: 'createPlacement' as const, ...claimed, ofClaim: true as const }]),
  ];
}

/** Starts the search once; a search in progress is not started again. */
function findNodes({ next }: Situation): readonly Action[] {
  return next.kind === 'choosingNodes' && next.ask !== undefined ? [{ kind: 'findNodes', search: next.ask }] : [];
}

/** Asked in every pass: the one who is asked compares. */
function askQuota({ record, facts, next, now }: Situation): readonly Action[] {
  const question = quotaQuestion(record, facts, { next, now });
  return question === undefined ? [] : [{ kind: 'askQuota', question }];
}

function probePod({ facts, next, claim }: Situation): readonly Action[] {
  const claimed = facts.observed.podProbe === undefined ? claim?.placement : undefined;
  const probed = next.kind === 'probing' ? next : claimed;
  if (probed === undefined || !facts.hasFinalizer) return [];
  const name = podName(facts.job.metadata, { epoch: probed.spec.epoch, podIndex: 0, placement: probed.name });
  return [{ kind: 'probePod', name, podIndex: 0, placement: probed.spec }];
}

/**
 * Deletes pods whose trainer has ended and whose sidecars still run, because such a pod keeps its GPUs. Pods of the current gang stay,
 * because it may still train.
 */
export function endLingering({ record, facts }: Situation): readonly Action[] {
  const attempt = liveAttempt(record);
  const epoch = attempt?.stage === 'Released' ? attempt.epoch : undefined;
  const lingering = facts.pods.filter((pod) => pod.lingers === true && pod.epoch !== epoch);
  return deletePods(lingering, facts.gracePeriodSeconds);
}

/** Deletes ended pods that are not kept. A Placement is deleted once its attempt has left the status, and that of a claim once the claim has ended. */
function tidyUp({ record, facts }: Situation): readonly Action[] {
  if (facts.deleting) return [];
  const pods = podsToTidy(record, facts);
  const oldest = record.attempts[0]?.epoch ?? 0;
  const placements = facts.observed.placements.filter(
    ({ spec, metadata }) =>
      spec?.jobUid === facts.job.metadata.uid &&
      (spec.epoch < Math.min(oldest, record.epoch) || isLeftClaim({ metadata }, record)) &&
      metadata.deletionTimestamp === undefined,
  );
  return [
    ...(pods.length === 0
      ? []
      : [{ kind: 'deletePods' as const, pods: pods.map(toReference), gracePeriodSeconds: AT_ONCE_SECONDS }]),
    ...(placements.length === 0
      ? []
      : [
          {
            kind: 'deletePlacements' as const,
            placements: placements.map(({ metadata: { name, uid, resourceVersion } }) => ({
              name,
              uid,
              ...(resourceVersion === undefined ? {} : { resourceVersion }),
            })),
          },
        ]),
  ];
}

/** Whether the Placement was made for a claim, and neither a claim nor an attempt records it any more. */
function isLeftClaim({ metadata }: Pick<Placement, 'metadata'>, record: JobRecord): boolean {
  const recorded = [standingClaim(record)?.placement, ...record.attempts.map(({ placement }) => placement)];
  return metadata.labels?.[LABELS.claim] === 'true' && !recorded.includes(metadata.name);
}

function collectCheckpoints({ record, facts }: Situation): readonly Action[] {
  const checkpoints = oldCheckpoints(record, facts).map(({ metadata }) => toReference(metadata));
  return checkpoints.length === 0 ? [] : [{ kind: 'deleteCheckpoints', checkpoints }];
}

function createCheckpoints({ record, facts }: Situation): readonly Action[] {
  const due = unmadeCheckpoints(record, facts).filter((checkpoint) => isToBeMade(facts, checkpoint));
  return due.map(({ name, spec }) => ({ kind: 'createCheckpoint', name, spec }));
}

/** Removes the finalizer, the last action for a deleted job; owner references delete the rest. */
function releaseFinalizer({ record, facts }: Situation): readonly Action[] {
  if (!facts.deleting || !facts.hasFinalizer || liveAttempt(record) !== undefined) return [];
  return facts.pods.some((pod) => isLive(facts, pod)) ? [] : [{ kind: 'removeFinalizer' }];
}
