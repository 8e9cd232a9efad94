import {
  API_GROUP_VERSION,
  type Attempt,
  MAX_ATTEMPTS_IN_STATUS,
  type Placement,
  type PlacementSpec,
  podName,
  type TrainingJob,
  TrainingJobSpec,
  type TrainingJobStatus,
} from '@coxswain/api-types';
import type { NodeFacts } from '@coxswain/fabric';
import { placementSha256, type SchedulerView } from '@coxswain/scheduling';
import { LEAVE_MS, lostMs, RESTART_MS } from '../load/preemption.ts';
import type { QueueCluster, QueueJob } from '../load/queue-job.ts';

/** One step of each simulated job. Its declared steps come from the time that they take, else from its predicted run time. */
const STEP_MS = 10_000;
const NODES_PER_LEAF = 32;
const LEAVES_PER_SPINE = 4;

/** Moments of virtual time. */
export interface VirtualClock {
  readonly nowMs: number;
  /** Time that decisions took. It moves the monotonic clock alone, so that ends and starts keep the time of their event. */
  readonly spentMs: number;
}

/** What the real scheduler reads of a simulated cluster. Caches never lag, and pods are bound as soon as their job is placed. */
export class SchedulerCluster implements SchedulerView {
  readonly names: readonly string[];
  readonly #clock: VirtualClock;
  readonly #facts: ReadonlyMap<string, NodeFacts>;
  readonly #used = new Map<string, number>();
  readonly #jobs = new Map<string, TrainingJob>();
  readonly #placements = new Map<string, Placement>();
  /** Of jobs that made room: what they left. */
  readonly #left = new Map<string, Placement>();
  /** All pods of each job. */
  readonly #podsOf = new Map<string, number>();
  readonly #podNames = new Map<string, ReadonlySet<string>>();

  constructor(cluster: QueueCluster, clock: VirtualClock) {
    this.#clock = clock;
    const digits = String(cluster.nodes).length;
    this.names = Array.from({ length: cluster.nodes }, (_, index) => `node-${String(index).padStart(digits, '0')}`);
    this.#facts = new Map(this.names.map((name, index) => [name, factsOf(name, index, cluster.gpusPerNode)]));
  }

  now(): Date {
    return new Date(this.#clock.nowMs);
  }

  monotonicMs(): number {
    return this.#clock.nowMs + this.#clock.spentMs;
  }

  nodes(): readonly NodeFacts[] {
    return [...this.#facts.values()];
  }

  node(name: string): NodeFacts | undefined {
    return this.#facts.get(name);
  }

  reserve(): undefined {
    return undefined;
  }

  gpusUnderPods(node: string): number {
    return this.#used.get(node) ?? 0;
  }

  gpusUnderPodsByNode(): Map<string, number> {
    return new Map(this.#used);
  }

  jobs(): readonly TrainingJob[] {
    return [...this.#jobs.values()];
  }

  job(uid: string): TrainingJob | undefined {
    return this.#jobs.get(uid);
  }

  placements(): readonly Placement[] {
    return [...this.#placements.values(), ...this.#left.values()];
  }

  settledPods({ metadata }: TrainingJob): ReadonlySet<string> {
    return this.#podNames.get(metadata.uid) ?? NO_PODS;
  }

  /** The job was submitted. */
  add(job: QueueJob): TrainingJob {
    const made = trainingJobOf(job, this.now().toISOString());
    this.#jobs.set(job.uid, made);
    this.#podsOf.set(job.uid, job.pods);
    return made;
  }

  /** Writes part of the job's status. Returns the job before and after. */
  write(uid: string, status: Partial<TrainingJobStatus>): { before: TrainingJob; after: TrainingJob } {
    return this.replace(uid, { ...EMPTY_STATUS, ...this.#jobs.get(uid)?.status, ...status });
  }

  /** Writes the whole status of the job. */
  replace(uid: string, status: TrainingJobStatus): { before: TrainingJob; after: TrainingJob } {
    const before = this.#jobs.get(uid);
    if (before === undefined) throw new Error(`there is no job ${uid}`);
    const after = { ...before, status };
    this.#jobs.set(uid, after);
    return { before, after };
  }

  /** Status records the placement, and all pods are bound. */
  start(spec: PlacementSpec, gpusPerPod: number): { before: TrainingJob; after: TrainingJob } {
    const { jobUid, jobName, nodes, epoch } = spec;
    const placement = `${jobName}-${epoch}`;
    const { metadata: { namespace = '' } = {}, status = EMPTY_STATUS } = this.#jobs.get(jobUid) ?? {};
    const metadata = { name: placement, namespace, uid: `uid-of-${placement}` };
    this.#placements.set(jobUid, { apiVersion: API_GROUP_VERSION, kind: 'Placement', metadata, spec });
    const job = { name: jobName, uid: jobUid };
    this.#podNames.set(jobUid, new Set(nodes.map((_, podIndex) => podName(job, { epoch, podIndex, placement }))));
    for (const node of nodes) this.#hold(node, gpusPerPod);
    const at = this.now().toISOString();
    const attempt: Attempt = {
      epoch,
      stage: 'Released',
      placement,
      placementSha256: placementSha256(spec),
      layout: spec.layout,
      startedAt: at,
      releasedAt: at,
      runningAt: at,
      // A first start is part of the run time here, so it must not count as the time of a next one.
      ...(status.checkpoint === undefined
        ? { incarnation: 2 }
        : { resumedFrom: { checkpoint: status.checkpoint.name, step: status.checkpoint.step } }),
    };
    const { claim: _ended, ...rest } = status;
    const attempts = [...(status.attempts ?? []), attempt].slice(-MAX_ATTEMPTS_IN_STATUS);
    return this.replace(jobUid, { ...rest, epoch, attempts, conditions: [placedCondition(at, 'Placed')] });
  }

  /** Status records that others leave nodes for the job, or no longer do (`claim` undefined). */
  recordClaim(uid: string, claim: TrainingJobStatus['claim']): { before: TrainingJob; after: TrainingJob } {
    const { claim: _before, ...status } = this.#jobs.get(uid)?.status ?? EMPTY_STATUS;
    return this.replace(uid, claim === undefined ? status : { ...status, claim });
  }

  /** The gang was asked to stop. */
  stop(uid: string, forClaim: NonNullable<Attempt['forClaim']>): { before: TrainingJob; after: TrainingJob } {
    const at = this.now().toISOString();
    return this.#change(uid, (attempt) => ({
      ...attempt,
      stage: 'Stopping',
      stoppingAt: at,
      outcome: 'Moved',
      forClaim,
    }));
  }

  /** The gang was asked to stop, to go on with all of its pods. */
  stopToGrow(uid: string): { before: TrainingJob; after: TrainingJob } {
    const stoppingAt = this.now().toISOString();
    return this.#change(uid, (attempt) => ({ ...attempt, stage: 'Stopping', stoppingAt, outcome: 'Resized' }));
  }

  /** The gang has saved and left its nodes, and its job waits again. */
  leave(job: QueueJob, startMs: number): { before: TrainingJob; after: TrainingJob } {
    const { uid, gpusPerPod } = job;
    const placement = this.#placements.get(uid);
    for (const node of placement?.spec.nodes ?? []) this.#hold(node, -gpusPerPod);
    if (placement !== undefined) this.#left.set(uid, placement);
    this.#placements.delete(uid);
    this.#podNames.delete(uid);
    const at = this.now().toISOString();
    const trainedMs = Math.max(0, this.#trainedMs(job, startMs) - LEAVE_MS);
    const step = this.#firstStepOf(uid) + Math.floor((trainedMs - lostMs(job, trainedMs)) / STEP_MS);
    const { progress } = this.#jobs.get(uid)?.status ?? {};
    // As the operator records it with the end: what was measured counts for the next start too.
    const measured = progress === undefined ? {} : { lastStep: progress.step, lastStepAt: progress.reportedAt };
    const { before } = this.#change(uid, (attempt) => ({ ...attempt, ...measured, stage: 'Ended', endedAt: at }));
    const conditions = [placedCondition(at, 'WaitingForCapacity')];
    const { after } = this.write(uid, {
      conditions,
      ...(step > 0 ? { checkpoint: { name: `${uid}-save`, step } } : {}),
    });
    return { before, after };
  }

  /** The job asks for that many pods, and its plan predicts steps for them, as a new plan of the operator does. */
  resize(uid: string, pods: number, gpusPerPod: number): { before: TrainingJob; after: TrainingJob } {
    const before = this.#jobs.get(uid);
    if (before === undefined) throw new Error(`there is no job ${uid}`);
    const resized = { ...before, spec: { ...before.spec, layout: layoutOfPods(pods, gpusPerPod) } };
    const { status } = before;
    const plan = status?.plan === undefined ? undefined : planFor(status.plan, pods * gpusPerPod);
    const after = status === undefined || plan === undefined ? resized : { ...resized, status: { ...status, plan } };
    this.#jobs.set(uid, after);
    return { before, after };
  }

  /** Step from which the newest attempt goes on. */
  #firstStepOf(uid: string): number {
    return this.#jobs.get(uid)?.status?.attempts?.at(-1)?.resumedFrom?.step ?? 0;
  }

  /** Training since the start of the run, as if on all pods. A first start is part of the run. */
  #trainedMs({ uid, pods }: QueueJob, startMs: number): number {
    const delayMs = this.#firstStepOf(uid) > 0 ? RESTART_MS : 0;
    const allPods = this.#podsOf.get(uid) ?? pods;
    return (Math.max(0, this.#clock.nowMs - startMs - delayMs) * pods) / allPods;
  }

  #change(uid: string, change: (attempt: Attempt) => Attempt): { before: TrainingJob; after: TrainingJob } {
    const attempts = this.#jobs.get(uid)?.status?.attempts ?? [];
    const last = attempts.at(-1);
    return this.write(uid, { attempts: last === undefined ? attempts : [...attempts.slice(0, -1), change(last)] });
  }

  /** The job and its pods are gone. */
  end(uid: string, gpusPerPod: number): TrainingJob | undefined {
    const job = this.#jobs.get(uid);
    for (const node of this.#placements.get(uid)?.spec.nodes ?? []) this.#hold(node, -gpusPerPod);
    this.#jobs.delete(uid);
    this.#podsOf.delete(uid);
    this.#left.delete(uid);
    this.#placements.delete(uid);
    this.#podNames.delete(uid);
    return job;
  }

  /**
   * Status of a running job has its newest step and when its first steps were taken, as ranks report them. Only jobs whose stated steps have a known
   * duration take steps; all others have their prediction alone.
   */
  reportProgress(job: QueueJob, startMs: number): { before: TrainingJob; after: TrainingJob } | undefined {
    const { uid, statedMs, pods } = job;
    const steps = Math.floor(this.#trainedMs(job, startMs) / STEP_MS);
    const attempt = this.#jobs.get(uid)?.status?.attempts?.at(-1);
    if (steps < 2 || attempt === undefined || attempt.stage !== 'Released') return undefined;
    const resumed = this.#firstStepOf(uid);
    const stepMs = (STEP_MS * (this.#podsOf.get(uid) ?? pods)) / pods;
    const beganMs = startMs + (resumed > 0 ? RESTART_MS : 0);
    const at = (taken: number): string => new Date(beganMs + taken * stepMs).toISOString();
    const change = this.#change(uid, (one) => ({ ...one, firstStep: { step: resumed + 1, at: at(1) } }));
    if (statedMs === undefined) return attempt.firstStep === undefined ? change : undefined;
    const { after } = this.write(uid, { progress: { step: resumed + steps, reportedAt: at(steps) } });
    return { before: change.before, after };
  }

  #hold(node: string, gpus: number): void {
    const used = (this.#used.get(node) ?? 0) + gpus;
    if (used === 0) this.#used.delete(node);
    else this.#used.set(node, used);
  }
}

const NO_PODS: ReadonlySet<string> = new Set();
const EMPTY_STATUS: TrainingJobStatus = { epoch: 0, restarts: { total: 0, charged: 0 } };

/** Condition Placed of a job that waits, or was placed. */
export function placedCondition(
  at: string,
  reason: 'Placed' | 'WaitingForCapacity',
): NonNullable<TrainingJobStatus['conditions']>[number] {
  const status = reason === 'Placed' ? 'True' : 'False';
  return { type: 'Placed', status, reason, message: '', observedGeneration: 1, lastTransitionTime: at };
}

/** NVLink inside the node, 32 nodes below a leaf switch, 4 of those below a spine switch. */
function factsOf(name: string, index: number, gpuCapacity: number): NodeFacts {
  const leaf = Math.floor(index / NODES_PER_LEAF);
  const labels = {
    'fabric.topograph.run/tier-0': `leaf-${leaf}`,
    'fabric.topograph.run/tier-1': `spine-${Math.floor(leaf / LEAVES_PER_SPINE)}`,
  };
  return { name, labels, gpuCapacity, schedulable: true, ready: true };
}

/** Specs by layout: parsing one takes longer than a decision. */
const specs = new Map<string, TrainingJobSpec>();

function specOf({ pods, gpusPerPod }: QueueJob): TrainingJobSpec {
  const key = `${pods} ${gpusPerPod}`;
  const known = specs.get(key);
  if (known !== undefined) return known;
  const spec = TrainingJobSpec.parse({
    engine: { name: 'command', image: 'simulated', command: ['train'] },
    checkpoint: { claimName: 'saves' },
    layout: layoutOfPods(pods, gpusPerPod),
    training: { steps: 1, globalBatchSize: pods },
    resources: { gpusPerNode: gpusPerPod },
  });
  specs.set(key, spec);
  return spec;
}

/** A copy of the model for each pod. */
export function layoutOfPods(pods: number, gpusPerPod: number): NonNullable<TrainingJobSpec['layout']> {
  return { tensorParallelDegree: gpusPerPod, pipelineParallelDegree: 1, dataParallelDegree: pods };
}

function trainingJobOf(job: QueueJob, at: string): TrainingJob {
  const { uid, namespace, predicted, priority } = job;
  const { training, ...spec } = specOf(job);
  const steps = predicted === undefined ? undefined : stepsOf(job, predicted);
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'TrainingJob',
    metadata: { name: uid, namespace, uid, resourceVersion: '1', generation: 1, creationTimestamp: at },
    spec: steps === undefined || training === undefined ? spec : { ...spec, training: { ...training, steps } },
    status: {
      ...EMPTY_STATUS,
      askedAt: at,
      priority: { value: priority },
      ...(predicted === undefined ? {} : { plan: planOf(job, predicted, at) }),
    },
  };
}

function stepsOf({ statedMs }: QueueJob, { runMs }: NonNullable<QueueJob['predicted']>): number {
  return Math.max(1, Math.round((statedMs ?? runMs) / STEP_MS));
}

/** What the planner predicted for the job: a step time whose interval ends at the latest predicted end. */
function planOf(
  job: QueueJob,
  predicted: NonNullable<QueueJob['predicted']>,
  plannedAt: string,
): NonNullable<TrainingJobStatus['plan']> {
  const { runMs, latestMs } = predicted;
  const steps = stepsOf(job, predicted);
  return {
    chosenBy: 'User',
    gpus: job.pods * job.gpusPerPod,
    fabric: '',
    predictedStepMs: runMs / steps,
    predictedStepLowMs: runMs ** 2 / latestMs / steps,
    predictedStepHighMs: latestMs / steps,
    plannerVersion: 'simulated',
    plannedAt,
  };
}

/** The same plan for another number of GPUs. Each GPU does its share. */
function planFor(plan: NonNullable<TrainingJobStatus['plan']>, gpus: number): NonNullable<TrainingJobStatus['plan']> {
  const { predictedStepMs = 0, predictedStepLowMs = 0, predictedStepHighMs = 0 } = plan;
  const times = plan.gpus / gpus;
  return {
    ...plan,
    gpus,
    predictedStepMs: predictedStepMs * times,
    predictedStepLowMs: predictedStepLowMs * times,
    predictedStepHighMs: predictedStepHighMs * times,
  };
}
