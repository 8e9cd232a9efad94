/*
 * More than 400 lines: one cluster, whose parts see each other's state.
 */
import {
  API_GROUP_VERSION,
  type Checkpoint,
  FINALIZER,
  hasRanks,
  LABELS,
  memberCount,
  type Placement,
  type PlacementSpec,
  type TerminationCause,
  type TrainingJob,
  type TrainingJobSpec,
  type TrainingJobStatus,
  podName,
  type ObjectReference,
  type UnusableReference,
  seatedPlacement,
} from '@coxswain/api-types';
import type { NodeFacts } from '@coxswain/fabric';
import { newestRestorable } from '@coxswain/checkpoint';
import type { NodeCondition } from '@coxswain/health';
import type { JobPlanQuestion } from '@coxswain/job-planning';
import type { PodReference } from '../decide/decision.ts';
import type { NodeNotice } from '../notices/node-notices.ts';
import type {
  Finding,
  NodeState,
  ObservedPlanning,
  ObservedPod,
  ObservedProgress,
  ObservedStanding,
  Verdict,
} from '../observation/observed.ts';
import type { Answer, Call, FailedAnswer, FailureCause } from '../perform/calls.ts';
import type { JobEffects, JobView } from '../perform/job-view.ts';
import { reconcileJob } from '../perform/reconcile-job.ts';
import { isPauseOver, membersOf } from '../launchers/launcher-orders.ts';
import { doesAnswer } from '../observation/facts.ts';
import { placementSha256 } from '@coxswain/scheduling';
import type { Retention } from '../observation/retention.ts';
import { ReferenceReads } from '../observation/references.ts';
import { RefusedCalls } from '../observation/refused-calls.ts';
import { RefusedCheckpoints } from '../observation/refused-checkpoints.ts';
import { UnwrittenStatuses } from '../observation/unwritten-statuses.ts';
import { Stopwatches } from '../observation/stopwatches.ts';
import { Launchers } from './launchers.ts';
import { plannedAnswer } from './planned-answer.ts';
import { aCheckpoint, anExit } from './builders.ts';
import type { EndArbiter } from '../arbiter/end-arbiter.ts';
import { type Member, type SeenJob, SharedCluster } from './shared-cluster.ts';

/** What can go wrong, or be asked, between two looks. `pick` chooses among the candidates of that moment. */
export type WorldFault =
  | { readonly kind: 'exit'; readonly code: number; readonly pick: number }
  /** A rank fails by itself at that step, and its launcher lives. */
  | { readonly kind: 'failRank'; readonly step: number; readonly pick: number }
  /** A launcher neither hears nor says anything for so long. */
  | { readonly kind: 'loseConnection'; readonly ms: number; readonly pick: number }
  /**
   * loseNode: it does not answer, and nothing on it computes; or its object is gone. silenceKubelet: the cluster calls it not ready, while its
   * pods go on. hangPod: it cannot be ended before its node is restored. announce: somebody says that it is about to go away.
   */
  | {
      readonly kind: 'deletePod' | 'evict' | 'loseNode' | 'announce' | 'silenceKubelet' | 'hangPod' | 'saveCheckpoint';
      readonly pick: number;
    }
  /** The gang saves and nobody hears it: only the termination message of the pod that saved tells of it. */
  | { readonly kind: 'saveUnheard'; readonly step: number }
  /** The API server takes no Checkpoint objects, for want of quota; or it takes them again. */
  | { readonly kind: 'refuseCheckpoints' | 'acceptCheckpoints' }
  /** Several nodes stop answering. */
  | { readonly kind: 'loseRack'; readonly nodes: readonly string[] }
  /** The operator's wall clock is so far from that of the API server, from now on. */
  | { readonly kind: 'skewClock'; readonly ms: number }
  /** One answer of the API server to a write of its next pass does not arrive, whether that was done or not; the process lives on. */
  | { readonly kind: 'loseAnswer'; readonly afterWrites: number; readonly isDone: boolean }
  /** The API server takes none of the gang's pods from that index on; or it takes them again. */
  | { readonly kind: 'refusePods'; readonly fromIndex: number }
  | { readonly kind: 'acceptPods' }
  /** That node's kubelet ends each pod that it is given before any container has run, until the nodes are restored. */
  | { readonly kind: 'turnAway'; readonly pick: number }
  /** A stranger makes a pod under the name of one of the gang's that is not there. */
  | { readonly kind: 'takeName'; readonly pick: number }
  | { readonly kind: 'restoreNodes' | 'suspend' | 'resume' | 'cancel' | 'delete' | 'loseStatus' }
  /** Somebody deletes the Placement of the newest attempt. */
  | { readonly kind: 'deletePlacement' }
  /** That node's mount of the checkpoints answers errors, or with other bytes, until the nodes are restored. */
  | { readonly kind: 'breakMount'; readonly pick: number; readonly as: Misread }
  /** A file of that checkpoint is cut off. */
  | { readonly kind: 'damage'; readonly pick: number }
  | { readonly kind: 'askFor'; readonly from: string }
  /** The planner does not answer the question that is under way, or the next one. */
  | { readonly kind: 'plannerFails' }
  /** In its next pass the operator sees these kinds as they were `looksAgo` passes ago, until its own calls tell it better. */
  | { readonly kind: 'staleObservation'; readonly looksAgo: number; readonly of: readonly Lagging[] }
  /** The operator dies after that many writes of its next pass. */
  | {
      readonly kind: 'crash';
      readonly afterWrites: number;
      /** Its next status, Placement or pod is on the way then, and reaches the server so much later. */
      readonly lateMs?: number;
    };

type Misread = 'FileUnreadable' | 'MountBroken' | 'ContentDiffers';

/** What the operator sees by a watch of its own each; they lag apart. */
export const LAGGING = ['job', 'pods', 'placements', 'checkpoints', 'nodes'] as const;
export type Lagging = (typeof LAGGING)[number];

const NOTICE: NodeNotice = { rule: 'maintenance', mark: 'taint of the world' };

interface Snapshot {
  readonly job: TrainingJob | undefined;
  readonly pods: readonly ObservedPod[];
  readonly placements: readonly Placement[];
  readonly checkpoints: readonly Checkpoint[];
  readonly nodes: ReadonlyMap<string, NodeState>;
}

type View = { -readonly [K in keyof Snapshot]: Snapshot[K] };

/**
 * A cluster in memory: it performs decisions as the operator's performer must, and plays API server, scheduler, kubelet and engine.
 * Deterministic; time passes only by {@link tick}. For property tests of `decide`.
 */
export class World implements Member {
  now = new Date('2026-01-01T00:00:00Z');
  job: TrainingJob | undefined;
  /** Every status that was ever written, in order. */
  readonly history: TrainingJobStatus[] = [];
  /** Writes of every kind that reached the server. */
  writes = 0;
  /** Sentences about rules that the operator's writes broke, as an auditor of the API server's log would find them. */
  readonly violations: string[] = [];
  /** Failures that befell pods or ranks: what may have been charged. */
  harms = 0;
  pods: readonly ObservedPod[] = [];
  placements: readonly Placement[] = [];
  checkpoints: readonly Checkpoint[] = [];

  /** What this job shares with others. */
  readonly #cluster: SharedCluster;
  /** The newest Placement that the operator's process has seen. */
  #seenPlacement: Placement | undefined;
  /** Somebody changes every pod between each read of it and its delete. */
  isPestered = false;
  /** What detectors say. */
  verdicts: readonly Verdict[] = [];
  findings: readonly Finding[] = [];
  standing: ObservedStanding | undefined;
  /** What Nodes say of themselves, and who says that one will go away later. */
  readonly nodeConditions = new Map<string, readonly NodeCondition[]>();
  readonly comingNotices = new Map<string, NodeNotice>();
  /** What leaving Nodes say, if not that they go at once. */
  readonly notices = new Map<string, NodeNotice>();
  /** Since when Nodes are ready, as they say. */
  readonly readySince = new Map<string, string>();
  /** The engine tells its steps. */
  reportsSteps = false;
  /** What verdicts stand on is read again. */
  readsEvidence: () => void = () => undefined;
  /** Why the server will not have such a status of the job. */
  refusesStatus: (status: TrainingJobStatus) => FailureCause | undefined = () => undefined;
  /** Objects that the job names and that pods cannot use. */
  unusable: readonly UnusableReference[] = [];
  /** Claims that one node alone can mount. */
  ofOneNode: readonly ObjectReference[] = [];
  readonly #references = new ReferenceReads();
  /** What the cluster answers instead of doing as it is asked. */
  denies: (call: Call) => FailedAnswer | undefined = () => undefined;
  readonly #nodes: Map<string, NodeState>;
  /** Not ready in the eyes of the cluster, while their launchers go on reporting. */
  readonly #kubeletsSilent = new Set<string>();
  /** UIDs of pods that nothing can end, and of those whose launcher received the end of its attempt. */
  readonly #hanging = new Set<string>();
  /** How often launchers of a gang were refused. */
  refusals = 0;
  readonly #dismissed = new Set<string>();
  /** Nodes that end pods before any container has run. */
  readonly #turningAway = new Set<string>();
  #skewMs = 0;
  #stopwatches = new Stopwatches();
  #refusedCheckpoints = new RefusedCheckpoints();
  #refusedCalls = new RefusedCalls();
  #unwrittenStatuses = new UnwrittenStatuses();
  readonly #launchers = new Launchers(this.violations);
  readonly #brokenMounts = new Map<string, Misread>();
  /** Names of checkpoints whose content is not what was saved. */
  readonly cutOff = new Set<string>();
  /** Steps that pods have saved and nobody heard of, by the pod's UID. */
  readonly #silentPods = new Map<string, readonly number[]>();
  /** Names of the checkpoints that termination messages told of before the end of their attempt was recorded. */
  readonly reportedCheckpoints = new Set<string>();
  /** Names of the Checkpoint objects that the operator has deleted. */
  readonly collected: string[] = [];
  /** How many Checkpoint objects the operator keeps; absent: the defaults. */
  retention: Partial<Retention> = {};
  #takesCheckpoints = true;
  #snapshots: Snapshot[] = [];
  #lag: Partial<Record<Lagging, number>> = {};
  /** What the operator's caches show during a pass. */
  #view: View = { job: undefined, pods: [], placements: [], checkpoints: [], nodes: new Map() };
  #writesUntilCrash: number | undefined;
  #lostAnswer: { afterWrites: number; readonly isDone: boolean } | undefined;
  #refusedFromIndex = Number.POSITIVE_INFINITY;
  /** Newest step that was reported. */
  #progress: ObservedProgress | undefined;
  #lateMs: number | undefined;
  /** Writes of operators that died. */
  #onTheWay: readonly { readonly atMs: number; readonly land: () => void }[] = [];
  #serial = 0;
  /** What the pods of each attempt were made from: they have it in them, whatever becomes of the object. */
  readonly #placed = new Map<number, PlacementSpec>();
  /** Epochs of which a gate was lifted. */
  readonly #released = new Set<number>();
  #newestStarted = 0;
  /** What the operator's process remembers of its last question to the planner. */
  #planning: ObservedPlanning | undefined;
  /** What the planner will have said when time has passed. */
  #plannerAnswer: ObservedPlanning | undefined;
  #plannerFails = false;

  /** `nodeFacts` are those of every node, beside its name and state; both are for a cluster of the job's own. */
  constructor(
    job: TrainingJob,
    nodeFacts: Partial<NodeFacts> = {},
    nodes: readonly string[] = ['node-a', 'node-b', 'node-c'],
    cluster?: SharedCluster,
  ) {
    this.job = job;
    this.#cluster = cluster ?? new SharedCluster({ nodes, nodeFacts, monotonicMs: () => this.now.getTime() });
    this.#nodes = this.#cluster.nodes;
    this.#cluster.join(this);
  }

  get arbiter(): EndArbiter {
    return this.#cluster.arbiter;
  }

  /** What the operator's caches show at this moment. */
  get seen(): SeenJob {
    return this.#view;
  }

  refreshCaches(): void {
    const { job, pods, placements, checkpoints } = this;
    this.#snapshots.push({ job, pods, placements, checkpoints, nodes: new Map(this.#nodes) });
    this.#view = this.#laggingView();
  }

  readLiveJob(): void {
    this.#view.job = this.job;
  }

  forgetProcess(): void {
    this.#snapshots = [];
    this.#seenPlacement = undefined;
    this.#stopwatches = new Stopwatches();
    this.#refusedCheckpoints = new RefusedCheckpoints();
    this.#refusedCalls = new RefusedCalls();
    this.#unwrittenStatuses = new UnwrittenStatuses();
    this.#launchers.forgetReports();
    this.#progress = undefined;
    this.#planning = undefined;
    this.#plannerAnswer = undefined;
  }

  /** Pods that compute now: their launchers are up, and no rank of theirs has failed. */
  computingPods(): readonly ObservedPod[] {
    return this.#launchingPods().filter((pod) => !this.#launchers.isReaped(pod));
  }

  /** Pods whose launchers are up: started, not ended, on a machine that runs, and neither hanging nor informed that their attempt is over. */
  #launchingPods(): readonly ObservedPod[] {
    return this.pods.filter((pod) => {
      const node = pod.nodeName ?? '';
      const isUp = doesAnswer(this.#nodes.get(node) ?? 'gone') || this.#kubeletsSilent.has(node);
      const isFenced = this.#dismissed.has(pod.uid) || pod.epoch < (this.job?.status?.epoch ?? 0);
      return (
        pod.ours &&
        pod.phase === 'Running' &&
        isUp &&
        !this.#hanging.has(pod.uid) &&
        !(isFenced && this.#kubeletsSilent.has(node))
      );
    });
  }

  /** One pass of the operator; says whether it wrote anything. */
  reconcile(): boolean {
    const before = this.writes;
    try {
      this.#pass();
      this.#orderLaunchers();
    } catch (error) {
      if (error instanceof OperatorDied) this.#cluster.restart();
      else if (!(error instanceof AnswerLost)) throw error;
    }
    this.#lag = {};
    this.#writesUntilCrash = undefined;
    this.#lostAnswer = undefined;
    this.#lateMs = undefined;
    return this.writes > before;
  }

  /** Time passes: the scheduler binds, containers start, graces end; the engine trains, and finishes if `finishes`. */
  tick(ms: number, finishes = false): void {
    this.now = new Date(this.now.getTime() + ms);
    const landing = this.#onTheWay.filter(({ atMs }) => atMs <= this.now.getTime());
    this.#onTheWay = this.#onTheWay.filter((one) => !landing.includes(one));
    for (const { land } of landing) land();
    this.pods = this.pods.flatMap((pod) =>
      this.#kubelet(pod, finishes).map((now) => (now === pod ? pod : this.#revised(now))),
    );
    this.#launchers.report(this.#launchingPods(), this.now.getTime());
    this.#train(ms);
    this.#orderLaunchers();
    if (this.#plannerAnswer !== undefined) this.#planning = this.#plannerAnswer;
    this.#plannerAnswer = undefined;
  }

  /** A gang all of whose ranks run makes a step a second, and says so. */
  #train(ms: number): void {
    const { attempts, epoch = 0 } = this.job?.status ?? {};
    const { incarnation = 1, resumedFrom } = attempts?.at(-1) ?? {};
    const placement = this.#placed.get(epoch);
    const up = this.computingPods().filter((pod) => pod.epoch === epoch && this.#holdsRanks(pod));
    if (
      !this.reportsSteps ||
      placement === undefined ||
      up.length < memberCount(placement) ||
      up.some((pod) => !this.#launchers.runs(pod, incarnation))
    )
      return;
    const known = this.#progress;
    const isGoingOn = known?.epoch === epoch && (known.incarnation ?? 1) === incarnation;
    const before = isGoingOn ? known.step : (resumedFrom?.step ?? 0);
    this.#progress = { epoch, incarnation, step: before + Math.round(ms / 1000) };
  }

  /** Whether the pod holds ranks, as the API server has it: a standby does not, nor does a pod that lost them to one. */
  #holdsRanks({ epoch, podIndex }: ObservedPod): boolean {
    const attempt = this.job?.status?.attempts?.find((one) => one.epoch === epoch);
    const placement = this.#placed.get(epoch);
    return placement === undefined || hasRanks(seatedPlacement(placement, attempt ?? {}), podIndex);
  }

  /** As the operator does after each look and each word, by the job as it sees it. */
  #orderLaunchers(): void {
    const { job } = this.#view;
    const seen = job?.status?.attempts?.at(-1);
    const placement = this.placements.find(({ spec }) => spec.epoch === seen?.epoch);
    if (job === undefined || placement === undefined) return;
    const { delaySeconds } = job.spec.restartPolicy;
    const clock = new Date(this.now.getTime() + this.#skewMs);
    const up = new Set(this.#launchingPods());
    this.#launchers.order({
      seen,
      recorded: this.job?.status?.attempts?.at(-1),
      members: membersOf(seatedPlacement(placement.spec, seen ?? {})),
      isDue: isPauseOver({ notBefore: job.status?.notBefore, delaySeconds }, clock),
      pods: this.pods,
      isUp: (pod) => up.has(pod),
      nowMs: this.now.getTime(),
    });
  }

  apply(fault: WorldFault): void {
    switch (fault.kind) {
      case 'exit':
        this.harms += 1;
        return this.#change(this.#picked(this.computingPods(), fault.pick), (pod) => this.#ended(pod, fault.code));
      case 'failRank': {
        const victim = this.#picked(
          this.computingPods().filter((pod) => this.#holdsRanks(pod)),
          fault.pick,
        );
        const about = { step: fault.step, nowMs: this.now.getTime() };
        if (victim !== undefined && this.#launchers.fail(victim, about)) this.harms += 1;
        return;
      }
      case 'loseConnection': {
        const victim = this.#picked(this.computingPods(), fault.pick);
        if (victim !== undefined) this.#launchers.loseConnection(victim, this.now.getTime() + fault.ms);
        return;
      }
      case 'evict':
        this.harms += 1;
        return this.#change(this.#picked(this.computingPods(), fault.pick), (pod) => ({
          ...this.#ended(pod, 137),
          disruption: 'EvictionByEvictionAPI',
        }));
      case 'deletePod': {
        this.harms += 1;
        const victim = this.#picked(
          this.pods.filter(({ ours }) => ours),
          fault.pick,
        );
        // Without a grace: what nobody holds is gone from the server at once.
        if (victim?.held !== true) this.pods = this.pods.filter((pod) => pod !== victim);
        else
          this.#change(victim, (pod) => ({
            ...pod,
            deletionTimestamp: this.now.toISOString(),
            deletionGracePeriodSeconds: 0,
          }));
        return;
      }
      case 'loseNode': {
        const name = this.#picked([...this.#nodes.keys()], fault.pick);
        if (name === undefined) return;
        this.#nodes.set(name, fault.pick % 2 === 0 ? 'notReady' : 'gone');
        this.#kubeletsSilent.delete(name);
        return;
      }
      case 'silenceKubelet': {
        const name = this.#picked([...this.#nodes.keys()], fault.pick);
        if (name === undefined || this.#nodes.get(name) !== 'ready') return;
        this.#nodes.set(name, 'notReady');
        this.#kubeletsSilent.add(name);
        return;
      }
      case 'announce': {
        const name = this.#picked([...this.#nodes.keys()], fault.pick);
        if (name !== undefined && this.#nodes.get(name) === 'ready') this.#nodes.set(name, 'leaving');
        return;
      }
      case 'loseRack':
        for (const name of fault.nodes) {
          this.#nodes.set(name, 'notReady');
          this.#kubeletsSilent.delete(name);
        }
        return;
      case 'hangPod': {
        const victim = this.#picked(this.computingPods(), fault.pick);
        if (victim !== undefined) this.#hanging.add(victim.uid);
        return;
      }
      case 'skewClock':
        this.#skewMs = fault.ms;
        return;
      case 'restoreNodes':
        // A kubelet that comes back ends what the API server no longer wants.
        for (const name of this.#nodes.keys()) this.#nodes.set(name, 'ready');
        this.#kubeletsSilent.clear();
        this.#hanging.clear();
        this.#turningAway.clear();
        this.pods = this.pods.map((pod) => (this.#isDoomed(pod) ? this.#revised(this.#ended(pod, 137)) : pod));
        this.#brokenMounts.clear();
        return;
      case 'deletePlacement':
        this.placements = this.placements.filter(({ spec }) => spec.epoch !== this.job?.status?.epoch);
        return;
      case 'breakMount': {
        const name = this.#picked([...this.#nodes.keys()], fault.pick);
        if (name !== undefined) this.#brokenMounts.set(name, fault.as);
        return;
      }
      case 'damage': {
        const victim = this.#picked(this.checkpoints, fault.pick);
        if (victim !== undefined) this.cutOff.add(victim.metadata.name);
        return;
      }
      case 'askFor':
        return this.#editSpec({ resumeFrom: { from: fault.from } });
      case 'saveCheckpoint':
        return this.#saveCheckpoint(fault.pick);
      case 'saveUnheard': {
        const [pod] = this.computingPods();
        if (pod !== undefined)
          this.#silentPods.set(pod.uid, [...(this.#silentPods.get(pod.uid) ?? []), fault.step].slice(-4));
        return;
      }
      case 'refuseCheckpoints':
      case 'acceptCheckpoints':
        this.#takesCheckpoints = fault.kind === 'acceptCheckpoints';
        return;
      case 'suspend':
        return this.#editSpec({ suspend: true });
      case 'resume':
        return this.#editSpec({ suspend: false });
      case 'cancel':
        return this.#editSpec({ cancel: true });
      case 'delete':
        if (this.job === undefined) return;
        this.job = this.#touched({
          ...this.job,
          metadata: { ...this.job.metadata, deletionTimestamp: this.now.toISOString() },
        });
        this.#collect();
        return;
      case 'loseStatus': {
        if (this.job === undefined) return;
        const { status: _, ...job } = this.job;
        this.job = this.#touched(job);
        return;
      }
      case 'plannerFails':
        this.#plannerFails = true;
        return;
      case 'loseAnswer':
        this.#lostAnswer = { ...fault };
        return;
      case 'refusePods':
        this.#refusedFromIndex = fault.fromIndex;
        return;
      case 'acceptPods':
        this.#refusedFromIndex = Number.POSITIVE_INFINITY;
        return;
      case 'turnAway': {
        const name = this.#picked([...this.#nodes.keys()], fault.pick);
        if (name !== undefined) this.#turningAway.add(name);
        return;
      }
      case 'takeName':
        return this.#takeName(fault.pick);
      case 'staleObservation':
        for (const kind of fault.of) this.#lag[kind] = fault.looksAgo;
        return;
      case 'crash':
        this.#writesUntilCrash = fault.afterWrites;
        this.#lateMs = fault.lateMs;
    }
  }

  #pass(): void {
    this.#cluster.beginReconcile(this);
    const ports = { view: this.#jobView(), effects: this.#effects() };
    const steps = reconcileJob(JOB_KEY, ports);
    for (let step = steps.next(); step.done !== true;) {
      const answers = step.value.map((call) => this.#answer(call));
      this.#cluster.updateScheduler();
      step = steps.next(answers);
    }
  }

  /** What the operator's process remembers of a Placement that its watch has seen go. */
  #keptPlacement(): PlacementSpec | undefined {
    this.#seenPlacement =
      this.#view.placements.findLast(({ spec }) => spec.epoch === this.#view.job?.status?.epoch) ?? this.#seenPlacement;
    return this.#seenPlacement !== undefined && this.#view.placements.includes(this.#seenPlacement)
      ? undefined
      : this.#seenPlacement?.spec;
  }

  #laggingView(): View {
    const ago = <K extends Lagging>(kind: K): Snapshot[K] => {
      const passes = Math.min(this.#lag[kind] ?? 0, this.#snapshots.length - 1);
      return (this.#snapshots.at(-1 - passes) ?? UNSEEN)[kind];
    };
    return {
      job: ago('job'),
      pods: ago('pods'),
      placements: ago('placements'),
      checkpoints: ago('checkpoints'),
      nodes: ago('nodes'),
    };
  }

  #jobView(): JobView {
    return {
      now: () => new Date(this.now.getTime() + this.#skewMs),
      monotonicMs: () => this.now.getTime(),
      leaderTerm: () => this.#cluster.leaderTerm,
      stopwatches: this.#stopwatches,
      refusedCheckpoints: this.#refusedCheckpoints,
      refusedCalls: this.#refusedCalls,
      references: this.#references,
      unwrittenStatuses: this.#unwrittenStatuses,
      findJob: () => this.#view.job,
      podsOf: () => this.#view.pods,
      placementsOf: () => this.#view.placements,
      checkpointsOf: () => this.#view.checkpoints,
      nodeStates: (names) => new Map(names.map((name) => [name, this.#view.nodes.get(name) ?? 'gone'])),
      nodeCensus: () => {
        const states = [...this.#view.nodes.values()].filter((state) => state !== 'gone');
        return { nodes: states.length, notReady: states.filter((state) => state === 'notReady').length };
      },
      bootIdOf: () => undefined,
      readySinceOf: (node) => this.readySince.get(node),
      nodeConditionsOf: (node) => this.nodeConditions.get(node) ?? [],
      noticeOf: (node) => this.notices.get(node) ?? (this.#view.nodes.get(node) === 'leaving' ? NOTICE : undefined),
      comingNoticeOf: (node) => this.comingNotices.get(node),
      reportAgesMsOf: () => this.#launchers.reportAgesMs(this.now.getTime()),
      launchersOf: (job) => this.#launchers.reports(job.status?.attempts?.at(-1)?.incarnation),
      // Steps of this world take as long on any number of GPUs, so that no growth would pay.
      timeouts: { growCosts: 0 },
      retention: this.retention,
      scheduler: this.#cluster.scheduler,
      ...this.#room(),
      arbiter: this.#cluster.arbiter,
      keptPlacementOf: () => this.#keptPlacement(),
      progressOf: () => this.#progress,
      preflightOf: () => undefined,
      trainedOf: () => undefined,
      verdictsOf: () => this.verdicts,
      findingsOf: () => this.findings,
      standingOf: () => this.standing,
      planningOf: () => this.#planning,
      runtimeOf: () => undefined,
    };
  }

  /** What the operator knows of jobs that make room for others. */
  #room(): Pick<JobView, 'makeRoom' | 'claimsOn' | 'priorityClasses'> {
    const cluster = this.#cluster;
    const { makeRoom, priorityClasses } = cluster;
    return {
      ...(makeRoom === undefined ? {} : { makeRoom }),
      ...(priorityClasses === undefined ? {} : { priorityClasses: () => priorityClasses }),
      claimsOn: (uid) => cluster.claimsOn(uid),
    };
  }

  #effects(): JobEffects {
    return {
      askPlanner: (_job, question) => this.#askPlanner(question),
      forgetPlanning: () => {
        this.#planning = undefined;
        this.#plannerAnswer = undefined;
      },
      findNodes: () => undefined,
      readRuntime: () => undefined,
      refuseLaunchers: (_job, epoch) => {
        this.refusals += 1;
        for (const pod of this.pods) if (pod.epoch === epoch) this.#dismissed.add(pod.uid);
      },
      warn: () => undefined,
      warnOfUnrecordedPlacements: () => undefined,
      recordEvents: () => undefined,
    };
  }

  #answer(call: Call): Answer {
    const denial = this.denies(call);
    if (denial !== undefined) return denial;
    try {
      return this.#answered(call);
    } catch (error) {
      if (!(error instanceof AnswerLost)) throw error;
      return { kind: 'failed', error, cause: 'transient' };
    }
  }

  #answered(call: Call): Answer {
    switch (call.kind) {
      case 'readLive':
        this.#view.job = this.job;
        this.#view.pods = this.pods;
        this.#cluster.readLive((call.jobs ?? []).map(({ uid }) => uid));
        if (call.placement !== undefined || call.allPlacements === true) this.#view.placements = this.placements;
        return { kind: 'done', nodeStates: new Map(call.nodes.map((name) => [name, this.#nodes.get(name) ?? 'gone'])) };
      case 'readEvidence':
        this.readsEvidence();
        return { kind: 'done' };
      case 'readCheckpoints':
        this.#view.job = this.job;
        this.#view.checkpoints = this.checkpoints;
        return { kind: 'done' };
      case 'readPodWarning':
        return { kind: 'done' };
      case 'readReferences':
        return { kind: 'done', references: { unusable: this.unusable, ofOneNode: this.ofOneNode } };
      case 'writeStatus': {
        const cause = this.refusesStatus(call.status);
        if (cause !== undefined) return { kind: 'failed', error: new Error(`the status: ${cause}`), cause };
        return this.#updateJob(call.job, (job) => {
          this.#blameFailure(call.status);
          this.history.push(call.status);
          return { ...job, status: structuredClone(call.status) };
        });
      }
      case 'createCheckpoint':
        return this.#createCheckpoint(call);
      case 'addFinalizer':
        return this.#updateJob(call.job, (job) => withFinalizers(job, [FINALIZER]));
      case 'removeFinalizer':
        return this.#updateJob(call.job, (job) => withFinalizers(job, []));
      case 'deletePod':
        return { kind: 'done', isContested: this.#deletePod(call.pod, call.gracePeriodSeconds) };
      case 'createPod':
      case 'probePod':
        if (call.podIndex >= this.#refusedFromIndex)
          return { kind: 'failed', error: new Error(`exceeded quota: ${call.name}`), cause: 'refused' };
        if (call.kind === 'createPod') this.#createPod(call);
        return { kind: 'done' };
      default:
        this.#perform(call);
        return { kind: 'done' };
    }
  }

  /** Compare and set; the operator then sees what the server holds. */
  #updateJob(seen: TrainingJob, change: (job: TrainingJob) => TrainingJob): Answer {
    const { job } = this;
    if (job === undefined || job.metadata.resourceVersion !== seen.metadata.resourceVersion) {
      this.#view.job = job;
      return { kind: 'failed', error: new Error('conflict'), cause: 'conflict' };
    }
    this.#write(() => {
      const current = this.job;
      if (current === undefined || current.metadata.resourceVersion !== seen.metadata.resourceVersion) return;
      this.job = this.#touched(change(current), false);
      this.#collect();
    }, 'late');
    this.#view.job = this.job;
    return this.job === undefined ? { kind: 'done' } : { kind: 'done', job: this.job };
  }

  /** A write reaches the server unless the operator dies before it. */
  #write(effect: () => void, orLate?: 'late'): void {
    if (this.#writesUntilCrash !== undefined && this.#writesUntilCrash-- <= 0) {
      if (this.#lateMs !== undefined && orLate !== undefined)
        this.#onTheWay = [...this.#onTheWay, { atMs: this.now.getTime() + this.#lateMs, land: effect }];
      throw new OperatorDied();
    }
    const lost = this.#lostAnswer;
    if (lost !== undefined && lost.afterWrites-- <= 0) {
      this.#lostAnswer = undefined;
      if (lost.isDone) {
        this.writes++;
        effect();
      }
      throw new AnswerLost();
    }
    this.writes++;
    effect();
  }

  #perform(call: Call): void {
    switch (call.kind) {
      case 'createPlacement':
        return this.#createPlacement(call);
      case 'liftGate': {
        const pod = this.pods.find(({ uid, gated }) => uid === call.pod.uid && gated);
        if (pod !== undefined) this.#write(() => this.#liftGate(pod));
        return this.#showPod(call.pod.name);
      }
      case 'releasePod':
        return this.#releasePod(call.pod);
      case 'deleteCheckpoint':
        return this.#deleteCheckpoint(call.checkpoint);
      case 'deletePlacement': {
        const others = (all: readonly Placement[]): readonly Placement[] =>
          all.filter(({ metadata }) => metadata.uid !== call.placement.uid);
        this.#write(() => void (this.placements = others(this.placements)));
        this.#view.placements = others(this.#view.placements);
        return;
      }
      case 'markCheckpointDamaged':
        return this.#write(() => {
          const { message, condemnation } = call;
          const damaged = { state: 'Damaged', message, condemnation } as const;
          this.checkpoints = this.checkpoints.map((one) =>
            one.metadata.uid === call.uid ? { ...one, status: damaged } : one,
          );
          this.#view.checkpoints = this.checkpoints;
        });
      case 'markCheckpoint':
        return this.#write(() => {
          this.checkpoints = this.checkpoints.map((one) =>
            one.metadata.uid === call.uid ? { ...one, status: call.status } : one,
          );
          this.#view.checkpoints = this.checkpoints;
        });
      // No job of this world has a runtime that asks for one.
      case 'createComputeDomain':
      case 'deleteComputeDomain':
      case 'createPod':
      case 'probePod':
      case 'deletePod':
      case 'createCheckpoint':
      case 'readCheckpoints':
      case 'readEvidence':
      case 'readPodWarning':
      case 'readReferences':
      case 'readLive':
      case 'writeStatus':
      case 'addFinalizer':
      case 'removeFinalizer':
        return;
    }
  }

  #auditPlacement({ name, spec }: { readonly name: string; readonly spec: PlacementSpec }): void {
    const { attempts, claim } = this.job?.status ?? {};
    const recorded = attempts?.find(({ epoch }) => epoch === spec.epoch) ?? claim;
    const isRecorded = recorded?.placement === name && recorded.placementSha256 === placementSha256(spec);
    if (!isRecorded) this.violations.push(`${name} was created before its hash was recorded`);
  }

  #createPlacement({ name, spec, ofClaim }: Extract<Call, { kind: 'createPlacement' }>): void {
    if (this.job !== undefined && !this.placements.some((one) => one.metadata.name === name)) {
      this.#auditPlacement({ name, spec });
      const isAsked = this.job.spec.resumeFrom?.from === 'scratch';
      const isNew = !this.#placed.has(spec.epoch);
      if (isNew && spec.resume === undefined && this.checkpoints.length > 0 && !isAsked)
        this.violations.push(`epoch ${spec.epoch} began from scratch, and checkpoints are there`);
      this.#write(() => {
        if (this.job === undefined || this.placements.some((one) => one.metadata.name === name)) return;
        this.#placed.set(spec.epoch, spec);
        const { namespace = '' } = this.job.metadata;
        const labels = ofClaim === true ? { labels: { [LABELS.claim]: 'true' } } : {};
        const metadata = { name, namespace, uid: `placement-${this.#serial++}`, ...labels };
        const placement = { apiVersion: API_GROUP_VERSION, kind: 'Placement', metadata, spec } as const;
        this.placements = [...this.placements, placement];
      }, 'late');
    }
    const made = this.placements.filter(({ metadata }) => metadata.name === name);
    this.#view.placements = [...this.#view.placements.filter(({ metadata }) => metadata.name !== name), ...made];
  }

  #takeName(pick: number): void {
    const { status, metadata } = this.job ?? {};
    const attempt = status?.attempts?.at(-1);
    const placement = this.#placed.get(attempt?.epoch ?? 0);
    if (attempt === undefined || metadata === undefined || placement === undefined) return;
    const podIndex = pick % placement.nodes.length;
    const name = podName(metadata, { epoch: attempt.epoch, podIndex, placement: attempt.placement });
    if (this.pods.some((pod) => pod.name === name)) return;
    const stranger = { name, epoch: 0, podIndex: 0, gated: false, held: false, running: true, ours: false } as const;
    this.pods = [...this.pods, { ...stranger, ...this.#freshVersion(), phase: 'Running' }];
  }

  #createPod({ name, podIndex, placement }: Extract<Call, { kind: 'createPod' }>): void {
    if (this.job !== undefined && !this.pods.some((pod) => pod.name === name)) {
      if (this.#released.has(placement.epoch)) this.violations.push(`${name} was made after its gang was released`);
      this.#write(() => {
        if (this.job === undefined || this.pods.some((pod) => pod.name === name)) return;
        const place = { name, epoch: placement.epoch, podIndex } as const;
        const pod = { ...place, gated: true, held: true, running: false, ours: true } as const;
        this.pods = [...this.pods, { ...pod, ...this.#freshVersion(), phase: 'Pending' }];
      }, 'late');
    }
    this.#showPod(name);
  }

  /** The operator sees that pod as it is now. */
  #showPod(name: string): void {
    const live = this.pods.filter((pod) => pod.name === name);
    this.#view.pods = [...this.#view.pods.filter((pod) => pod.name !== name), ...live];
  }

  #freshVersion(): { readonly uid: string; readonly resourceVersion: string } {
    const serial = this.#serial++;
    return { uid: `pod-${serial}`, resourceVersion: `${serial}` };
  }

  #askPlanner(question: JobPlanQuestion): void {
    const { key } = question;
    this.#planning = { kind: 'asked', key };
    this.#plannerAnswer = this.#plannerFails
      ? { kind: 'failed', key, problem: 'it took too long', retryAtMs: this.now.getTime() + this.#skewMs + 10_000 }
      : { kind: 'answered', key, answer: plannedAnswer(question) };
    this.#plannerFails = false;
  }

  #liftGate(pod: ObservedPod): void {
    const attempt = this.job?.status?.attempts?.find(({ epoch }) => epoch === pod.epoch);
    if (attempt?.releasedAt === undefined) this.violations.push(`${pod.name} was released before that was recorded`);
    this.#released.add(pod.epoch);
    this.#change(pod, (one) => ({ ...one, gated: false }));
  }

  /** Says whether the pod has changed since it was looked at, and stays. */
  #deletePod({ name, uid, resourceVersion }: PodReference, graceSeconds: number): boolean {
    if (this.isPestered) this.pods = this.pods.map((pod) => this.#revised(pod));
    const pod = this.pods.find((one) => one.uid === uid && [one.resourceVersion, undefined].includes(resourceVersion));
    if (pod?.ours === false) this.violations.push(`${pod.name} was deleted, and is somebody else's`);
    if (pod !== undefined) {
      this.#blame(pod);
      if (resourceVersion === undefined) this.#blameWithoutVersion(pod);
      this.#write(() => this.#beginDeletion(pod, graceSeconds));
    }
    this.#showPod(name);
    return pod === undefined && this.pods.some((one) => one.uid === uid);
  }

  #blameWithoutVersion({ name, epoch }: ObservedPod): void {
    const attempt = this.job?.status?.attempts?.find((one) => one.epoch === epoch);
    if (attempt?.stage !== 'Stopping')
      this.violations.push(`${name} was deleted by its UID alone, and its gang was not stopping`);
  }

  #releasePod({ name, uid }: PodReference): void {
    const pod = this.pods.find((one) => one.uid === uid && one.held);
    if (pod !== undefined) {
      const attempt = this.job?.status?.attempts?.find(({ epoch }) => epoch === pod.epoch);
      const isEnded = attempt === undefined || attempt.stage === 'Ended' || pod.nodeName === undefined;
      const isRecorded = isEnded || !this.#holdsRanks(pod);
      if (!isRecorded) this.violations.push(`${pod.name} was let go of before its end was recorded`);
      this.#write(() => {
        const isWanted = pod.deletionTimestamp === undefined;
        if (isWanted || this.#isDoomed(pod)) this.#change(pod, (one) => ({ ...one, held: false }));
        else this.pods = this.pods.filter((one) => one !== pod);
      });
    }
    this.#showPod(name);
  }

  /** Deleted, and its kubelet has still to end it. */
  #isDoomed(pod: ObservedPod): boolean {
    return pod.deletionTimestamp !== undefined && pod.phase === 'Running';
  }

  /** What an auditor says of a failure that is recorded of a gang all of whose pods run on nodes that answer. */
  #blameFailure({ epoch, attempts = [] }: TrainingJobStatus): void {
    const [then, now] = [this.job?.status?.attempts ?? [], attempts].map((all) =>
      all.find((one) => one.epoch === epoch),
    );
    const placement = this.#placed.get(epoch);
    const well = this.computingPods().filter(
      (pod) => pod.epoch === epoch && pod.deletionTimestamp === undefined && this.#holdsRanks(pod),
    );
    const isWell = placement !== undefined && well.length === memberCount(placement);
    if (isWell && now?.outcome === 'Failed' && then?.outcome === undefined) {
      this.violations.push(`epoch ${epoch} was failed (${now.reason}), and was well`);
    }
  }

  /** What an auditor says of a delete that hits a pod of a gang that is well and wanted. */
  #blame(pod: ObservedPod): void {
    const attempt = this.job?.status?.attempts?.find(({ epoch }) => epoch === pod.epoch);
    const isUnderWay = attempt?.stage === 'Creating' || attempt?.stage === 'Released';
    const isReplaced = attempt?.replacements?.some(({ podIndex }) => podIndex === pod.podIndex) === true;
    const node = pod.nodeName ?? this.#placed.get(pod.epoch)?.nodes[pod.podIndex] ?? '';
    const isLeavingStandby = this.#nodes.get(node) === 'leaving' && !this.#holdsRanks(pod);
    if (isUnderWay && !isReplaced && !isLeavingStandby && pod.epoch === this.job?.status?.epoch)
      this.violations.push(`${pod.name} was deleted, and was wanted`);
  }

  #beginDeletion(pod: ObservedPod, graceSeconds: number): void {
    // Nothing runs in a pod that is not bound or has ended: the API server gives it no grace, and removes it once nobody holds it.
    if (pod.nodeName === undefined || pod.phase !== 'Running') {
      if (!pod.held) this.pods = this.pods.filter((one) => one !== pod);
      else
        this.#change(pod, (one) => ({
          ...one,
          deletionTimestamp: this.now.toISOString(),
          deletionGracePeriodSeconds: 0,
        }));
      return;
    }
    const deletionTimestamp = new Date(this.now.getTime() + graceSeconds * 1000).toISOString();
    this.#change(pod, (one) => ({ ...one, deletionTimestamp, deletionGracePeriodSeconds: graceSeconds }));
  }

  #kubelet(pod: ObservedPod, finishes: boolean): readonly ObservedPod[] {
    if (!pod.ours || pod.gated || pod.phase === 'Succeeded' || pod.phase === 'Failed') return [pod];
    const node = pod.nodeName ?? this.#placedNode(pod);
    if (!doesAnswer(this.#nodes.get(node) ?? 'gone') || this.#hanging.has(pod.uid)) return [pod];
    if (pod.deletionTimestamp !== undefined && pod.nodeName === undefined) return [pod];
    if (this.#isDoomed(pod) && this.now.getTime() >= Date.parse(pod.deletionTimestamp ?? ''))
      return [this.#ended(pod, 137, this.#launchers.causeOf(pod))];
    if (this.#dismissed.has(pod.uid) && this.#launchers.isHeard(pod, this.now.getTime()))
      return [this.#ended(pod, 73, this.#launchers.causeOf(pod))];
    const givenUp = this.#launchers.givesUp(pod, this.now.getTime());
    if (givenUp !== undefined) return [this.#ended(pod, 1, givenUp)];
    if (pod.phase === 'Pending') {
      if (this.#turningAway.has(node))
        return [{ ...pod, nodeName: node, phase: 'Failed', statusReason: 'UnexpectedAdmissionError' }];
      if (pod.epoch < this.#newestStarted)
        this.violations.push(`${pod.name} started after epoch ${this.#newestStarted}`);
      this.#newestStarted = Math.max(this.#newestStarted, pod.epoch);
      this.#launchers.start(pod);
      return [this.#loaded({ ...pod, nodeName: node, phase: 'Running', running: true }, node)];
    }
    const isStuck = this.pods.some(
      (one) => one.epoch === pod.epoch && this.#holdsRanks(one) && this.#launchers.isReaped(one),
    );
    const mayFinish = finishes && !isStuck && this.#holdsRanks(pod);
    return mayFinish && pod.deletionTimestamp === undefined ? [this.#ended(pod, 0)] : [pod];
  }

  /** The pod after its launcher has looked at the checkpoint that it is to resume from. */
  #loaded(pod: ObservedPod, node: string): ObservedPod {
    const resume = this.#placed.get(pod.epoch)?.resume;
    const mount = this.#brokenMounts.get(node);
    const isCutOff = mount === undefined && resume !== undefined && this.cutOff.has(resume.checkpoint);
    if (resume !== undefined && mount === undefined && !isCutOff) return this.#verified(pod);
    if (resume === undefined || (mount === undefined && !isCutOff)) return pod;
    const checkpointFault = { kind: mount ?? 'ContentDiffers', path: '/c/rank-0.bin' } as const;
    const isContent = checkpointFault.kind === 'ContentDiffers';
    const kind = isContent ? 'checkpointUnreadable' : 'checkpointIoError';
    const exitCode = isContent ? 72 : 74;
    const exit = anExit({ exitCode, finishedAt: this.now.toISOString() }, { kind, epoch: pod.epoch, checkpointFault });
    return { ...pod, phase: 'Failed', running: false, exit };
  }

  /** The pod of rank 0 after its launcher has looked at the newer checkpoints that are passed over: it ends for one that is well. */
  #verified(pod: ObservedPod): ObservedPod {
    const { passedOver = [] } = this.job?.status?.attempts?.find(({ epoch }) => epoch === pod.epoch) ?? {};
    const well = pod.podIndex === 0 ? passedOver.find(({ checkpoint }) => !this.cutOff.has(checkpoint)) : undefined;
    if (well === undefined) return pod;
    const exit = anExit(
      { exitCode: 74, finishedAt: this.now.toISOString() },
      { kind: 'checkpointIoError', epoch: pod.epoch, verifiedCheckpoint: well.checkpoint },
    );
    return { ...pod, phase: 'Failed', running: false, exit };
  }

  /** Its termination message tells what nobody heard of; that of a launcher whose ranks had failed before is `cause`. */
  #ended(pod: ObservedPod, exitCode: number, cause?: TerminationCause): ObservedPod {
    const over = ended(pod, exitCode, this.now, cause);
    if (cause !== undefined) return over;
    const attempt = this.job?.status?.attempts?.find(({ epoch }) => epoch === pod.epoch);
    const steps = this.#silentPods.get(pod.uid);
    const { job } = this;
    if (job === undefined || steps === undefined || over.exit === undefined) return over;
    const checkpoints = steps.map((step) => aCheckpoint(job, { spec: { epoch: pod.epoch, step } }));
    if (attempt?.stage !== 'Ended') for (const { metadata } of checkpoints) this.reportedCheckpoints.add(metadata.name);
    const unreportedCheckpoints = checkpoints.map(({ spec: { step, format, bytes, files, manifestSha256 } }) => {
      return { step, directory: `step-${step}`, format, bytes, files, manifestSha256 };
    });
    const kind = exitCode === 0 ? 'finished' : 'engineFailed';
    const reportedCheckpoints = anExit({}, { epoch: pod.epoch, kind, exitCode, unreportedCheckpoints }).cause;
    return {
      ...over,
      exit: { ...over.exit, ...(reportedCheckpoints === undefined ? {} : { cause: reportedCheckpoints }) },
    };
  }

  #placedNode(pod: ObservedPod): string {
    return this.#placed.get(pod.epoch)?.nodes[pod.podIndex] ?? '';
  }

  #saveCheckpoint(step: number): void {
    const [pod] = this.computingPods();
    if (this.job === undefined || pod === undefined) return;
    const checkpoint = aCheckpoint(this.job, { spec: { epoch: pod.epoch, step } });
    if (this.checkpoints.some((one) => one.metadata.name === checkpoint.metadata.name)) return;
    this.checkpoints = [...this.checkpoints, checkpoint];
  }

  /** What a gang told of while it was under way, or status kept since. */
  #createCheckpoint({ name, spec }: Extract<Call, { kind: 'createCheckpoint' }>): Answer {
    const { attempts = [], unrecordedCheckpoints = [] } = this.job?.status ?? {};
    const isOver = attempts.find(({ epoch }) => epoch === spec.epoch)?.stage === 'Ended';
    if (isOver && !unrecordedCheckpoints.some((one) => one.name === name))
      this.violations.push(`${name} was made after the end of its attempt`);
    if (!this.#takesCheckpoints)
      return { kind: 'failed', error: new Error(`exceeded quota: ${name}`), cause: 'refused' };
    if (!this.checkpoints.some(({ metadata }) => metadata.name === name)) {
      this.#write(() => {
        const metadata = { name, uid: `checkpoint-${this.#serial++}` };
        const made: Checkpoint = {
          apiVersion: API_GROUP_VERSION,
          kind: 'Checkpoint',
          metadata,
          spec,
          status: COMPLETE,
        };
        this.checkpoints = [...this.checkpoints, made];
      });
    }
    const made = this.checkpoints.filter(({ metadata }) => metadata.name === name);
    this.#view.checkpoints = [...this.#view.checkpoints.filter(({ metadata }) => metadata.name !== name), ...made];
    return { kind: 'done' };
  }

  #deleteCheckpoint({ name, uid }: PodReference): void {
    const { attempts = [], checkpoint } = this.job?.status ?? {};
    const newest = newestRestorable(this.checkpoints, { jobUid: this.job?.metadata.uid ?? '' })?.metadata.name;
    const needed = [
      newest,
      checkpoint?.name,
      attempts.at(-1)?.resumedFrom?.checkpoint,
      this.job?.spec.resumeFrom?.from,
    ];
    if (needed.includes(name)) this.violations.push(`${name} was collected, and is needed`);
    this.#write(() => {
      this.checkpoints = this.checkpoints.filter(({ metadata }) => metadata.uid !== uid);
      this.collected.push(name);
    });
    this.#view.checkpoints = this.#view.checkpoints.filter(({ metadata }) => metadata.uid !== uid);
  }

  #editSpec(changes: Partial<Pick<TrainingJobSpec, 'suspend' | 'cancel' | 'resumeFrom'>>): void {
    if (this.job === undefined) return;
    this.job = this.#touched({ ...this.job, spec: { ...this.job.spec, ...changes } });
  }

  /** The API server removes a deleted object once nobody holds it; the garbage collector then removes what it owned. */
  #collect(): void {
    if (this.job?.metadata.deletionTimestamp === undefined || (this.job.metadata.finalizers ?? []).length > 0) return;
    for (const { name, held } of this.pods) if (held) this.violations.push(`${name} is held, and its job is gone`);
    this.job = undefined;
    this.pods = [];
    this.placements = [];
  }

  #touched(job: TrainingJob, specChanged = true): TrainingJob {
    const { generation = 1 } = job.metadata;
    return {
      ...job,
      metadata: {
        ...job.metadata,
        resourceVersion: `${this.#serial++}`,
        generation: generation + (specChanged ? 1 : 0),
      },
    };
  }

  #change(pod: ObservedPod | undefined, change: (pod: ObservedPod) => ObservedPod): void {
    this.pods = this.pods.map((one) => (one === pod ? this.#revised(change(one)) : one));
  }

  #revised(pod: ObservedPod): ObservedPod {
    return { ...pod, resourceVersion: `${this.#serial++}` };
  }

  #picked<T>(candidates: readonly T[], pick: number): T | undefined {
    return candidates[pick % Math.max(1, candidates.length)];
  }
}

/** The only job there is. */
const JOB_KEY = 'research/tiny-gpt';

const COMPLETE = { state: 'Complete' } as const;

const UNSEEN: Snapshot = { job: undefined, pods: [], placements: [], checkpoints: [], nodes: new Map() };

function withFinalizers(job: TrainingJob, finalizers: readonly string[]): TrainingJob {
  return { ...job, metadata: { ...job.metadata, finalizers } };
}

class OperatorDied extends Error {}

class AnswerLost extends Error {}

function ended(pod: ObservedPod, exitCode: number, now: Date, cause?: TerminationCause): ObservedPod {
  const { cause: _, ...bare } = anExit({ exitCode, finishedAt: now.toISOString() });
  const exit = cause === undefined ? bare : { ...bare, cause };
  return { ...pod, phase: exitCode === 0 ? 'Succeeded' : 'Failed', running: false, exit };
}
