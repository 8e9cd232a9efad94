import { effectiveLayout, type GpuCounts, type TrainingJob } from '@coxswain/api-types';
import type { Fabric } from '@coxswain/fabric';
import { type ParallelLayout, worldSize } from '@coxswain/layout';
import { gpuOf } from '@coxswain/planner/presets';
import { type ClusterForecast, forecastCluster, type ForecastNode, servingsOf } from '@coxswain/scheduling';
import type { QueueState, RecordedJob } from './queue-records.ts';

/** Everything about the queue at one moment, of all projects. No name is in it. */
export interface QueueSnapshot {
  readonly now: Date;
  /** Why no start is predicted. */
  readonly problem: string | undefined;
  readonly forecast: ClusterForecast;
  /** By UID: jobs that wait, and those that hold GPUs. */
  readonly jobs: ReadonlyMap<string, RecordedJob>;
  readonly totalGpus: number;
  readonly freeGpus: number;
}

/** What a snapshot is computed from. */
export interface SnapshotFacts {
  readonly now: Date;
  readonly state: QueueState;
  /** The nodes, or why they are not known. */
  readonly nodes: { readonly fabric: Fabric; readonly problem?: undefined } | { readonly problem: string };
  /** undefined: the operator has not counted them. */
  readonly gpus: GpuCounts | undefined;
}

/** How nodes without a label of their GPUs are counted, as the operator does. */
const UNLABELLED = 'unlabelled';

/** Why the cluster does not list its nodes is for administrators. */
const NODES_UNKNOWN =
  'The API cannot read the nodes of the cluster. Administrators find the reason on the page Fabric.';

/** Computes the snapshot. */
export function queueSnapshot({ now, state, nodes, gpus }: SnapshotFacts): QueueSnapshot {
  const usable = nodes.problem === undefined ? usableNodes(nodes.fabric) : [];
  const types = [...new Set(usable.map(({ type }) => type))];
  const jobs = state.jobs.map((recorded) => ({ ...recorded, job: withTypeOfNodes(recorded.job, types) }));
  const placed = jobs.flatMap(({ id, job }) => {
    const pods = state.pods.get(id);
    return pods === undefined ? [] : [{ job, pods }];
  });
  const forecast = forecastCluster({
    now,
    nodes: usable,
    placed,
    waiting: jobs.filter(({ id }) => !state.pods.has(id)).map(({ job }) => job),
    servings: servingsOf([...state.servedAt].map(([namespace, startedAt]) => servedJob(namespace, startedAt))),
    freeGpus: gpus === undefined ? undefined : new Map(gpus.types.map(({ type, free }) => [type, free])),
  });
  const total = usable.reduce((sum, node) => sum + node.gpus, 0);
  const held = placed.flatMap(({ pods }) => pods).reduce((sum, pod) => sum + pod.gpus, 0);
  return {
    now,
    problem: nodes.problem === undefined ? undefined : NODES_UNKNOWN,
    forecast,
    jobs: new Map(jobs.map((recorded) => [recorded.job.metadata.uid, recorded])),
    totalGpus: gpus?.total ?? total,
    freeGpus: gpus?.free ?? Math.max(0, total - held),
  };
}

function usableNodes({ nodes }: Fabric): readonly ForecastNode[] {
  return nodes.flatMap(({ name, gpus, usable, gpuType = UNLABELLED }) =>
    usable ? [{ name, gpus, type: gpuType }] : [],
  );
}

/** A job with nothing but the start that counts for whose turn it is. */
function servedJob(namespace: string, startedAt: string): TrainingJob {
  return { metadata: { namespace }, status: { attempts: [{ startedAt }] } } as unknown as TrainingJob;
}

/** A plan names a GPU as the planner does; nodes as their labels do. Where one type of node has that GPU, the plan gets its name. */
function withTypeOfNodes(job: TrainingJob, types: readonly string[]): TrainingJob {
  const { plan } = job.status ?? {};
  if (job.status === undefined || plan?.gpuType === undefined || types.includes(plan.gpuType)) return job;
  const [only, ...others] = types.filter((type) => presetOf(type) === plan.gpuType);
  if (only === undefined || others.length > 0) return job;
  return { ...job, status: { ...job.status, plan: { ...plan, gpuType: only } } };
}

function presetOf(type: string): string | undefined {
  try {
    return gpuOf(type).name;
  } catch {
    return undefined;
  }
}

/** Smaller numbers of GPUs on which the job could run: fewer copies of its layout that divide the batch; without a layout halves. */
export function smallerSizes({ spec, status }: TrainingJob, gpus: number): readonly number[] {
  const layout = effectiveLayout(spec, status?.plan);
  if (layout !== undefined) return fewerCopies(layout, spec.training);
  const sizes: number[] = [];
  for (let half = gpus / 2; Number.isInteger(half) && half >= 1; half /= 2) sizes.push(half);
  return sizes;
}

function fewerCopies(layout: ParallelLayout, training: TrainingJob['spec']['training']): readonly number[] {
  const { globalBatchSize = 0, microBatchSize = 1 } = training ?? {};
  const perCopy = worldSize(layout) / layout.dataParallelDegree;
  return Array.from({ length: layout.dataParallelDegree - 1 }, (_, index) => layout.dataParallelDegree - 1 - index)
    .filter((copies) => globalBatchSize % (copies * microBatchSize) === 0)
    .map((copies) => copies * perCopy);
}
