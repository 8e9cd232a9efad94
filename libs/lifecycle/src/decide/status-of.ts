// A little over 400 lines: all conditions of a job with the state and the summary that follow from them.
import {
  type Attempt,
  type Condition,
  CONDITION_REASONS,
  CONDITION_TYPES,
  type ConditionType,
  findCondition,
  type JobState,
  memberCount,
  type ReasonOf,
  type TrainingJobStatus,
} from '@coxswain/api-types';
import { formatLayout, worldSize } from '@coxswain/layout';
import { cutText, safeText } from '@coxswain/safe-text';
import { acceptedDraft } from './accepted-condition.ts';
import { changedFabricDraft, nodesRequestedDraft, isReasonStillValid } from './fabric-conditions.ts';
import { standingClaim } from '../observation/claims.ts';
import { type Facts, placementSpecOf } from '../observation/facts.ts';
import { podsOf, standbysOf } from '../observation/gang.ts';
import { isDoomed } from '../observation/incarnation.ts';
import { describePulls } from '../observation/image-pulls.ts';
import { silentPod, warningOf } from '../observation/silent-pods.ts';
import type { RefusedCallKind } from '../observation/refused-calls.ts';
import { hindranceOf } from '../observation/hindrance.ts';
import { awaitedFiles, missingSecret } from '../observation/missing-secrets.ts';
import { type JobRecord, liveAttempt, recordedConditions } from '../record/job-record.ts';
import type { NextEpoch } from '../epoch/next-epoch.ts';
import type { ObservedPod } from '../observation/observed.ts';
import { maxRuntimeDraft, stoppingSummary } from './max-runtime-condition.ts';
import { doubtOfRunning, isInDoubt } from './running-doubts.ts';
import { standingOf } from '../observation/gang-standing.ts';
import { describeUnheard } from '../observation/unheard-pods.ts';
import { conditionBeforeReading } from '../epoch/runtime-standing.ts';
import { withPriority } from './priority-condition.ts';
import { fullSizeDraft } from '../epoch/full-size.ts';
import { loadsOnFewerGpusDraft } from '../epoch/loads-on-fewer-gpus.ts';
import { describeLostWork } from '../epoch/lost-work.ts';
import { describePassedOver } from '../failure/checkpoint-standing.ts';
import { describeUnreadableClaim, resumePointOf } from '../failure/resume-point.ts';
import { describeRefused } from '../failure/unmade-checkpoints.ts';
import { describeExpectedStart, NODES_ARE_HELD } from '../epoch/expected-start.ts';
import { withClaim } from './room-events.ts';
import type { Situation } from './situation.ts';
import { notAsAsked, trainedDraft } from './trained-condition.ts';

/** The status for the record. Conditions, state and summary are derived from the record, never the other way round. */
export function statusOf(situation: Situation): TrainingJobStatus {
  const { record, facts, now } = situation;
  const drafts = draftsOf(situation);
  const conditions = conditionsOf(drafts, facts, now);
  const state = stateOf(situation, drafts.Running);
  return {
    observedGeneration: facts.generation,
    state,
    summary: firstLine(summaryOf({ record, facts, drafts, state })),
    epoch: record.epoch,
    restarts: record.restarts,
    ...(record.failures === undefined ? {} : { failures: record.failures }),
    ...(record.notBefore === undefined ? {} : { notBefore: record.notBefore }),
    ...(record.askedAt === undefined ? {} : { askedAt: record.askedAt }),
    ...(record.priority === undefined ? {} : { priority: record.priority }),
    ...(record.runtime === undefined ? {} : { runtime: record.runtime }),
    ...(record.expectedStart === undefined ? {} : { expectedStart: record.expectedStart }),
    ...(record.claim === undefined ? {} : { claim: record.claim }),
    ...(record.plan === undefined ? {} : { plan: record.plan }),
    ...(record.progress === undefined ? {} : { progress: record.progress }),
    ...(record.checkpoint === undefined ? {} : { checkpoint: record.checkpoint }),
    ...(record.resumeFrom === undefined ? {} : { resumeFrom: record.resumeFrom }),
    ...(record.attempts.length === 0 ? {} : { attempts: [...record.attempts] }),
    ...(record.incidents.length === 0 ? {} : { incidents: [...record.incidents] }),
    ...(record.avoidedNodes.length === 0 ? {} : { avoidedNodes: [...record.avoidedNodes] }),
    ...(record.unrecordedCheckpoints.length === 0 ? {} : { unrecordedCheckpoints: [...record.unrecordedCheckpoints] }),
    ...(record.conversion === undefined ? {} : { conversion: record.conversion }),
    conditions,
  };
}

/** A condition without its times and generation. */
type ConditionDraft<T extends ConditionType = ConditionType> = {
  readonly [K in T]: { readonly holds: boolean; readonly reason: ReasonOf<K>; readonly message: string };
}[T];

type ConditionDrafts = { readonly [K in ConditionType]: ConditionDraft<K> | undefined };

function draftsOf({ record, facts, acceptance, next, now }: Situation): ConditionDrafts {
  const { terminal } = record;
  return {
    Accepted: acceptedDraft(acceptance, record.plan),
    Placed: withPriority(placedDraft(record, facts, next), record, facts),
    NodesRequested: nodesRequestedDraft(facts, next),
    Running: runningDraft(record, facts, now),
    CheckpointsRecorded: refusedCheckpointDraft(record, facts),
    FabricAsPlaced: changedFabricDraft(record, facts),
    TrainedAsAsked: trainedDraft(record),
    LoadsOnFewerGpus: loadsOnFewerGpusDraft(record, facts),
    AtFullSize: fullSizeDraft(record, facts, now),
    MaxRuntimeNear: maxRuntimeDraft(record, facts, now),
    Suspended: suspendedDraft(record, facts),
    Complete:
      terminal?.type === 'Complete' ? { holds: true, reason: terminal.reason, message: terminal.message } : undefined,
    Failed:
      terminal?.type === 'Failed' ? { holds: true, reason: terminal.reason, message: terminal.message } : undefined,
  };
}

/** Why the job waits, with the jobs that make room for it, the nodes that are held for it or for a job ahead of it, and those that a window keeps it off. */
function withHeldNodes(message: string, record: JobRecord, { observed }: Facts): string {
  const { expectedStart } = record;
  const closed = observed.closedNodes?.();
  const whole = closed === undefined ? message : `${message} ${closed}`;
  if (standingClaim(record) !== undefined) return withClaim(whole, record);
  if (expectedStart !== undefined) return `${describeExpectedStart(expectedStart)} ${whole}`;
  return observed.areNodesHeld?.() === true ? `${whole} ${NODES_ARE_HELD}` : whole;
}

function placedDraft(record: JobRecord, facts: Facts, next: NextEpoch): ConditionDraft<'Placed'> {
  if (record.terminal !== undefined) {
    return { holds: false, reason: 'Finished', message: 'The job is finished; its nodes are free.' };
  }
  const attempt = liveAttempt(record);
  if (attempt !== undefined) {
    const { placedWhere = [], saves = [], passedOver = [] } = attempt;
    const more = [placedWhere, saves, passedOver.map(describePassedOver)].flat();
    const message = [`Attempt ${attempt.epoch}: ${gangSize(attempt, facts)}.`, ...more].join(' ');
    return { holds: true, reason: 'GangPlaced', message };
  }
  if (facts.suspend) {
    return { holds: false, reason: 'Suspended', message: 'Nothing is placed while the job is suspended.' };
  }
  if (facts.deleting) {
    const message = withHindrance('Nothing is placed: the job is being deleted, and its pods end.', facts);
    return { holds: false, reason: 'WaitingForPreviousEpoch', message };
  }
  switch (next.kind) {
    case 'notNeeded':
    case 'refused':
      return { holds: false, reason: 'NotAccepted', message: 'Nothing is placed before the spec is accepted.' };
    case 'unplanned':
      return { holds: false, reason: 'WaitingForPlan', message: next.message };
    case 'planning':
      return { holds: false, reason: 'Planning', message: next.message };
    case 'readingRuntime': {
      const { reason = 'ReadingRuntime', message = next.message } = conditionBeforeReading(facts, 'Placed') ?? {};
      return { holds: false, reason: isReasonOf('Placed', reason) ? reason : 'ReadingRuntime', message };
    }
    case 'afterPreviousEpoch':
      return { holds: false, reason: 'WaitingForPreviousEpoch', message: withHindrance(next.message, facts) };
    case 'converting':
      return { holds: false, reason: 'ConvertingCheckpoint', message: next.message };
    case 'unresumable':
      return { holds: false, reason: 'CheckpointsUnusable', message: next.message };
    case 'delayed': {
      const refused = refusal(record);
      if (refused !== undefined) return { holds: false, reason: 'PodsRefused', message: refused };
      return {
        holds: false,
        reason: 'WaitingForRestartDelay',
        message: `Attempt ${record.epoch + 1} starts after the delay.${describeUnreadableClaim(record, facts)}${describeJudgement(record)}`,
      };
    }
    case 'waiting':
      return { holds: false, reason: 'WaitingForCapacity', message: withHeldNodes(next.message, record, facts) };
    case 'waitingForQuota':
      return { holds: false, reason: 'WaitingForQuota', message: next.message };
    case 'unsatisfiable':
      return { holds: false, reason: 'TopologyUnsatisfiable', message: withClaim(next.message, record) };
    case 'priorityClassMissing':
      return { holds: false, reason: 'PriorityClassMissing', message: next.message };
    case 'objectMissing':
      return { holds: false, reason: 'ObjectMissing', message: next.message };
    case 'podsRefused':
      return { holds: false, reason: 'PodsRefused', message: refusedMessage(next.message) };
    case 'choosingNodes':
    case 'readingRuntimeAgain':
    case 'readingReferences':
    case 'probing': {
      const denied = hindranceOf(facts, ['probePod']);
      if (denied !== undefined) return { holds: false, reason: 'PodsRefused', message: denied };
      // The recorded reason stays until another one applies.
      const { reason, message } = findCondition(recordedConditions(facts.job), 'Placed') ?? {};
      if (message !== undefined && isReasonStillValid(next, reason)) return { holds: false, reason, message };
      return { holds: false, reason: 'Placing', message: `Attempt ${record.epoch + 1} is being placed.` };
    }
    case 'placing':
      return { holds: false, reason: 'Placing', message: `Attempt ${record.epoch + 1} is being placed.` };
  }
}

function isReasonOf<T extends ConditionType>(type: T, reason: string): reason is ReasonOf<T> {
  return Object.hasOwn(CONDITION_REASONS[type], reason);
}

/** Which rule answered the last failure, and how many restarts are left. */
function describeJudgement(record: JobRecord): string {
  const says = record.attempts.at(-1)?.judgement?.says;
  return says === undefined ? '' : ` ${firstLine(says)}`;
}

/** The cluster's message if it refused the last gang's pods. */
function refusal(record: JobRecord): string | undefined {
  const last = record.attempts.at(-1);
  return last?.reason === 'PodsRefused' ? refusedMessage(last.message ?? '') : undefined;
}

function refusedMessage(words: string): string {
  const line = firstLine(words);
  return `${line}${/[.!?]$/.test(line) ? '' : '.'} Coxswain retries.`;
}

const IMAGE_PROBLEM = /^(ErrImage|ImagePull|ImageInspect|InvalidImage|RegistryUnavailable|SignatureValidation)/;

function runningDraft(record: JobRecord, facts: Facts, now: Date): ConditionDraft<'Running'> {
  if (record.terminal !== undefined) return { holds: false, reason: 'Finished', message: 'The job is finished.' };
  const attempt = liveAttempt(record);
  if (attempt === undefined) return { holds: false, reason: 'NotStarted', message: 'No gang is up.' };
  const { epoch } = attempt;
  const denied = deniedDraft(facts, attempt);
  if (denied !== undefined) return denied;
  if (attempt.stage === 'Stopping') {
    return { holds: false, reason: 'Stopping', message: `The gang of attempt ${epoch} is stopping.` };
  }
  if (attempt.stage === 'Creating') {
    return { holds: false, reason: 'PodsCreating', message: `The pods of attempt ${epoch} are being created.` };
  }
  if (attempt.runningAt !== undefined) return runningWithRanks(record, facts, { attempt, now });
  if (isRestartingInPods(attempt))
    return { holds: false, reason: 'RestartingInPlace', message: describeRestartInPods(attempt) };
  const stuck = firstStuckPod(facts, epoch);
  if (stuck === undefined) {
    const pulls = describePulls(facts, attempt);
    if (pulls !== undefined) return { holds: false, reason: 'ImagePulling', message: pulls };
    const silent = silentPod(facts, attempt);
    const warning = warningOf(facts, silent);
    if (silent !== undefined && warning !== undefined) {
      const message = `Pod ${silent.name} cannot start on node ${silent.nodeName ?? 'unknown'}: ${warning}`;
      return { holds: false, reason: 'PodStuck', message: cutText(message, 1024) };
    }
    const files = awaitedFiles(facts);
    const wait = files === undefined ? '' : `; their kubelets start none before they have mounted ${files}`;
    return { holds: false, reason: 'PodsStarting', message: `The containers of attempt ${epoch} are starting${wait}.` };
  }
  const { pod, waiting } = stuck;
  const node = pod.nodeName ?? 'unknown';
  if (IMAGE_PROBLEM.test(waiting.reason)) {
    // The kubelet alternates between two reasons; ours is constant, so that it is written once.
    return {
      holds: false,
      reason: 'ImageUnavailable',
      message: `Image ${waiting.image} cannot be pulled on node ${node}.`,
    };
  }
  const missing = missingSecret(facts, waiting);
  if (missing !== undefined) {
    const message = `Pod ${pod.name} waits on node ${node}: ${missing}. It starts as soon as there is one.`;
    return { holds: false, reason: 'SecretMissing', message };
  }
  const message = `Pod ${pod.name} cannot start on node ${node}: ${waiting.reason}: ${waiting.message}`;
  return { holds: false, reason: 'PodStuck', message: cutText(message, 1024) };
}

/** Every container runs: have the ranks started, and do they train? */
function runningWithRanks(
  record: JobRecord,
  facts: Facts,
  about: { readonly attempt: Attempt; readonly now: Date },
): ConditionDraft<'Running'> {
  const { attempt } = about;
  const unheard = describeUnheard(facts, attempt);
  if (unheard !== undefined) return { holds: false, reason: 'LaunchersSilent', message: unheard };
  const message = `Every rank of attempt ${attempt.epoch} has started.`;
  return doubtOfRunning(record, facts, about) ?? { holds: true, reason: 'GangRunning', message };
}

/** What the API server denies of the attempt's next step. */
function deniedDraft(facts: Facts, { epoch, stage, runningAt }: Attempt): ConditionDraft<'Running'> | undefined {
  if (runningAt !== undefined && stage !== 'Stopping') return undefined;
  const message = hindranceOf(facts, DUE_CALLS[stage]);
  if (message === undefined) return undefined;
  const what = stage === 'Stopping' ? 'is stopping' : 'is starting';
  return { holds: false, reason: 'Denied', message: `The gang of attempt ${epoch} ${what}. ${message}` };
}

const ENDING = ['deletePod', 'releasePod', 'removeFinalizer'] as const;
/** Writes that an attempt waits for, by its stage. */
const DUE_CALLS: Readonly<Record<Attempt['stage'], readonly RefusedCallKind[]>> = {
  Creating: ['createPlacement', 'createComputeDomain', 'createPod'],
  Released: ['liftGate'],
  Stopping: ENDING,
  Ended: [],
};

function withHindrance(message: string, facts: Facts): string {
  const hindrance = hindranceOf(facts, ENDING);
  return hindrance === undefined ? message : `${message} ${hindrance}`;
}

/** Whether the ranks have failed and restart in the same pods. */
function isRestartingInPods({ stage, incarnation = 1, runningAt }: Attempt): boolean {
  return stage === 'Released' && incarnation > 1 && runningAt === undefined;
}

function describeRestartInPods(attempt: Attempt): string {
  const { epoch, incarnation = 1, resumedFrom, memorySave, replacements = [] } = attempt;
  const saved = resumedFrom === undefined ? 'from scratch' : `from step ${resumedFrom.step}`;
  const from = memorySave === undefined ? saved : `from step ${memorySave.step} in memory`;
  const taken = replacements.filter((one) => one.incarnation === incarnation).length;
  const standbys = taken === 0 ? '' : ` and ${taken} standby${taken === 1 ? '' : 's'}`;
  return `The ranks of attempt ${epoch} restart in their pods${standbys} (incarnation ${incarnation}), ${from}.`;
}

function firstStuckPod(
  facts: Facts,
  epoch: number,
): { readonly pod: ObservedPod; readonly waiting: NonNullable<ObservedPod['containerWaiting']> } | undefined {
  const stuck = podsOf(facts, epoch).flatMap((pod) =>
    pod.containerWaiting === undefined ? [] : [{ pod, waiting: pod.containerWaiting }],
  );
  return stuck.toSorted((left, right) => left.pod.podIndex - right.pod.podIndex)[0];
}

/** Names the newest refused checkpoint only. */
function refusedCheckpointDraft(record: JobRecord, facts: Facts): ConditionDraft<'CheckpointsRecorded'> | undefined {
  const refused = describeRefused(record, facts).at(-1);
  if (refused === undefined) return undefined;
  const message = `The API server refuses the object of a saved checkpoint; Coxswain retries. ${firstLine(refused)}`;
  return { holds: false, reason: 'CheckpointRefused', message };
}

function suspendedDraft(record: JobRecord, facts: Facts): ConditionDraft<'Suspended'> {
  if (!facts.suspend || record.terminal !== undefined) {
    return { holds: false, reason: 'NotSuspended', message: 'The job is not suspended.' };
  }
  if (liveAttempt(record) !== undefined) {
    return { holds: false, reason: 'Stopping', message: 'The gang is saving and stopping, as spec.suspend asks.' };
  }
  return {
    holds: true,
    reason: 'SuspendRequested',
    message: `Nothing runs, as spec.suspend asks.${lostSentence(record)}`,
  };
}

function lostSentence({ attempts }: JobRecord): string {
  const lostWork = attempts.at(-1)?.lostWork;
  return lostWork === undefined ? '' : ` ${describeLostWork(lostWork)}`;
}

/** Builds the conditions; types without a draft are absent. */
function conditionsOf(drafts: ConditionDrafts, facts: Facts, now: Date): Condition[] {
  const recorded = recordedConditions(facts.job);
  return CONDITION_TYPES.flatMap((type): readonly Condition[] => {
    const draft = drafts[type];
    if (draft === undefined) return [];
    const status = draft.holds ? 'True' : 'False';
    const before = findCondition(recorded, type);
    const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now.toISOString();
    const { reason } = draft;
    // Some messages quote the spec, which is a user's text.
    const message = safeText(draft.message, MAX_CONDITION_CHARACTERS);
    return [{ type, status, reason, message, observedGeneration: facts.generation, lastTransitionTime }];
  });
}

const WAITS_FOR_PERSON: readonly NextEpoch['kind'][] = ['unresumable', 'objectMissing', 'priorityClassMissing'];

function stateOf({ record, facts, next }: Situation, running: ConditionDraft<'Running'> | undefined): JobState {
  const { terminal } = record;
  if (terminal?.type === 'Complete') return 'Complete';
  if (terminal !== undefined) return terminal.reason === 'Cancelled' ? 'Cancelled' : 'Failed';
  const attempt = liveAttempt(record);
  if (facts.deleting || (facts.cancel && attempt !== undefined)) return 'Stopping';
  if (attempt === undefined) {
    if (facts.suspend) return 'Suspended';
    // Nothing restarts: the job waits for a user.
    if (WAITS_FOR_PERSON.includes(next.kind)) return 'Queued';
    return CONTINUED_OUTCOMES.includes(record.attempts.at(-1)?.outcome) && refusal(record) === undefined
      ? 'Restarting'
      : 'Queued';
  }
  if (attempt.stage === 'Stopping') return stoppingState(attempt, facts);
  if (isRestartingInPods(attempt)) return 'Restarting';
  const hasStarted = attempt.runningAt !== undefined && running?.holds === true;
  return hasStarted && !isBeforeFirstStep(running, facts, attempt) ? 'Running' : 'Starting';
}

/** Whether launchers report that no rank has completed a step, where a step would have been seen. */
function isBeforeFirstStep(running: { readonly message: string }, facts: Facts, attempt: Attempt): boolean {
  const standing = standingOf(facts, attempt);
  return standing?.isStarting === true && standing.message === running.message;
}

/** Outcomes of healthy gangs that saved and continue as the next attempt. */
const REPLACED_OUTCOMES: readonly Attempt['outcome'][] = ['Resized', 'Moved'];

/** Outcomes that the next attempt follows without a user's action. */
const CONTINUED_OUTCOMES: readonly Attempt['outcome'][] = ['Failed', ...REPLACED_OUTCOMES];

function stoppingState(attempt: Attempt, facts: Facts): JobState {
  if (facts.suspend || attempt.outcome === 'Suspended') return 'Suspending';
  const goesOn =
    REPLACED_OUTCOMES.includes(attempt.outcome) || (attempt.outcome === 'Failed' && attempt.answer === 'Restart');
  return goesOn ? 'Restarting' : 'Stopping';
}

function summaryOf(situation: {
  readonly record: JobRecord;
  readonly facts: Facts;
  readonly drafts: ConditionDrafts;
  readonly state: JobState;
}): string {
  const { record, facts, drafts, state } = situation;
  const attempt = liveAttempt(record);
  const failure = firstLine(record.attempts.at(-1)?.message ?? '');
  switch (state) {
    case 'Complete':
    case 'Failed':
    case 'Cancelled':
      return record.terminal?.message ?? '';
    case 'Running':
      return attempt === undefined ? '' : runningSummary(attempt, facts, drafts);
    case 'Starting':
      return drafts.Running?.message ?? '';
    case 'Suspending':
      return 'Saves and stops, as spec.suspend asks.';
    case 'Suspended':
      return `${suspendedSummary(record, facts)}${lostSentence(record)}`;
    case 'Stopping':
      return withHindrance(stoppingSummary(attempt, facts), facts);
    case 'Restarting':
      return restartingSummary(attempt, { placed: drafts.Placed?.message ?? '', failure });
    case 'Queued':
      return drafts.Accepted?.holds === false ? drafts.Accepted.message : (drafts.Placed?.message ?? '');
  }
}

function restartingSummary(
  attempt: Attempt | undefined,
  { placed, failure }: { readonly placed: string; readonly failure: string },
): string {
  if (attempt === undefined) return `${placed} Before: ${failure}`;
  if (isRestartingInPods(attempt)) {
    return `${describeRestartInPods(attempt)} Before: ${firstLine(attempt.incarnations?.at(-1)?.message ?? '')}`;
  }
  if (REPLACED_OUTCOMES.includes(attempt.outcome))
    return `The gang of attempt ${attempt.epoch} saves and stops. ${failure}`;
  return `The gang of attempt ${attempt.epoch} failed and is being removed: ${failure}`;
}

function runningSummary(
  attempt: Attempt,
  facts: Facts,
  { Running: running, TrainedAsAsked: asked }: ConditionDrafts,
): string {
  const { epoch, incarnation = 1 } = attempt;
  const again = incarnation === 1 ? '' : ` (incarnation ${incarnation})`;
  const { gpus = 0, minGpus } = facts.spec ?? {};
  const fewer =
    minGpus === undefined || gpus <= worldSize(attempt.layout) ? '' : `, fewer than the ${gpus} it asks for`;
  const isDoubted = running !== undefined && running.reason !== 'GangRunning';
  const isUnseen = attempt.firstStep === undefined;
  const does = isUnseen || (isDoubted && !isInDoubt(running)) ? 'Runs' : 'Trains';
  const yet = isUnseen && !isDoubted ? '; no step was reported yet' : '';
  const trains = `${does} in attempt ${epoch}${again} on ${gangSize(attempt, facts)}${fewer}${yet}.`;
  const doubt = isDoubted ? ` ${running.message}` : '';
  return `${trains}${doubt}${notAsAsked(asked)}`;
}

function suspendedSummary(record: JobRecord, facts: Facts): string {
  const sentence = 'Suspended; set spec.suspend to false to go on';
  const from = resumePointOf(record, facts);
  switch (from.kind) {
    case 'none':
      return `Suspended. ${from.message}`;
    case 'scratch':
      return from.answers === undefined ? `${sentence}.` : `${sentence} from scratch, as spec.resumeFrom asks.`;
    case 'checkpoint': {
      const asked = from.answers === undefined ? '' : ', as spec.resumeFrom asks';
      return `${sentence} from step ${from.checkpoint.spec.step}${asked}.`;
    }
  }
}

/** `4 GPUs of 2 nodes, tp2 x dp2` */
function gangSize(attempt: Attempt, facts: Facts): string {
  const gpus = worldSize(attempt.layout);
  const placement = placementSpecOf(facts, attempt.epoch);
  const layout = formatLayout(attempt.layout);
  const gpuWords = `${gpus} GPU${gpus === 1 ? '' : 's'}`;
  if (placement === undefined) return `${gpuWords}, ${layout}`;
  const nodes = memberCount(placement);
  const network = placement.network === 'Sockets' ? ', over TCP sockets because no island of the network holds it' : '';
  return `${gpuWords} of ${nodes} node${nodes === 1 ? '' : 's'}, ${layout}${network}${describeStandbys(attempt, facts)}`;
}

/** `; 1 of 2 standbys`: those of the attempt that may still take a place, of those that the job asks for. */
function describeStandbys(attempt: Attempt, facts: Facts): string {
  const { standby = 0 } = facts.spec ?? {};
  if (standby === 0) return '';
  const { stage, standbys = 0 } = attempt;
  // Their pods are created with the others of the gang.
  const left =
    stage === 'Creating' ? standbys : standbysOf(facts, attempt).filter((pod) => !isDoomed(facts, pod)).length;
  return `; ${left} of ${standby} standby${standby === 1 ? '' : 's'}`;
}

const MAX_SUMMARY_CHARACTERS = 1024;
/** Room for the message of an attempt beside our own words; the resource allows four times as much. */
const MAX_CONDITION_CHARACTERS = 8_192;

function firstLine(text: string): string {
  return safeText(text.split('\n', 1)[0] ?? '', MAX_SUMMARY_CHARACTERS);
}
