import { contextOfPlacement, renderEngine } from '@coxswain/engines';
import {
  gpusOfPod,
  specOfEpoch,
  TrainingJobSpec,
  type PlacementSpec,
  type TrainingJob,
  gangOfPod,
} from '@coxswain/api-types';
import {
  isAdmissionUnavailable,
  isConflict,
  isNotFound,
  isRefusal,
  isRetryable,
  NotLeadingError,
  serverSentence,
  type Turns,
} from '@coxswain/kube';
import {
  canSaveOnRequest,
  reconcileJob,
  PodWarnings,
  ReferenceReads,
  RefusedCalls,
  RefusedCheckpoints,
  Stopwatches,
  PodQuotas,
  smallerSizes,
  UnwrittenStatuses,
  type Answer,
  type Call,
  type FailureCause,
  type JobEffects,
  type JobView,
  type NodeState,
  type ReconcileOutcome,
} from '@coxswain/lifecycle';
import { containersWithoutUser } from '@coxswain/runtime';
import { cutText } from '@coxswain/safe-text';
import { type ClaimRules, type ClusterScheduler, podClassOf, type PodDemand } from '@coxswain/scheduling';
import { NoComputeDomainsError } from './compute-domains.ts';
import type { JobPlanner } from './job-planner.ts';
import { toPod, type PodContext } from './pod-manifest.ts';
import type { NodeSearches } from './node-searches.ts';
import { NoRoomInQuotaError } from './quota-reads.ts';
import type { RuntimeReads } from './runtime-reads.ts';
import type { ComputeDomainName, TrainingJobStore } from './training-job-store.ts';

/** Options of the reconciler. */
export interface ReconcilerOptions {
  readonly store: TrainingJobStore;
  /** Who gets GPUs, of all jobs of this process. */
  readonly scheduler: ClusterScheduler;
  readonly clock: { now(): Date; monotonicMs(): number };
  /** Settings that all pods of the cluster share. */
  readonly pods: () => Pick<PodContext, 'launcherImage' | 'reportUrls' | 'reportCaPem' | 'user' | 'keptLogs'>;
  /** A URL by which a pod gets the code of its job; undefined: the job has none of its own. Absent: no bucket is known. */
  readonly codeUrlOf?: (job: TrainingJob) => Promise<string | undefined>;
  readonly leaderTerm: JobView['leaderTerm'];
  readonly priorityClasses?: JobView['priorityClasses'];
  readonly progressOf: JobView['progressOf'];
  readonly reportAgesMsOf: JobView['reportAgesMsOf'];
  readonly launchersOf: JobView['launchersOf'];
  readonly preflightOf: JobView['preflightOf'];
  readonly trainedOf: JobView['trainedOf'];
  readonly verdictsOf: JobView['verdictsOf'];
  /** Reads again what verdicts about the job's gang stand on; `verdictsOf` shows the rest from then on. Must not reject. Absent: nothing can be read. */
  readonly readEvidence?: (job: TrainingJob) => Promise<void>;
  readonly hearing?: JobView['hearing'];
  readonly arbiter?: JobView['arbiter'];
  /** Rules by which running jobs make room for waiting ones of higher priority. Absent: none does. */
  readonly makesRoom?: ClaimRules | undefined;
  readonly claimsOn?: JobView['claimsOn'];
  readonly fabricChangeOf?: JobView['fabricChangeOf'];
  readonly nodeRequestOf?: JobView['nodeRequestOf'];
  /** Quota of jobs that name a queue of Kueue. Absent: no queue is followed. */
  readonly kueue?: {
    quotaOf: NonNullable<JobView['quotaOf']>;
    ask: NonNullable<JobEffects['askQuota']>;
  };
  readonly findingsOf: JobView['findingsOf'];
  readonly standingOf?: JobView['standingOf'];
  readonly timeouts: JobView['timeouts'];
  readonly retention: JobView['retention'];
  readonly measuredGpus?: JobView['measuredGpus'];
  /** Plans beside the loop. */
  readonly planner: Pick<JobPlanner, 'planningOf' | 'ask' | 'forget'>;
  /** Searches nodes beside the loop; absent: they are searched in it. */
  readonly nodeSearches?: NodeSearches;
  /** Turns of the event loop that its steps take. Absent: it goes on whenever its calls are answered. */
  readonly turns?: Pick<Turns, 'next'>;
  /** Reads runtimes beside the loop. */
  readonly runtimes: Pick<RuntimeReads, 'runtimeOf' | 'read'>;
  readonly effects: Pick<JobEffects, 'refuseLaunchers' | 'warn' | 'warnOfUnrecordedPlacements' | 'recordEvents'>;
  /** Warns users of what a runtime does to the pods of their next attempt. */
  readonly warnOfRuntime: (job: TrainingJob, note: string) => void;
}

/** Performs the calls that `reconcileJob` requests; all decisions are made there. */
export class TrainingJobReconciler {
  readonly #options: ReconcilerOptions;
  readonly #view: JobView;
  readonly #effects: JobEffects;
  readonly #podQuotas = new PodQuotas();
  #rendered: Rendered | undefined;

  constructor(options: ReconcilerOptions) {
    const { store, scheduler, clock, planner, nodeSearches, runtimes, progressOf, reportAgesMsOf, launchersOf } =
      options;
    const { timeouts, retention, measuredGpus, effects, kueue } = options;
    this.#options = options;
    this.#view = {
      now: () => clock.now(),
      monotonicMs: () => clock.monotonicMs(),
      leaderTerm: options.leaderTerm,
      stopwatches: new Stopwatches(),
      refusedCheckpoints: new RefusedCheckpoints(),
      refusedCalls: new RefusedCalls(),
      references: new ReferenceReads(),
      podWarnings: new PodWarnings(),
      unwrittenStatuses: new UnwrittenStatuses(),
      podQuotas: this.#podQuotas,
      timeouts,
      retention,
      ...(measuredGpus === undefined ? {} : { measuredGpus }),
      findJob: (key) => store.findJob(key),
      podsOf: (job) => store.podsOf(job),
      placementsOf: (job) => store.placementsOf(job),
      checkpointsOf: (job) => store.checkpointsOf(job),
      nodeStates: (names, namespace) => store.nodeStates(names, namespace),
      ...(options.priorityClasses === undefined ? {} : { priorityClasses: options.priorityClasses }),
      nodeCensus: () => store.nodeCensus(),
      bootIdOf: (node) => store.bootIdOf(node),
      readySinceOf: (node) => store.readySinceOf(node),
      nodeConditionsOf: (node) => store.nodeConditionsOf(node),
      noticeOf: (node, namespace) => store.noticeOf(node, namespace),
      comingNoticeOf: (node, namespace) => store.comingNoticeOf(node, namespace),
      reportAgesMsOf,
      launchersOf,
      preflightOf: options.preflightOf,
      trainedOf: options.trainedOf,
      verdictsOf: options.verdictsOf,
      ...(options.arbiter === undefined ? {} : { arbiter: options.arbiter }),
      ...this.#room(options),
      ...(options.claimsOn === undefined ? {} : { claimsOn: options.claimsOn }),
      ...(options.hearing === undefined ? {} : { hearing: options.hearing }),
      ...(options.nodeRequestOf === undefined ? {} : { nodeRequestOf: options.nodeRequestOf }),
      ...(kueue === undefined ? {} : { quotaOf: (job) => kueue.quotaOf(job) }),
      ...(options.fabricChangeOf === undefined ? {} : { fabricChangeOf: options.fabricChangeOf }),
      findingsOf: options.findingsOf,
      ...(options.standingOf === undefined ? {} : { standingOf: options.standingOf }),
      scheduler,
      ...(nodeSearches === undefined ? {} : { nodeSearches }),
      keptPlacementOf: (job) => store.keptPlacementOf(job),
      progressOf,
      planningOf: (jobUid) => planner.planningOf(jobUid),
      runtimeOf: (job) => runtimes.runtimeOf(job),
    };
    this.#effects = {
      ...effects,
      askPlanner: (job, question) => planner.ask(job, question),
      forgetPlanning: (jobUid) => planner.forget(jobUid),
      findNodes: (job, search) => nodeSearches?.ask(job, search),
      ...(kueue === undefined ? {} : { askQuota: (job, question) => kueue.ask(job, question) }),
      readRuntime: (job) => runtimes.read(job),
    };
  }

  #room({ makesRoom: rules, scheduler }: ReconcilerOptions): Pick<JobView, 'makeRoom'> {
    if (rules === undefined) return {};
    const savesWhenAsked = ({ spec }: TrainingJob): boolean => canSaveOnRequest(spec.engine.name);
    const facts = { savesWhenAsked, smallerSizes, rules };
    return { makeRoom: (job, request) => scheduler.makeRoomFor(job.metadata.uid, request, facts) };
  }

  /** The job of that UID is gone: nothing is kept for it. */
  forget(jobUid: string): void {
    this.#view.stopwatches.forget(jobUid);
    this.#view.refusedCheckpoints.forget(jobUid);
    this.#view.refusedCalls.forget(jobUid);
    this.#view.references?.forget(jobUid);
    this.#view.podWarnings?.forget(jobUid);
    this.#view.unwrittenStatuses.forget(jobUid);
  }

  /** Jobs whose status the API server has not accepted for minutes. */
  unrecorded(): number {
    return this.#view.unwrittenStatuses.count(this.#view.monotonicMs());
  }

  /** Reconciles the job of that key (`namespace/name`). Throws when the cluster refused or was away: try again later. */
  async reconcile(key: string): Promise<ReconcileOutcome> {
    const steps = reconcileJob(key, { view: this.#view, effects: this.#effects });
    let step = steps.next();
    while (step.done !== true) {
      const answers = await Promise.all(step.value.map((call) => this.#answer(call)));
      await this.#options.turns?.next();
      step = steps.next(answers);
    }
    return step.value;
  }

  async #answer(call: Call): Promise<Answer> {
    try {
      return await this.#make(call);
    } catch (error) {
      const cause = causeOf(error, call);
      if (cause === 'refused' && (call.kind === 'createPod' || call.kind === 'probePod'))
        this.#noteRefusal(call, error);
      return { kind: 'failed', error, cause, message: serverSentence(error) };
    }
  }

  #noteRefusal({ job: { metadata } }: Call, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.#podQuotas.noteRefusal(metadata.namespace ?? '', message, this.#options.clock.monotonicMs());
  }

  async #make(call: Call): Promise<Answer> {
    const { store } = this.#options;
    const { job } = call;
    switch (call.kind) {
      case 'readLive':
        return { kind: 'done', nodeStates: await this.#readLive(job, call) };
      case 'readEvidence':
        await this.#options.readEvidence?.(job);
        return { kind: 'done' };
      case 'readCheckpoints':
        return done(store.readCheckpoints(job));
      case 'readPodWarning': {
        const warning = await store.readPodWarning(job, call.pod);
        return { kind: 'done', ...(warning === undefined ? {} : { warning }) };
      }
      case 'readReferences':
        return { kind: 'done', references: await store.readReferences(job, call.references) };
      case 'writeStatus':
        return { kind: 'done', job: await store.writeStatus(job, call.status) };
      case 'addFinalizer':
        return done(store.addFinalizer(job));
      case 'removeFinalizer':
        return done(store.removeFinalizer(job));
      case 'createPlacement':
        return done(store.createPlacement(job, call));
      case 'deletePlacement':
        return done(store.deletePlacement(job, call.placement));
      case 'createPod':
        return done(store.createPod(job, await this.#manifest(job, call)));
      case 'probePod':
        this.#warnOfUsers(job, call);
        return done(
          store.probePod(job, await this.#manifest(job, call), {
            computeDomain: computeDomainOf(call),
            gang: demandOf(call),
          }),
        );
      case 'createComputeDomain':
        return done(store.createComputeDomain(job, call));
      case 'deleteComputeDomain':
        return done(store.deleteComputeDomain(job, call.name));
      case 'liftGate':
        return done(store.liftGate(job, call.pod));
      case 'releasePod':
        return done(store.releasePod(job, call.pod));
      case 'deletePod':
        return deletion(store.deletePod(job, { ...call.pod, gracePeriodSeconds: call.gracePeriodSeconds }));
      case 'markCheckpointDamaged':
        return done(store.markCheckpointDamaged(job, call));
      case 'markCheckpoint':
        return done(store.markCheckpoint(job, call));
      case 'deleteCheckpoint':
        return done(store.deleteCheckpoint(job, call.checkpoint));
      case 'createCheckpoint':
        return done(store.createCheckpoint(job, call));
    }
  }

  /** Evidence is read last, so that it is the newest part of the proof. */
  async #readLive(
    job: TrainingJob,
    call: Extract<Call, { kind: 'readLive' }>,
  ): Promise<ReadonlyMap<string, NodeState>> {
    const nodeStates = await this.#options.store.readLive(job, call);
    if (call.evidence === true) await this.#options.readEvidence?.(job);
    return nodeStates;
  }

  async #manifest(
    job: TrainingJob,
    call: Extract<Call, { kind: 'createPod' | 'probePod' }>,
  ): Promise<Record<string, unknown>> {
    const { placement, podIndex, name } = call;
    const { spec, engine } = this.#renderedFor(job, placement);
    const codeUrl = await this.#options.codeUrlOf?.(job);
    const priority = spec.priorityClassName === undefined ? undefined : job.status?.priority;
    const priorityClassName = podClassOf(priority, this.#options.priorityClasses?.() ?? []);
    return toPod({ job: { ...job, spec }, placement: { spec: placement } }, podIndex, {
      ...this.#options.pods(),
      engine,
      name,
      ...(codeUrl === undefined ? {} : { codeUrl }),
      ...(priorityClassName === undefined ? {} : { priorityClassName }),
    });
  }

  /** Earlier releases ran these containers as the user of their image, often root. */
  #warnOfUsers(job: TrainingJob, { placement: { runtime } }: Extract<Call, { kind: 'probePod' }>): void {
    const { user } = this.#options.pods();
    const names = runtime === undefined || user === undefined ? [] : containersWithoutUser(runtime);
    if (runtime === undefined || names.length === 0) return;
    this.#options.warnOfRuntime(
      job,
      `${names.length === 1 ? 'Container' : 'Containers'} ${cutText(names.join(', '), 200)} of TrainingRuntime ${runtime.name} name no user and ` +
        `run as user ${user}, where earlier releases ran them as the user of their image. If one fails, set securityContext.runAsUser ` +
        `(not 0), or ask an administrator for a ClusterTrainingRuntime.`,
    );
  }

  /** Cached because it is the same for every pod of a gang, and a gang may have thousands. */
  #renderedFor(job: TrainingJob, placement: PlacementSpec): Rendered {
    const last = this.#rendered;
    if (last !== undefined && last.job === job && last.placement === placement) return last;
    // Fills in defaults that a resource of an earlier version lacks, and describes an unreadable spec in one sentence.
    const spec = specOfEpoch(TrainingJobSpec.parse(job.spec), placement);
    const engine = renderEngine(spec, contextOfPlacement(placement));
    if (engine.kind === 'refused') throw new Error(`${engine.why}; ${engine.fallback}`);
    this.#rendered = { job, placement, spec, engine };
    return this.#rendered;
  }
}

function computeDomainOf({ name, placement }: Extract<Call, { kind: 'probePod' }>): ComputeDomainName | undefined {
  return placement.runtime?.computeDomain === undefined ? undefined : { name: gangOfPod(name), epoch: placement.epoch };
}

/** What all pods of the gang ask of quotas. */
function demandOf({ placement }: Extract<Call, { kind: 'probePod' }>): PodDemand {
  const gpus = placement.nodes.reduce((sum, _node, podIndex) => sum + gpusOfPod(placement, podIndex), 0);
  return { gpus, pods: placement.nodes.length };
}

/** The engine's rendering of a job and a placement. */
interface Rendered {
  readonly job: TrainingJob;
  readonly placement: PlacementSpec;
  readonly spec: ReturnType<typeof specOfEpoch>;
  readonly engine: PodContext['engine'];
}

async function done(write: Promise<void>): Promise<Answer> {
  await write;
  return { kind: 'done' };
}

async function deletion(deleting: Promise<'deleted' | 'changed'>): Promise<Answer> {
  return { kind: 'done', isContested: (await deleting) === 'changed' };
}

const JOB_WRITES: readonly Call['kind'][] = ['writeStatus', 'addFinalizer', 'removeFinalizer'];

function causeOf(error: unknown, { kind }: Call): FailureCause {
  // A deleted job also counts as another job.
  if (isConflict(error) || (isNotFound(error) && JOB_WRITES.includes(kind))) return 'conflict';
  if (isRefusal(error) || error instanceof NoComputeDomainsError || error instanceof NoRoomInQuotaError)
    return 'refused';
  if (isAdmissionUnavailable(error)) return 'unadmitted';
  return isRetryable(error) || error instanceof NotLeadingError ? 'transient' : 'needsPerson';
}
