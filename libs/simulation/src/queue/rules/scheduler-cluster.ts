import {
  API_GROUP_VERSION,
  type Attempt,
  type Placement,
  type PlacementSpec,
  podName,
  type TrainingJob,
  TrainingJobSpec,
  type TrainingJobStatus,
} from '@coxswain/api-types';
import type { NodeFacts } from '@coxswain/fabric';
import { placementSha256, type SchedulerView } from '@coxswain/scheduling';
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
    return [...this.#placements.values()];
  }

  settledPods({ metadata }: TrainingJob): ReadonlySet<string> {
    return this.#podNames.get(metadata.uid) ?? NO_PODS;
  }

  /** The job was submitted. */
  add(job: QueueJob): TrainingJob {
    const made = trainingJobOf(job, this.now().toISOString());
    this.#jobs.set(job.uid, made);
    return made;
  }

  /** Writes part of the job's status. Returns the job before and after. */
  write(uid: string, status: Partial<TrainingJobStatus>): { before: TrainingJob; after: TrainingJob } {
    const before = this.#jobs.get(uid);
    if (before === undefined) throw new Error(`there is no job ${uid}`);
    const after = { ...before, status: { ...EMPTY_STATUS, ...before.status, ...status } };
    this.#jobs.set(uid, after);
    return { before, after };
  }

  /** Status records the placement, and all pods are bound. */
  start(spec: PlacementSpec, gpusPerPod: number): { before: TrainingJob; after: TrainingJob } {
    const { jobUid, jobName, nodes } = spec;
    const placement = `${jobName}-1`;
    const { namespace = '' } = this.#jobs.get(jobUid)?.metadata ?? {};
    const metadata = { name: placement, namespace, uid: `uid-of-${placement}` };
    this.#placements.set(jobUid, { apiVersion: API_GROUP_VERSION, kind: 'Placement', metadata, spec });
    const job = { name: jobName, uid: jobUid };
    this.#podNames.set(jobUid, new Set(nodes.map((_, podIndex) => podName(job, { epoch: 1, podIndex, placement }))));
    for (const node of nodes) this.#hold(node, gpusPerPod);
    const at = this.now().toISOString();
    const attempt: Attempt = {
      epoch: 1,
      stage: 'Released',
      placement,
      placementSha256: placementSha256(spec),
      layout: spec.layout,
      startedAt: at,
      releasedAt: at,
      runningAt: at,
    };
    return this.write(jobUid, { epoch: 1, attempts: [attempt], conditions: [placedCondition(at, 'Placed')] });
  }

  /** The job and its pods are gone. */
  end(uid: string, gpusPerPod: number): TrainingJob | undefined {
    const job = this.#jobs.get(uid);
    for (const node of this.#placements.get(uid)?.spec.nodes ?? []) this.#hold(node, -gpusPerPod);
    this.#jobs.delete(uid);
    this.#placements.delete(uid);
    this.#podNames.delete(uid);
    return job;
  }

  /**
   * Status of a running job has its newest step and when its first steps were taken, as ranks report them. Only jobs whose stated steps have a known
   * duration take steps; all others have their prediction alone.
   */
  reportProgress(
    { uid, statedMs }: QueueJob,
    startMs: number,
  ): { before: TrainingJob; after: TrainingJob } | undefined {
    const step = Math.floor((this.#clock.nowMs - startMs) / STEP_MS);
    const [attempt] = this.#jobs.get(uid)?.status?.attempts ?? [];
    if (statedMs === undefined || step < 2 || attempt === undefined) return undefined;
    const firstStep = { step: 1, at: new Date(startMs + STEP_MS).toISOString() };
    const reportedAt = new Date(startMs + step * STEP_MS).toISOString();
    return this.write(uid, { progress: { step, reportedAt }, attempts: [{ ...attempt, firstStep }] });
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
    layout: { tensorParallelDegree: gpusPerPod, pipelineParallelDegree: 1, dataParallelDegree: pods },
    training: { steps: 1, globalBatchSize: pods },
    resources: { gpusPerNode: gpusPerPod },
  });
  specs.set(key, spec);
  return spec;
}

function trainingJobOf(job: QueueJob, at: string): TrainingJob {
  const { uid, namespace, predicted } = job;
  const { training, ...spec } = specOf(job);
  const steps = predicted === undefined ? undefined : stepsOf(job, predicted);
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'TrainingJob',
    metadata: { name: uid, namespace, uid, resourceVersion: '1', generation: 1, creationTimestamp: at },
    spec: steps === undefined || training === undefined ? spec : { ...spec, training: { ...training, steps } },
    status: { ...EMPTY_STATUS, askedAt: at, ...(predicted === undefined ? {} : { plan: planOf(job, predicted, at) }) },
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
