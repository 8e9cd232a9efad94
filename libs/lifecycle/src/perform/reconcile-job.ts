import type { Placement, TrainingJob } from '@coxswain/api-types';
import type { NodeDemand } from '@coxswain/fabric';
import { nodeDemandOf } from '@coxswain/runtime';
import type { ClusterScheduler } from '@coxswain/scheduling';
import { decide } from '../decide/decide.ts';
import type { Action, Decision } from '../decide/decision.ts';
import type { NodeState, Observed, ObservedPod, ObservedRuntime } from '../observation/observed.ts';
import { demandOfQuota, withinQuota } from '../observation/quota-rules.ts';
import { UNWRITTEN_AFTER_MS } from '../observation/unwritten-statuses.ts';
import { bareStatus, isRecordedAs } from '../record/bare-status.ts';
import { type Answer, type Calls, mayPassByItself, messageOf } from './calls.ts';
import { callBatches } from './call-batches.ts';
import { detectedOf, type JobEffects, type JobView } from './job-view.ts';
import { reserve } from './reserve.ts';
import { isCheckpointWrite, noteCheckpoint, noteDone, noteFailure, probeOf } from './note-answers.ts';

/** The result of a reconciliation: reconcile again after that time, unless a change comes first. */
export interface ReconcileOutcome {
  readonly requeueAfterMs?: number;
}

/** What a reconciliation reads, and what it may do besides its calls. */
export interface ReconcilePorts {
  readonly view: JobView;
  readonly effects: JobEffects;
}

/**
 * Observes the job of that key (`namespace/name`), decides, and performs one kind of action at a time until nothing is left to do. It makes
 * no call itself: it yields each batch of calls and continues with their answers, so that the operator, tests and the simulator run the
 * same code.
 *
 * Status is the intent and comes first. A pass either writes status or acts upon the recorded status, never both. So a process that dies
 * between the two leaves nothing that its successor could not continue. Throws the error of a call that the next observation cannot answer.
 */
export function* reconcileJob(key: string, ports: ReconcilePorts): Calls<ReconcileOutcome> {
  let found: Findings = { refused: new Map() };
  const jobUid = ports.view.findJob(key)?.metadata.uid;
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const observedJob = observeAndDecide(key, ports.view, found);
    // A new job of the same name was not verified; its own event reconciles it.
    if (observedJob === undefined || observedJob.job.metadata.uid !== jobUid) return {};
    const { job, decision } = observedJob;
    // Another job got the GPUs, or their nodes changed since the observation: place again.
    if (decision === undefined) continue;
    ports.effects.warnOfUnrecordedPlacements(job, decision.unrecordedPlacements);
    if (decision.readsFirst !== true && !isRecordedAs(job.status, decision.status)) {
      found = yield* record({ job, decision, found }, ports);
      continue;
    }
    const { actions, requeueAfterMs } = decision;
    // At rest the status holds what was decided: an earlier write landed unanswered, or its reason passed.
    if (actions.length === 0 && decision.readsFirst !== true) noteRecorded(jobUid, ports.view);
    // Nothing that is observed changes by a refusal before its launchers end, so another pass would refuse them again.
    if (actions.every(({ kind }) => kind === 'refuseLaunchers')) {
      for (const action of actions) performAtOnce(job, action, ports.effects);
      return requeueAfterMs === undefined ? {} : { requeueAfterMs };
    }
    found = yield* perform({ job, actions, found }, ports);
  }
  // Every pass found an action. The next round comes soon, behind other jobs.
  return { requeueAfterMs: RETRY_SOON_MS };
}

/** Enough passes for the whole start of a gang, and for the whole answer to a failure. */
const MAX_PASSES = 16;
const RETRY_SOON_MS = 1_000;

/** How long a live read is valid. */
const PROOF_MS = 5_000;

/** Answers of the cluster that no cache shows, with their monotonic times. */
interface Findings {
  /** Pods that the cluster refuses, with its messages; cleared once the status was written. */
  readonly refused: ReadonlyMap<string, string>;
  /** Valid for one batch of actions and the status that is written before it. */
  readonly proof?: Proof;
  /** When the status was known to be the newest. */
  readonly statusAtMs?: number;
  /** How often a delete of each pod was refused because it had changed, by UID. */
  readonly contested?: ReadonlyMap<string, number>;
  /** The cluster's answer to a dry run of a pod of the next attempt. */
  readonly podProbe?: NonNullable<Observed['podProbe']>;
  /** When the job's checkpoints were read. */
  readonly checkpointsAtMs?: number;
}

/** A live read and its premises. It proves nothing about a job that has changed since, or about nodes that were not doubtful then. */
interface Proof {
  /** resourceVersion of the job when the read was requested, or as written since. */
  readonly jobVersion: string | undefined;
  readonly nodeStates: ReadonlyMap<string, NodeState>;
  /** Whether what verdicts stand on was read too. */
  readonly hasEvidence: boolean;
  /** UIDs of other jobs that were read too. */
  readonly jobs: ReadonlySet<string>;
  readonly atMs: number;
}

interface ObservedJob {
  readonly job: TrainingJob;
  /** Absent if the decided placement could not be reserved. */
  readonly decision?: Decision;
}

type Decided = Required<ObservedJob>;

/**
 * Observes the job, decides and reserves in one synchronous step. The reservation checks again that the placement fits, so no other job
 * gets the same GPUs.
 */
function observeAndDecide(key: string, view: JobView, found: Findings): ObservedJob | undefined {
  const job = view.findJob(key);
  if (job === undefined) return undefined;
  const placements = view.placementsOf(job);
  const pods = view.podsOf(job);
  const progress = view.progressOf(job);
  const planning = view.planningOf(job.metadata.uid);
  const quota = view.quotaOf?.(job);
  const runtime = withinQuota(view.runtimeOf(job), quota);
  const preflight = view.preflightOf(job);
  const trained = view.trainedOf(job);
  const verdicts = view.verdictsOf(job);
  const fabricChange = view.fabricChangeOf?.(job);
  const nodeRequest = view.nodeRequestOf?.(job);
  const leaderTerm = view.leaderTerm();
  const { scheduler, nodeSearches } = view;
  const reserved = scheduler.reservedFor(job.metadata.uid);
  const keptPlacement = view.keptPlacementOf(job);
  const unwrittenMs = view.unwrittenStatuses.forMs(job.metadata.uid, view.monotonicMs());
  let version: number | undefined;
  let rises: number | undefined;
  const isFresh = (atMs: number | undefined): boolean => atMs !== undefined && view.monotonicMs() - atMs < PROOF_MS;
  const seenStates = view.nodeStates(nodesInUse(job, placements, pods), job.metadata.namespace);
  const proof = isFresh(found.proof?.atMs) && isProofOf(found.proof, job, seenStates) ? found.proof : undefined;
  const ends = view.arbiter?.observe(job);
  const priorityClasses = view.priorityClasses?.();
  const decision = decide(
    {
      job,
      pods,
      placements,
      checkpoints: view.checkpointsOf(job),
      ...(priorityClasses === undefined ? {} : { priorityClasses }),
      capacity: () => {
        const capacity = scheduler.capacityFor(job.metadata.uid, demandOf(runtime) ?? demandOfQuota(quota));
        ({ version, rises } = capacity);
        return capacity;
      },
      doOthersWait: () => scheduler.isAnyJobWaiting(),
      waitingCount: () => scheduler.waiting.jobs,
      standingRefusal: (request) => scheduler.standingRefusal(job.metadata.uid, request),
      promise: () => scheduler.promiseFor(job.metadata.uid),
      ...(view.makeRoom === undefined ? {} : { makeRoom: (request) => view.makeRoom?.(job, request) ?? NO_ROOM }),
      ...(view.claimsOn === undefined ? {} : { claimsOnJob: () => view.claimsOn?.(job.metadata.uid) ?? [] }),
      returnRight: () => scheduler.rightOfReturn(job.metadata.uid),
      closedNodes: () => scheduler.closedTo(job.metadata.uid),
      areNodesHeld: () => scheduler.waitsBehind(job.metadata.uid) !== undefined,
      ...(nodeSearches === undefined
        ? {}
        : {
            nodeSearch: (search) => {
              const observed = nodeSearches.of(job.metadata.uid, search);
              if (observed.kind === 'found') ({ rises } = observed);
              return observed;
            },
          }),
      takenNodes: (placement, podIndices) => scheduler.takenNodes(placement, podIndices),
      isReservable: (placement) => scheduler.isReservable(placement),
      nodeStates: new Map([...seenStates, ...(proof?.nodeStates ?? [])]),
      nodeCensus: () => view.nodeCensus(),
      bootIdOf: (node) => view.bootIdOf(node),
      readySinceOf: (node) => view.readySinceOf(node),
      nodeConditionsOf: (node) => view.nodeConditionsOf(node),
      noticeOf: (node) => view.noticeOf(node, job.metadata.namespace),
      comingNoticeOf: (node) => view.comingNoticeOf(node, job.metadata.namespace),
      reportAgesMs: view.reportAgesMsOf(job),
      launchers: view.launchersOf(job),
      elapsedMs: view.stopwatches.elapsed(job.metadata.uid, view.monotonicMs()),
      timeouts: view.timeouts,
      retention: view.retention,
      ...(view.measuredGpus === undefined ? {} : { measuredGpus: view.measuredGpus }),
      isProven: proof !== undefined,
      isEvidenceProven: proof?.hasEvidence === true,
      provenJobs: proof?.jobs ?? NO_JOBS,
      areCheckpointsProven: isFresh(found.checkpointsAtMs),
      isStatusProven: proof !== undefined || isFresh(found.statusAtMs),
      refusedPods: found.refused,
      isShortOfPods: view.podQuotas?.isShort(job.metadata.namespace ?? '', view.monotonicMs()) === true,
      contested: found.contested ?? new Map(),
      refusedCheckpoints: view.refusedCheckpoints.of(job.metadata.uid, view.monotonicMs()),
      refusedCalls: view.refusedCalls.of(job.metadata.uid),
      ...(unwrittenMs === undefined ? {} : { unwrittenMs }),
      ...(found.podProbe === undefined ? {} : { podProbe: found.podProbe }),
      ...(view.podWarnings === undefined
        ? {}
        : { podWarning: view.podWarnings.of(job.metadata.uid, view.monotonicMs()) ?? 'unread' }),
      ...(view.references === undefined
        ? {}
        : { references: view.references.of(job.metadata.uid, view.monotonicMs()) ?? 'unread' }),
      ...(leaderTerm === undefined ? {} : { leaderTerm }),
      ...(reserved === undefined ? {} : { reserved }),
      ...(keptPlacement === undefined ? {} : { keptPlacement }),
      ...(progress === undefined ? {} : { progress }),
      ...(planning === undefined ? {} : { planning }),
      ...(runtime === undefined ? {} : { runtime }),
      ...(quota === undefined ? {} : { quota }),
      ...(preflight === undefined ? {} : { preflight }),
      ...(trained === undefined ? {} : { trained }),
      ...(verdicts.length === 0 ? {} : { verdicts }),
      ...(ends === undefined ? {} : { ruleOnEnd: ends.ruleOn }),
      ...(view.hearing === undefined ? {} : { hearing: view.hearing }),
      ...(fabricChange === undefined ? {} : { fabricChange }),
      ...(nodeRequest === undefined ? {} : { nodeRequest }),
      ...detectedOf(view, job),
    },
    view.now(),
  );
  ends?.finish();
  const { refusal } = decision;
  if (refusal !== undefined) {
    scheduler.recordRefusal({ ...refusal, jobUid: job.metadata.uid, ...(rises === undefined ? {} : { rises }) });
    nodeSearches?.end(job.metadata.uid);
  }
  view.stopwatches.keep(job.metadata.uid, decision.timed, view.monotonicMs());
  // A remembered placement needs no capacity, so there is no old version to check.
  const versionNow = (): number => version ?? scheduler.capacityFor(job.metadata.uid).version;
  const { reserve: placement, claims } = decision;
  const isReserved = reserve({ job, placement, claims, version: versionNow }, scheduler);
  if (decision.reserve !== undefined) nodeSearches?.end(job.metadata.uid);
  return isReserved ? { job, decision } : { job };
}

const NO_ROOM = { kind: 'none', reason: '' } as const;
const NO_JOBS: ReadonlySet<string> = new Set();

/** What the job's pods require of nodes; undefined if the runtime is unusable, because nothing is placed then. */
function demandOf(runtime: ObservedRuntime | undefined): NodeDemand | undefined {
  const usable = runtime?.kind === 'found' ? runtime.runtime.usable : undefined;
  return usable?.kind === 'usable' ? nodeDemandOf(usable.snapshot.template) : undefined;
}

function isProofOf(
  proof: Proof | undefined,
  job: TrainingJob,
  nodeStates: ReadonlyMap<string, NodeState>,
): proof is Proof {
  if (proof?.jobVersion !== job.metadata.resourceVersion) return false;
  return [...nodeStates].every(([node, state]) => state === 'ready' || proof?.nodeStates.has(node));
}

/**
 * Nodes of the current and the next epoch, and nodes under pods of any epoch that have not ended. A pod on a dead node is given up only if
 * the node's state is known.
 */
function nodesInUse(
  job: TrainingJob,
  placements: readonly Placement[],
  pods: readonly ObservedPod[],
): readonly string[] {
  const epoch = job.status?.epoch ?? 0;
  const placed = placements
    .filter(({ spec }) => spec.epoch >= epoch)
    .flatMap(({ spec }) => (spec.nodes as typeof spec.nodes | undefined) ?? []);
  const held = pods.filter((pod) => pod.ours && !['Succeeded', 'Failed'].includes(pod.phase));
  return [...new Set([...placed, ...held.flatMap(({ nodeName }) => nodeName ?? [])])];
}

/** Writes the status. If the server does not accept it, the decided actions are skipped, except those that release GPUs and those for a deleted job. */
function* record(
  { job, decision, found }: Decided & { readonly found: Findings },
  ports: ReconcilePorts,
): Calls<Findings> {
  const { view, effects } = ports;
  const answer = yield* writeStatus({ job, decision }, effects);
  if (answer?.kind === 'failed' && answer.cause !== 'conflict') {
    view.unwrittenStatuses.note(job.metadata.uid, view.monotonicMs());
    const isLong = (view.unwrittenStatuses.forMs(job.metadata.uid, view.monotonicMs()) ?? 0) >= UNWRITTEN_AFTER_MS;
    if (isLong) view.scheduler.setRecordable(job.metadata.uid, false);
    if (isLong || !mayPassByItself(answer)) releaseUnrecorded(job, view.scheduler);
    const { withoutRecord, unrecorded } = decision;
    const actions = answer.cause === 'refused' && withoutRecord.length > 0 ? withoutRecord : unrecorded;
    if (actions.length === 0) throw answer.error;
    warnOfRelease(job, actions, effects);
    return yield* perform({ job, actions, found }, ports);
  }
  if (answer?.kind === 'done') {
    noteRecorded(job.metadata.uid, view);
    effects.recordEvents(answer.job ?? job, decision.events);
  }
  // Either the server accepted the status for the observed job, or another writer changed the job and the view has its new version.
  const { proof, ...rest } = found;
  const jobVersion = answer?.kind === 'done' ? answer.job?.metadata.resourceVersion : undefined;
  const written = proof === undefined || jobVersion === undefined ? {} : { proof: { ...proof, jobVersion } };
  return { ...rest, ...written, refused: new Map(), statusAtMs: view.monotonicMs() };
}

function noteRecorded(jobUid: string, { unwrittenStatuses, scheduler }: JobView): void {
  unwrittenStatuses.forget(jobUid);
  scheduler.setRecordable(jobUid, true);
}

function warnOfRelease(job: TrainingJob, actions: readonly Action[], effects: JobEffects): void {
  const count = actions.reduce((sum, action) => sum + (action.kind === 'deletePods' ? action.pods.length : 0), 0);
  if (count === 0) return;
  effects.warn(
    job,
    `The API server does not accept the status of the job. ${count} pods of a gang that is to end are deleted without it, to release their GPUs. ` +
      `Their exit codes are kept until the status can be written; check admission webhooks for trainingjobs/status.`,
  );
}

/**
 * Releases a reservation whose status was refused, or could not be written for minutes, because it would block other jobs until a user changes something.
 * A reservation that may have been recorded stays.
 */
function releaseUnrecorded({ metadata, status }: TrainingJob, scheduler: ClusterScheduler): void {
  const reserved = scheduler.reservedFor(metadata.uid);
  if (reserved !== undefined && reserved.epoch > (status?.epoch ?? 0)) scheduler.release(metadata.uid);
}

function* writeStatus({ job, decision }: Decided, effects: JobEffects): Calls<Answer | undefined> {
  const [whole] = yield [{ kind: 'writeStatus', job, status: decision.status }];
  if (whole?.kind !== 'failed' || whole.cause !== 'refused') return whole;
  effects.warn(job, `The status of the job cannot be written as it is: ${messageOf(whole)}`);
  const [bare] = yield [{ kind: 'writeStatus', job, status: bareStatus(decision.status) }];
  return bare;
}

/** Performs actions in order. A failed action ends the pass and skips the actions after it. */
function* perform(
  { job, actions, found }: { readonly job: TrainingJob; readonly actions: readonly Action[]; readonly found: Findings },
  ports: ReconcilePorts,
): Calls<Findings> {
  const refused = new Map(found.refused);
  const refusedBefore = refused.size;
  const contested = new Map(found.contested);
  let { statusAtMs, podProbe, checkpointsAtMs } = found;
  let proof: Findings['proof'];
  for (const action of actions) performAtOnce(job, action, ports.effects);
  for (const batch of callBatches(job, actions)) {
    const answers = yield batch;
    for (const [index, answer] of answers.entries()) {
      const call = batch[index];
      if (call === undefined) continue;
      if (answer.kind === 'done') noteDone(call, ports.view);
      if (call.kind === 'probePod') podProbe = probeOf(call, answer, ports);
      else if (isCheckpointWrite(call)) noteCheckpoint(call, answer, ports);
      else if (answer.kind === 'failed') noteFailure({ call, answer, refused }, ports);
      else if (call.kind === 'createPlacement' && call.ofClaim !== true)
        ports.view.scheduler.markCreated(job.metadata.uid);
      else if (call.kind === 'deletePod' && answer.isContested === true)
        contested.set(call.pod.uid, (contested.get(call.pod.uid) ?? 0) + 1);
      else if (call.kind === 'readPodWarning')
        ports.view.podWarnings?.note(job.metadata.uid, {
          podUid: call.pod.uid,
          message: answer.warning,
          nowMs: ports.view.monotonicMs(),
        });
      else if (call.kind === 'readReferences')
        ports.view.references?.note(job.metadata.uid, call.references, {
          ...(answer.references ?? { unusable: [], ofOneNode: [] }),
          nowMs: ports.view.monotonicMs(),
        });
      else if (call.kind === 'readCheckpoints') {
        checkpointsAtMs = ports.view.monotonicMs();
        statusAtMs = checkpointsAtMs;
      } else if (call.kind === 'readLive') {
        statusAtMs = ports.view.monotonicMs();
        const jobVersion = job.metadata.resourceVersion;
        const hasEvidence = call.evidence === true;
        const jobs = new Set(call.jobs?.map(({ uid }) => uid));
        proof = { jobVersion, nodeStates: answer.nodeStates ?? new Map(), hasEvidence, jobs, atMs: statusAtMs };
      }
    }
    // The other pods would be refused too: stop until the refusal was decided upon.
    if (refused.size > refusedBefore) break;
  }
  return {
    refused,
    contested,
    ...(proof === undefined ? {} : { proof }),
    ...(statusAtMs === undefined ? {} : { statusAtMs }),
    ...(podProbe === undefined ? {} : { podProbe }),
    ...(checkpointsAtMs === undefined ? {} : { checkpointsAtMs }),
  };
}

function performAtOnce(job: TrainingJob, action: Action, effects: JobEffects): void {
  if (action.kind === 'planJob') effects.askPlanner(job, action.question);
  else if (action.kind === 'forgetPlanning') effects.forgetPlanning(job.metadata.uid);
  else if (action.kind === 'findNodes') effects.findNodes(job, action.search);
  else if (action.kind === 'askQuota') effects.askQuota?.(job, action.question);
  else if (action.kind === 'readRuntime') effects.readRuntime(job);
  else if (action.kind === 'refuseLaunchers') effects.refuseLaunchers(job, action.epoch);
}
