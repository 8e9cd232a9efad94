import { type Attempt, type Placement, gangName, podName } from '@coxswain/api-types';
import { safeText } from '@coxswain/safe-text';
import { isBroken } from '../failure/broken-gang.ts';
import { condemnedCheckpoints, describeCondemnation } from '../failure/checkpoint-trouble.ts';
import { isToBeMade, unmadeCheckpoints } from '../failure/unmade-checkpoints.ts';
import type { Action } from './decision.ts';
import { type Facts, isLive, isTerminal, placementOf } from '../observation/facts.ts';
import { exitKind } from '../failure/failure.ts';
import { missingIndices, podsOf } from '../observation/gang.ts';
import type { ObservedPod } from '../observation/observed.ts';
import { checkpointWriteKey } from '../observation/refused-checkpoints.ts';
import { isGangWanted, isUnderWay } from '../epoch/planning.ts';
import { needsRuntime } from '../epoch/unwritten-placement.ts';
import { oldCheckpoints } from './old-checkpoints.ts';
import { toReference } from './pod-reference.ts';
import { releasePods } from './release-pods.ts';
import type { Situation } from './situation.ts';
import { liveAttempt } from '../record/job-record.ts';

type ActionStep = (situation: Situation) => readonly Action[];

/** What may be done, in the order in which it is done. Every step is idempotent. */
const ACTION_STEPS: readonly ActionStep[] = [
  keepFinalizer,
  readRuntime,
  askPlanner,
  deleteStrayPods,
  stopGang,
  createGang,
  liftGates,
  markDamagedCheckpoints,
  findNodes,
  probePod,
  createPlacement,
  endLingering,
  tidyUp,
  releasePods,
  releaseFinalizer,
  collectCheckpoints,
  // Last, so that what the API server says to it stands in nobody's way.
  createCheckpoints,
];

export function actionsOf(situation: Situation): readonly Action[] {
  return ACTION_STEPS.flatMap((step) => step(situation));
}

/** Nothing is made before the finalizer stands, so that a deleted job always gets the chance to clean up. */
function keepFinalizer({ record, facts }: Situation): readonly Action[] {
  const isNeeded = !facts.hasFinalizer && !facts.deleting && record.terminal === undefined;
  return isNeeded ? [{ kind: 'addFinalizer' }] : [];
}

/** As long as a gang is wanted, or a Placement is to be made again; one that runs has been made with what its Placement says. */
function readRuntime({ record, facts }: Situation): readonly Action[] {
  const { runtime } = facts.observed;
  if (facts.spec?.runtimeRef === undefined) return [];
  if (!isGangWanted(record, facts) && !needsRuntime(record, facts)) return [];
  return runtime?.isFresh === true || runtime?.isBeingRead === true ? [] : [{ kind: 'readRuntime' }];
}

/** One question at a time: another one takes the place of what was asked before. What nobody wants to know any more is given up. */
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

/** A failed gang is not asked to save, and neither is a pod that should not be there. */
const AT_ONCE_SECONDS = 1;

/** Live pods that belong to no attempt under way: of an earlier epoch, or of a job that is finished. */
function deleteStrayPods({ record, facts }: Situation): readonly Action[] {
  const epoch = liveAttempt(record)?.epoch;
  const strays = facts.pods.filter((pod) => pod.epoch !== epoch && isLive(facts, pod));
  return deletePods(strays, AT_ONCE_SECONDS);
}

function stopGang({ record, facts }: Situation): readonly Action[] {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Stopping') return [];
  const live = podsOf(facts, attempt.epoch).filter((pod) => isLive(facts, pod));
  const seconds = stopSeconds(facts, attempt);
  const deletes = deletePods(
    live.map((pod) => (isContested(facts, pod) ? ofAnyVersion(pod) : pod)),
    seconds,
  );
  // A delete reaches the ranks as SIGTERM, which asks them to save: those of a failed gang must be gone before.
  const isLost = attempt.outcome === 'Failed' && seconds === AT_ONCE_SECONDS && deletes.length > 0;
  return isLost ? [{ kind: 'refuseLaunchers', epoch: attempt.epoch }, ...deletes] : deletes;
}

/** Refusals of a delete after which it asks for the UID alone. */
const MOST_REFUSALS = 2;

/**
 * Whether somebody changes the pod as fast as it is read. That its gang stops is recorded and is never taken back, so whatever it has become
 * meanwhile, the pod of that UID is not wanted again: without this whoever may write annotations could keep it alive.
 */
function isContested({ observed }: Facts, { uid }: ObservedPod): boolean {
  return (observed.contested?.get(uid) ?? 0) >= MOST_REFUSALS;
}

function ofAnyVersion({ resourceVersion: _, ...pod }: ObservedPod): ObservedPod {
  return pod;
}

/** A whole gang is asked to save. One that has lost a rank cannot: the ranks agree on the step to save, and one would be waited for in vain. */
function stopSeconds(facts: Facts, attempt: Attempt): number {
  if (isBroken(attempt)) return AT_ONCE_SECONDS;
  const isWhole = podsOf(facts, attempt.epoch)
    .filter(isTerminal)
    .every((pod) => ['stopped', 'finished'].includes(exitKind(pod, attempt.epoch) ?? ''));
  return isWhole ? facts.gracePeriodSeconds : AT_ONCE_SECONDS;
}

/** Also shortens a longer delete that is under way. */
export function deletePods(pods: readonly ObservedPod[], gracePeriodSeconds: number): readonly Action[] {
  const targets = pods.filter(
    (pod) =>
      pod.deletionTimestamp === undefined ||
      (gracePeriodSeconds === AT_ONCE_SECONDS && (pod.deletionGracePeriodSeconds ?? 0) > AT_ONCE_SECONDS),
  );
  return targets.length === 0 ? [] : [{ kind: 'deletePods', pods: targets.map(toReference), gracePeriodSeconds }];
}

function createGang({ record, facts }: Situation): readonly Action[] {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Creating' || !facts.hasFinalizer) return [];
  const placement = placementOf(facts, attempt.epoch);
  const isAlone = !facts.pods.some((pod) => pod.epoch !== attempt.epoch && isLive(facts, pod));
  if (placement === undefined || !isAlone) return [];
  const missing = missingIndices(facts, attempt);
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
  const gated = podsOf(facts, attempt.epoch).filter((pod) => pod.gated && pod.deletionTimestamp === undefined);
  return gated.length === 0 ? [] : [{ kind: 'liftGates', pods: gated.map(toReference) }];
}

function markDamagedCheckpoints({ record, facts }: Situation): readonly Action[] {
  const condemned = condemnedCheckpoints(record);
  return facts.checkpoints.flatMap(({ metadata, status }): readonly Action[] => {
    const { name, uid, deletionTimestamp } = metadata;
    const condemnation = condemned.get(name);
    if (condemnation === undefined || status?.state === 'Damaged' || deletionTimestamp !== undefined) return [];
    // A name in the record is enough to keep it from being used; the object says so too as soon as it may.
    const refused = facts.refusedCheckpoints.get(checkpointWriteKey({ kind: 'markCheckpointDamaged', name }));
    if (refused !== undefined && refused.retryInMs > 0) return [];
    const message = safeText(`It is not used again: ${describeCondemnation(condemnation)}.`, 4096);
    return [{ kind: 'markCheckpointDamaged', name, uid, message, condemnation }];
  });
}

/** Status records which one it is, so this is the one that counts; made again where somebody deleted it. */
function createPlacement({ facts: { unwritten } }: Situation): readonly Action[] {
  return unwritten === undefined ? [] : [{ kind: 'createPlacement', ...unwritten }];
}

/** Once: what is being searched is not asked for again. */
function findNodes({ next }: Situation): readonly Action[] {
  return next.kind === 'choosingNodes' && next.ask !== undefined ? [{ kind: 'findNodes', search: next.ask }] : [];
}

function probePod({ facts, next }: Situation): readonly Action[] {
  if (next.kind !== 'probing' || !facts.hasFinalizer) return [];
  const name = podName(facts.job.metadata, { epoch: next.spec.epoch, podIndex: 0, placement: next.name });
  return [{ kind: 'probePod', name, podIndex: 0, placement: next.spec }];
}

/** What runs beside a trainer that has ended nobody else ends, and the pod holds its GPUs as long. Its gang may still train. */
function endLingering({ record, facts }: Situation): readonly Action[] {
  const attempt = liveAttempt(record);
  const epoch = attempt?.stage === 'Released' ? attempt.epoch : undefined;
  const lingering = facts.pods.filter((pod) => pod.lingers === true && pod.epoch !== epoch);
  return deletePods(lingering, facts.gracePeriodSeconds);
}

/**
 * Ended pods of the current and the previous epoch stay, for their logs; earlier ones go. A Placement goes when its attempt has left the
 * status.
 */
function tidyUp({ record, facts }: Situation): readonly Action[] {
  if (facts.deleting) return [];
  const pods = facts.pods.filter(
    (pod) => isTerminal(pod) && pod.epoch < record.epoch - 1 && pod.deletionTimestamp === undefined,
  );
  const oldest = record.attempts[0]?.epoch ?? 0;
  const placements = facts.observed.placements.filter(
    ({ spec, metadata }) =>
      spec?.jobUid === facts.job.metadata.uid &&
      spec.epoch < Math.min(oldest, record.epoch) &&
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

function collectCheckpoints({ record, facts }: Situation): readonly Action[] {
  const checkpoints = oldCheckpoints(record, facts).map(({ metadata }) => toReference(metadata));
  return checkpoints.length === 0 ? [] : [{ kind: 'deleteCheckpoints', checkpoints }];
}

function createCheckpoints({ record, facts }: Situation): readonly Action[] {
  const due = unmadeCheckpoints(record, facts).filter((checkpoint) => isToBeMade(facts, checkpoint));
  return due.map(({ name, spec }) => ({ kind: 'createCheckpoint', name, spec }));
}

/** The last thing done for a job that is being deleted; its owner references do the rest. */
function releaseFinalizer({ record, facts }: Situation): readonly Action[] {
  if (!facts.deleting || !facts.hasFinalizer || liveAttempt(record) !== undefined) return [];
  return facts.pods.some((pod) => isLive(facts, pod)) ? [] : [{ kind: 'removeFinalizer' }];
}
