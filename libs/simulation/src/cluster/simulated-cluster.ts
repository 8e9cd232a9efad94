/** What would the operator do about it? The real rules (`reconcileJob`, `ClusterScheduler`, `launcherOrders`) on a cluster in memory. */
import {
  API_GROUP_VERSION,
  type Checkpoint,
  hasRanks,
  type Placement,
  type PlacementSpec,
  ranksOfPod,
  seatedPlacement,
  type TerminationCause,
} from '@coxswain/api-types';
import type { Attempt, TrainingJob, TrainingJobStatus } from '@coxswain/api-types';
import {
  type Answer,
  type Call,
  EndArbiter,
  isPauseOver,
  type JobEffects,
  type JobView,
  membersOf,
  reconcileJob,
  RefusedCalls,
  RefusedCheckpoints,
  UnwrittenStatuses,
  Stopwatches,
} from '@coxswain/lifecycle';
import { ClusterScheduler, type SchedulerView } from '@coxswain/scheduling';
import { savedAt, simulatedJob } from './simulated-job.ts';
import { type Condition, SimulatedNodes } from './simulated-nodes.ts';
import { SimulatedPods } from './simulated-pods.ts';

const JOB_KEY = 'simulation/simulated';
const UNSEEN = {
  warn: () => undefined,
  recordEvents: () => undefined,
  warnOfUnrecordedPlacements: () => undefined,
} as const;

/** One job on nodes that are its own. Virtual time passes outside; what the cluster does of itself takes none. */
export class SimulatedCluster {
  readonly nodes: SimulatedNodes;
  readonly pods: SimulatedPods;
  readonly #nowMs: () => number;
  readonly #scheduler: ClusterScheduler;
  readonly #view: JobView;
  readonly #gangNodes: number;
  job: TrainingJob;
  checkpoints: readonly Checkpoint[] = [];
  #placements: readonly Placement[] = [];
  #version = 0;
  /** Passes of the real `reconcileJob`. */
  reconciles = 0;

  /** `nowMs`: milliseconds of virtual time. */
  constructor(about: {
    readonly gangNodes: number;
    /** Free nodes, which standbys take too. */
    readonly spareNodes: number;
    readonly standbys?: number;
    readonly hasSwitches: boolean;
    readonly nowMs: () => number;
  }) {
    this.#nowMs = about.nowMs;
    this.#gangNodes = about.gangNodes;
    this.nodes = new SimulatedNodes(about.gangNodes + about.spareNodes, about.hasSwitches);
    this.pods = new SimulatedPods(this.nodes);
    this.job = simulatedJob(about.gangNodes, about.standbys ?? 0);
    this.#scheduler = new ClusterScheduler(this.#schedulerView());
    this.#view = this.#jobView();
  }

  get attempt(): Attempt | undefined {
    return this.job.status?.attempts?.at(-1);
  }

  /** Nodes of the newest gang, without standbys, by pod index. */
  get gang(): readonly string[] {
    const placement = this.#seated();
    return placement?.nodes.filter((_node, podIndex) => hasRanks(placement, podIndex)) ?? [];
  }

  /** Whether some of the newest ranks run in pods that were standbys of their attempt. */
  get standbysTaken(): number {
    return this.attempt?.replacements?.length ?? 0;
  }

  /** Whether every rank of the newest run of ranks has been started. */
  get isUp(): boolean {
    const { attempt } = this;
    if (attempt?.stage !== 'Released' || attempt.runningAt === undefined) return false;
    const { epoch, incarnation = 1 } = attempt;
    const launchers = [...this.pods.launchers.values()].filter((one) => one.epoch === epoch);
    const placement = this.#seated();
    const running = launchers.filter(
      (one) =>
        one.state === 'running' &&
        one.incarnation === incarnation &&
        placement !== undefined &&
        hasRanks(placement, one.podIndex),
    );
    return running.length === this.#gangNodes;
  }

  /** Why the rules have given the job up for good. */
  get gaveUp(): string | undefined {
    return this.job.status?.conditions?.find(({ type, status }) => type === 'Failed' && status === 'True')?.message;
  }

  /** No place was found for the gang, and one would be taken. */
  get waitsForNodes(): boolean {
    const placed = this.job.status?.conditions?.find(({ type }) => type === 'Placed');
    return this.attempt?.stage === 'Ended' && placed?.status === 'False';
  }

  become(node: string, condition: Condition): void {
    this.nodes.become(node, condition);
    this.#scheduler.nodeChanged(node);
    if (condition === 'well') this.pods.endDoomedOn(node);
  }

  /** The gang running now saves at that step; the rules keep as many as they retain. */
  save(step: number): void {
    const { epoch = 1, incarnation = 1 } = this.attempt ?? {};
    const saved = savedAt(this.job, { epoch, incarnation, step });
    this.checkpoints = [...this.checkpoints.filter(({ metadata }) => metadata.name !== saved.metadata.name), saved];
  }

  /** What was saved after that step is known to be of no use. */
  damageAfter(step: number): void {
    this.checkpoints = this.checkpoints.map((one) =>
      one.spec.step > step ? { ...one, status: { state: 'Damaged', message: 'corrupted before it was saved' } } : one,
    );
  }

  /** What the ranks on that node say when they fail by themselves. */
  #causeOn(node: string, lastStep: number, says: LogName): TerminationCause {
    const { epoch = 1, incarnation = 1 } = this.attempt ?? {};
    const rank = this.#rankOn(node);
    const report = { message: '', lastLines: [...LAST_LINES[says]], unreportedCheckpoints: [] };
    return { version: 1, kind: 'engineFailed', epoch, incarnation, node, rank, exitCode: 1, lastStep, ...report };
  }

  /** One GPU and one rank to a node. */
  #rankOn(node: string): number {
    const placement = this.#seated();
    return (placement && ranksOfPod(placement, placement.nodes.indexOf(node))[0]) ?? 0;
  }

  /** A rank fails by itself; its pod lives. */
  failRank(node: string, lastStep: number, says: LogName = 'program'): void {
    const pod = this.pods.on(node);
    if (pod !== undefined) this.pods.reap(pod, this.#causeOn(node, lastStep, says));
  }

  /** A device of it is found to be at fault and the node is cordoned, or the machine is gone. The gang ends either way. */
  loseNode(node: string, how: 'device' | 'machine', lastStep: number): void {
    if (how === 'machine') return this.loseNodes([node], lastStep);
    const pod = this.pods.on(node);
    this.become(node, 'wornOut');
    if (pod === undefined) return;
    this.pods.end(pod.name, { exitCode: 1, cause: this.#causeOn(node, lastStep, 'device') });
    this.#scheduler.gpusChanged(node);
  }

  /** Nothing on them answers any more; a rank elsewhere loses its peers. */
  loseNodes(nodes: readonly string[], lastStep: number): void {
    for (const node of nodes) this.become(node, 'dead');
    const peer = this.gang.find((node) => this.nodes.conditionOf(node) !== 'dead');
    if (peer !== undefined) this.failRank(peer, lastStep, 'lostPeer');
  }

  suspend(isSuspended: boolean): void {
    this.#touch({ ...this.job, spec: { ...this.job.spec, suspend: isSuspended } });
  }

  /** Lets the operator look and act until it has nothing to do now; answers with when it would look again by itself. */
  settle(): number | undefined {
    for (let pass = 0; pass < MOST_PASSES; pass++) {
      const before = this.#version;
      const requeueAfterMs = this.#reconcile();
      const isOrdered = this.#orderLaunchers();
      if (before === this.#version && !isOrdered) return requeueAfterMs;
    }
    throw new Error(`the operator found something to do in each of ${MOST_PASSES} passes at one moment`);
  }

  #reconcile(): number | undefined {
    this.reconciles += 1;
    const steps = reconcileJob(JOB_KEY, { view: this.#view, effects: this.#effects() });
    let step = steps.next();
    while (step.done !== true) step = steps.next(step.value.map((call) => this.#answer(call)));
    return step.value.requeueAfterMs;
  }

  #orderLaunchers(): boolean {
    const { delaySeconds } = this.job.spec.restartPolicy;
    const pause = { notBefore: this.job.status?.notBefore, delaySeconds };
    const placement = this.#seated();
    if (placement === undefined) return false;
    return this.pods.order(this.attempt, membersOf(placement), isPauseOver(pause, new Date(this.#nowMs())));
  }

  #answer(call: Call): Answer {
    if (call.kind === 'readLive') {
      return { kind: 'done', nodeStates: new Map(call.nodes.map((name) => [name, this.nodes.stateOf(name)])) };
    }
    if (['readCheckpoints', 'readEvidence', 'readReferences', 'readPodWarning', 'probePod'].includes(call.kind))
      return { kind: 'done' };
    this.#version += 1;
    if (call.kind === 'writeStatus') return { kind: 'done', job: this.#writeStatus(call.status) };
    this.#perform(call);
    return { kind: 'done' };
  }

  #perform(call: Call): void {
    switch (call.kind) {
      case 'createPlacement':
        return this.#createPlacement(call.name, call.spec);
      case 'deletePlacement':
        this.#placements = this.#placements.filter(({ metadata }) => metadata.uid !== call.placement.uid);
        return;
      case 'createPod':
        return this.pods.create(call.name, { epoch: call.placement.epoch, podIndex: call.podIndex });
      case 'liftGate':
        return this.#start(call.pod.name);
      case 'deletePod':
        return this.#deletePod(call);
      case 'releasePod':
        return this.pods.release(call.pod);
      case 'deleteCheckpoint':
        this.checkpoints = this.checkpoints.filter(({ metadata }) => metadata.uid !== call.checkpoint.uid);
        return;
      default:
        // Neither computing domains nor finalizers, nor checkpoints that launchers tell of late, are part of what is simulated.
        return;
    }
  }

  #deletePod({ pod, gracePeriodSeconds }: Extract<Call, { kind: 'deletePod' }>): void {
    const node = this.pods.named(pod.name)?.nodeName;
    this.pods.delete(pod, gracePeriodSeconds, this.#nowMs());
    if (node !== undefined) this.#scheduler.gpusChanged(node);
  }

  #start(name: string): void {
    const pod = this.pods.named(name);
    const node = this.#placementOf(pod?.epoch)?.nodes[pod?.podIndex ?? 0];
    if (node === undefined) return;
    this.pods.start(name, node);
    this.#scheduler.gpusChanged(node);
  }

  #createPlacement(name: string, spec: PlacementSpec): void {
    const metadata = { name, namespace: 'simulation', uid: `uid-of-${name}` };
    this.#placements = [...this.#placements, { apiVersion: API_GROUP_VERSION, kind: 'Placement', metadata, spec }];
  }

  /** The newest placement, with the ranks in the pods that hold them now. */
  #seated(): PlacementSpec | undefined {
    const placement = this.#placementOf(this.attempt?.epoch);
    return placement && seatedPlacement(placement, this.attempt ?? {});
  }

  #placementOf(epoch: number | undefined): PlacementSpec | undefined {
    return this.#placements.findLast(({ spec }) => spec.epoch === epoch)?.spec;
  }

  #writeStatus(status: TrainingJobStatus): TrainingJob {
    return this.#touch({ ...this.job, status });
  }

  #touch(job: TrainingJob): TrainingJob {
    const before = this.job;
    this.job = { ...job, metadata: { ...job.metadata, resourceVersion: `${++this.#version}` } };
    this.#scheduler.jobChanged(before, this.job);
    return this.job;
  }

  #schedulerView(): SchedulerView {
    return {
      monotonicMs: this.#nowMs,
      now: () => new Date(this.#nowMs()),
      nodes: () => this.nodes.allFacts(),
      node: (name) => this.nodes.factsOf(name),
      gpusUnderPods: (name) => this.nodes.usedGpusOf(name),
      gpusUnderPodsByNode: () => this.nodes.usedGpus(),
      reserve: () => undefined,
      jobs: () => [this.job],
      job: (uid) => (uid === this.job.metadata.uid ? this.job : undefined),
      placements: () => this.#placements,
      settledPods: () =>
        new Set(this.pods.all.flatMap((pod) => (pod.nodeName === undefined && pod.phase !== 'Failed' ? [] : pod.name))),
      hasPod: (_job, podName) => this.pods.all.some(({ name }) => name === podName),
    };
  }

  #jobView(): JobView {
    return {
      now: () => new Date(this.#nowMs()),
      monotonicMs: this.#nowMs,
      leaderTerm: () => 1,
      stopwatches: new Stopwatches(),
      refusedCheckpoints: new RefusedCheckpoints(),
      refusedCalls: new RefusedCalls(),
      unwrittenStatuses: new UnwrittenStatuses(),
      timeouts: {},
      retention: {},
      findJob: () => this.job,
      podsOf: () => this.pods.all,
      placementsOf: () => this.#placements,
      checkpointsOf: () => this.checkpoints,
      nodeStates: (names) => new Map(names.map((name) => [name, this.nodes.stateOf(name)])),
      nodeCensus: () => this.nodes.census(),
      nodeConditionsOf: () => [],
      noticeOf: () => undefined,
      comingNoticeOf: () => undefined,
      bootIdOf: (node) => this.nodes.bootIdOf(node),
      // What boots again is another boot, and is ready since.
      readySinceOf: (node) => this.nodes.bootIdOf(node),
      reportAgesMsOf: () => this.pods.reportAgesMs(),
      launchersOf: () => this.pods.launchers,
      preflightOf: () => undefined,
      trainedOf: () => undefined,
      verdictsOf: () => [],
      findingsOf: () => [],
      scheduler: this.#scheduler,
      arbiter: new EndArbiter({ jobs: () => [this.job], now: () => new Date(this.#nowMs()) }),
      keptPlacementOf: () => undefined,
      progressOf: () => undefined,
      runtimeOf: () => undefined,
      planningOf: () => undefined,
    };
  }

  #refuseLaunchers(epoch: number): void {
    for (const { nodeName } of this.pods.refuse(epoch)) {
      this.#version += 1;
      if (nodeName !== undefined) this.#scheduler.gpusChanged(nodeName);
    }
  }

  #effects(): JobEffects {
    const nothing = (): void => undefined;
    const unasked = { askPlanner: nothing, forgetPlanning: nothing, findNodes: nothing, readRuntime: nothing };
    return { ...UNSEEN, ...unasked, refuseLaunchers: (_job, epoch) => this.#refuseLaunchers(epoch) };
  }
}

/** The last words of ranks as their engines write them: of them, too, the rules judge whose doing a failure is. */
const LAST_LINES = {
  program: ['RuntimeError: simulated'],
  device: ['RuntimeError: CUDA error: uncorrectable ECC error encountered'],
  lostPeer: [
    'torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp, remote process exited or there was a network error',
    'ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.',
  ],
} as const;
type LogName = keyof typeof LAST_LINES;

/** A failure's whole answer takes about ten. */
const MOST_PASSES = 200;
