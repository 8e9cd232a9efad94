import type { Placement, PlacementSpec, TrainingJob } from '@coxswain/api-types';
import type { NodeDemand } from '@coxswain/fabric';
import { nodeDemandOf } from '@coxswain/runtime';
import type { ClusterScheduler } from '@coxswain/scheduling';
import { decide } from '../decide/decide.ts';
import type { Action, Decision } from '../decide/decision.ts';
import type { NodeState, Observed, ObservedPod, ObservedRuntime } from '../observation/observed.ts';
import { bareStatus, isRecordedAs } from '../record/bare-status.ts';
import type { Answer, Call, Calls } from './calls.ts';
import type { CheckpointWrite } from '../observation/refused-checkpoints.ts';
import { callBatches } from './call-batches.ts';
import type { JobEffects, JobView } from './job-view.ts';

/** What a reconcile asks for: another look after so long, if nothing else leads to one earlier. */
export interface ReconcileOutcome {
  readonly requeueAfterMs?: number;
}

/** Where a reconcile looks and what it may do besides its calls. */
export interface ReconcilePorts {
  readonly view: JobView;
  readonly effects: JobEffects;
}

/**
 * Looks at the job of that key (`namespace/name`), decides, and does one kind of thing at a time until nothing is left to do. It makes no call
 * itself: it yields each batch of calls and goes on with their answers, so that the operator, the tests and a simulator run the same code.
 *
 * Status is the intent and comes first: a pass either writes status or acts upon what is recorded, never both, so a process that dies between
 * the two leaves nothing that its successor could not continue. Throws the error of a call that the next look cannot answer.
 */
export function* reconcileJob(key: string, ports: ReconcilePorts): Calls<ReconcileOutcome> {
  let found: Findings = { refused: new Map() };
  const jobUid = ports.view.findJob(key)?.metadata.uid;
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const look = lookAt(key, ports.view, found);
    // Another job that has taken the name meanwhile was not proven: its own arrival leads to a look at it.
    if (look === undefined || look.job.metadata.uid !== jobUid) return {};
    const { job, decision } = look;
    // Its GPUs went to another job, or their nodes changed, since they were looked at: placed anew.
    if (decision === undefined) continue;
    ports.effects.warnOfStrangers(job, decision.strangers);
    if (decision.readsFirst !== true && !isRecordedAs(job.status, decision.status)) {
      found = yield* record({ job, decision, found }, ports);
      continue;
    }
    const { requeueAfterMs } = decision;
    if (decision.actions.length === 0) return requeueAfterMs === undefined ? {} : { requeueAfterMs };
    found = yield* perform({ job, actions: decision.actions, found }, ports);
  }
  // Every pass found something to do. The next round comes soon, behind the other jobs.
  return { requeueAfterMs: RETRY_SOON_MS };
}

/** Enough for a gang's whole start and for a failure's whole answer in one go. */
const MAX_PASSES = 16;
const RETRY_SOON_MS = 1_000;

/** How long a live read is good for. */
const PROOF_MS = 5_000;

/** What the cluster said that no cache shows, and when (by the monotonic clock). */
interface Findings {
  /** Pods that it refuses to make, in its words; forgotten once the status has been written. */
  readonly refused: ReadonlyMap<string, string>;
  /** Good for one batch of actions and whatever status is written before it. */
  readonly proof?: Proof;
  /** When the status was known to be the newest. */
  readonly statusAtMs?: number;
  /** How often a delete of each pod was refused because it had changed, by UID. */
  readonly contested?: ReadonlyMap<string, number>;
  /** What the cluster says to a pod of the next epoch. */
  readonly podProbe?: NonNullable<Observed['podProbe']>;
  /** When the job's checkpoints were read. */
  readonly checkpointsAtMs?: number;
}

/** A live read, and what it was asked for: it proves nothing of a job that turned out to be further, or of nodes that nobody doubted then. */
interface Proof {
  /** resourceVersion of the job as it was seen when the read was asked for, or as it was written since. */
  readonly jobVersion: string | undefined;
  readonly nodeStates: ReadonlyMap<string, NodeState>;
  readonly atMs: number;
}

interface Look {
  readonly job: TrainingJob;
  /** Absent where what it places could not be reserved. */
  readonly decision?: Decision;
}

type Decided = Required<Look>;

/** From here to the reservation nothing waits, and it asks again whether the placement fits: no other job is given the same GPUs in between. */
function lookAt(key: string, view: JobView, found: Findings): Look | undefined {
  const job = view.findJob(key);
  if (job === undefined) return undefined;
  const placements = view.placementsOf(job);
  const pods = view.podsOf(job);
  const progress = view.progressOf(job);
  const planning = view.planningOf(job.metadata.uid);
  const runtime = view.runtimeOf(job);
  const preflight = view.preflightOf(job);
  const trained = view.trainedOf(job);
  const verdicts = view.verdictsOf(job);
  const fabricChange = view.fabricChangeOf?.(job);
  const nodeRequest = view.nodeRequestOf?.(job);
  const findings = view.findingsOf(job);
  const leaderTerm = view.leaderTerm();
  const { scheduler, nodeSearches } = view;
  const reserved = scheduler.reservedFor(job.metadata.uid);
  const keptPlacement = view.keptPlacementOf(job);
  let version: number | undefined;
  const isFresh = (atMs: number | undefined): boolean => atMs !== undefined && view.monotonicMs() - atMs < PROOF_MS;
  const seenStates = view.nodeStates(nodesInUse(job, placements, pods));
  const proof = isFresh(found.proof?.atMs) && isProofOf(found.proof, job, seenStates) ? found.proof : undefined;
  const decision = decide(
    {
      job,
      pods,
      placements,
      checkpoints: view.checkpointsOf(job),
      capacity: () => {
        const capacity = scheduler.capacityFor(job.metadata.uid, demandOf(runtime));
        ({ version } = capacity);
        return capacity;
      },
      doOthersWait: () => scheduler.isAnyJobWaiting(),
      standingRefusal: (request) => scheduler.standingRefusal(job.metadata.uid, request),
      ...(nodeSearches === undefined ? {} : { nodeSearch: (search) => nodeSearches.of(job.metadata.uid, search) }),
      takenNodes: (placement, podIndices) => scheduler.takenNodes(placement, podIndices),
      isReservable: (placement) => scheduler.isReservable(placement),
      nodeStates: new Map([...seenStates, ...(proof?.nodeStates ?? [])]),
      nodeCensus: () => view.nodeCensus(),
      bootIdOf: (node) => view.bootIdOf(node),
      readySinceOf: (node) => view.readySinceOf(node),
      nodeConditionsOf: (node) => view.nodeConditionsOf(node),
      noticeOf: (node) => view.noticeOf(node),
      comingNoticeOf: (node) => view.comingNoticeOf(node),
      heardMs: view.heardMsOf(job),
      launchers: view.launchersOf(job),
      elapsedMs: view.stopwatches.elapsed(job.metadata.uid, view.monotonicMs()),
      timeouts: view.timeouts,
      retention: view.retention,
      ...(view.measuredGpus === undefined ? {} : { measuredGpus: view.measuredGpus }),
      isProven: proof !== undefined,
      areCheckpointsProven: isFresh(found.checkpointsAtMs),
      isStatusProven: proof !== undefined || isFresh(found.statusAtMs),
      refusedPods: found.refused,
      contested: found.contested ?? new Map(),
      refusedCheckpoints: view.refusedCheckpoints.of(job.metadata.uid, view.monotonicMs()),
      ...(found.podProbe === undefined ? {} : { podProbe: found.podProbe }),
      ...(leaderTerm === undefined ? {} : { leaderTerm }),
      ...(reserved === undefined ? {} : { reserved }),
      ...(keptPlacement === undefined ? {} : { keptPlacement }),
      ...(progress === undefined ? {} : { progress }),
      ...(planning === undefined ? {} : { planning }),
      ...(runtime === undefined ? {} : { runtime }),
      ...(preflight === undefined ? {} : { preflight }),
      ...(trained === undefined ? {} : { trained }),
      ...(verdicts.length === 0 ? {} : { verdicts }),
      ...(fabricChange === undefined ? {} : { fabricChange }),
      ...(nodeRequest === undefined ? {} : { nodeRequest }),
      ...(findings.length === 0 ? {} : { findings }),
    },
    view.now(),
  );
  const { refusal } = decision;
  if (refusal !== undefined) {
    scheduler.recordRefusal(refusal.request, refusal.refusal);
    nodeSearches?.end(job.metadata.uid);
  }
  view.stopwatches.keep(job.metadata.uid, decision.timed, view.monotonicMs());
  // Where no capacity was looked at, as for a placement that is remembered, there is none that could be old.
  const versionNow = (): number =>
    nodeSearches?.versionOf(job.metadata.uid) ?? version ?? scheduler.capacityFor(job.metadata.uid).version;
  const isReserved = reserve({ job, placement: decision.reserve, version: versionNow }, scheduler);
  if (decision.reserve !== undefined) nodeSearches?.end(job.metadata.uid);
  return isReserved ? { job, decision } : { job };
}

/** What its pods ask of nodes; where the runtime cannot be used nothing is placed. */
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

/** Holds what status is to record, or records already, from before its Placement is there; what was held before and is of no use any more is given up. */
function reserve(
  about: { readonly job: TrainingJob; readonly placement: PlacementSpec | undefined; readonly version: () => number },
  scheduler: ClusterScheduler,
): boolean {
  const { job, placement, version } = about;
  const { uid } = job.metadata;
  if (placement !== undefined && scheduler.reservedFor(uid) === placement) return true;
  scheduler.release(uid);
  return placement === undefined || scheduler.reserve(placement, version());
}

/**
 * Nodes of the epoch that runs or is about to, and those under pods that have not ended, whatever their epoch: a pod on a dead node is
 * given up only by one who knows that the node is dead.
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

/** Writes the status. Where the server will not have it in any form, what was decided on it is not done, but a deleted job is let go of. */
function* record(
  { job, decision, found }: Decided & { readonly found: Findings },
  ports: ReconcilePorts,
): Calls<Findings> {
  const { view, effects } = ports;
  const answer = yield* writeStatus({ job, decision }, effects);
  if (answer?.kind === 'failed' && answer.cause !== 'conflict') {
    if (answer.cause !== 'transient') releaseUnrecorded(job, view.scheduler);
    if (answer.cause !== 'refused' || decision.withoutRecord.length === 0) throw answer.error;
    return yield* perform({ job, actions: decision.withoutRecord, found }, ports);
  }
  if (answer?.kind === 'done') effects.announce(answer.job ?? job, decision.events);
  // The server took it for the very job that was seen, or (somebody changed the job while we looked) the view has it as it is now.
  const { proof, ...rest } = found;
  const jobVersion = answer?.kind === 'done' ? answer.job?.metadata.resourceVersion : undefined;
  const written = proof === undefined || jobVersion === undefined ? {} : { proof: { ...proof, jobVersion } };
  return { ...rest, ...written, refused: new Map(), statusAtMs: view.monotonicMs() };
}

/** What will not be recorded before somebody changes something is no reason to keep others waiting. Unlike what may have been, or is recorded already. */
function releaseUnrecorded({ metadata, status }: TrainingJob, scheduler: ClusterScheduler): void {
  const reserved = scheduler.reservedFor(metadata.uid);
  if (reserved !== undefined && reserved.epoch > (status?.epoch ?? 0)) scheduler.release(metadata.uid);
}

function* writeStatus({ job, decision }: Decided, effects: JobEffects): Calls<Answer | undefined> {
  const [whole] = yield [{ kind: 'writeStatus', job, status: decision.status }];
  if (whole?.kind !== 'failed' || whole.cause !== 'refused') return whole;
  effects.warn(job, `The status of the job cannot be written as it is: ${messageOf(whole.error)}`);
  const [bare] = yield [{ kind: 'writeStatus', job, status: bareStatus(decision.status) }];
  return bare;
}

/** Performs actions in order; what cannot be done ends the pass, and what comes after it in order is not done. */
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
      if (call.kind === 'probePod') podProbe = probeOf(call, answer, ports.effects);
      else if (isCheckpointWrite(call)) noteCheckpoint(call, answer, ports);
      else if (answer.kind === 'failed') noteFailure({ call, answer, refused }, ports.effects);
      else if (call.kind === 'createPlacement') ports.view.scheduler.markCreated(job.metadata.uid);
      else if (call.kind === 'deletePod' && answer.isContested === true)
        contested.set(call.pod.uid, (contested.get(call.pod.uid) ?? 0) + 1);
      else if (call.kind === 'readCheckpoints') {
        checkpointsAtMs = ports.view.monotonicMs();
        statusAtMs = checkpointsAtMs;
      } else if (call.kind === 'readLive') {
        statusAtMs = ports.view.monotonicMs();
        const jobVersion = job.metadata.resourceVersion;
        proof = { jobVersion, nodeStates: answer.nodeStates ?? new Map(), atMs: statusAtMs };
      }
    }
    // The others would be refused as well: ask no more before somebody has decided what that means.
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

function probeOf({ job }: Call, answer: Answer, effects: JobEffects): NonNullable<Observed['podProbe']> {
  if (answer.kind === 'done') return { kind: 'accepted' };
  const message = messageOf(answer.error);
  if (answer.cause === 'transient') throw answer.error;
  effects.warn(job, message);
  if (answer.cause !== 'refused') throw answer.error;
  return { kind: 'refused', message };
}

function performAtOnce(job: TrainingJob, action: Action, effects: JobEffects): void {
  if (action.kind === 'planJob') effects.askPlanner(job, action.question);
  else if (action.kind === 'forgetPlanning') effects.forgetPlanning(job.metadata.uid);
  else if (action.kind === 'findNodes') effects.findNodes(job, action.search);
  else if (action.kind === 'readRuntime') effects.readRuntime(job);
  else if (action.kind === 'refuseLaunchers') effects.refuseLaunchers(job, action.epoch);
}

type CheckpointCall = Extract<Call, { kind: CheckpointWrite['kind'] }>;

function isCheckpointWrite(call: Call): call is CheckpointCall {
  return ['createCheckpoint', 'markCheckpointDamaged', 'deleteCheckpoint'].includes(call.kind);
}

/** What the server will not have of a Checkpoint is kept and tried again: no gang, end or finalizer waits for it. */
function noteCheckpoint(call: CheckpointCall, answer: Answer, { view, effects }: ReconcilePorts): void {
  const { uid } = call.job.metadata;
  const write = { kind: call.kind, name: call.kind === 'deleteCheckpoint' ? call.checkpoint.name : call.name };
  if (answer.kind === 'done') return view.refusedCheckpoints.done(uid, write);
  if (answer.cause === 'conflict') throw answer.error;
  const message = messageOf(answer.error);
  const why = { message, isRefusal: answer.cause !== 'transient', nowMs: view.monotonicMs() };
  if (!view.refusedCheckpoints.note(uid, write, why)) throw answer.error;
  effects.warn(call.job, message);
}

function noteFailure(
  failed: {
    readonly call: Call;
    readonly answer: Extract<Answer, { kind: 'failed' }>;
    readonly refused: Map<string, string>;
  },
  effects: JobEffects,
): void {
  const { call, answer, refused } = failed;
  const { error, cause } = answer;
  if (call.kind === 'createPod' && cause === 'refused') {
    refused.set(call.name, messageOf(error));
    return;
  }
  const isOvertaken = cause === 'conflict' && (call.kind === 'addFinalizer' || call.kind === 'removeFinalizer');
  if (isOvertaken) return;
  if (cause === 'refused' || cause === 'needsPerson') effects.warn(call.job, messageOf(error));
  throw error;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
