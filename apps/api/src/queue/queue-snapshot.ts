import { effectiveLayout, type GpuCounts, type TrainingJob } from '@coxswain/api-types';
import type { Fabric, NodeWindow } from '@coxswain/fabric';
import { type ParallelLayout, worldSize } from '@coxswain/layout';
import { gpuOf } from '@coxswain/planner/presets';
import {
  atOnce,
  type ClusterForecast,
  forecastClusterInSteps,
  type ForecastNode,
  type InSteps,
  servingsOf,
} from '@coxswain/scheduling';
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
  /** Windows of the Fabric that are not over, the one that begins first first. */
  readonly windows: readonly SnapshotWindow[];
}

/** A window of the Fabric, and over how many nodes it is. */
export interface SnapshotWindow {
  readonly window: NodeWindow;
  readonly nodes: number;
}

/** What a snapshot is computed from. */
export interface SnapshotFacts {
  readonly now: Date;
  readonly state: QueueState;
  /** The nodes, or why they are not known. */
  readonly nodes:
    | {
        readonly fabric: Fabric;
        readonly windows?: ReadonlyMap<string, readonly NodeWindow[]>;
        readonly problem?: undefined;
      }
    | { readonly problem: string };
  /** undefined: the operator has not counted them. */
  readonly gpus: GpuCounts | undefined;
}

/** How nodes without a label of their GPUs are counted, as the operator does. */
const UNLABELLED = 'unlabelled';

/** Why the cluster does not list its nodes is for administrators. */
const NODES_UNKNOWN =
  'The API cannot read the nodes of the cluster. Administrators find the reason on the page Fabric.';

/** Computes the snapshot. */
export function queueSnapshot(facts: SnapshotFacts): QueueSnapshot {
  return atOnce(queueSnapshotInSteps(facts));
}

/** The same in steps of a few milliseconds. */
export function* queueSnapshotInSteps({ now, state, nodes, gpus }: SnapshotFacts): InSteps<QueueSnapshot> {
  const usable = nodes.problem === undefined ? usableNodes(nodes.fabric) : [];
  const windows = nodes.problem === undefined ? (nodes.windows ?? new Map<string, never>()) : new Map<string, never>();
  const typesOf = typesByPreset(usable);
  yield;
  const jobs = state.jobs.map((recorded) => ({ ...recorded, job: withTypeOfNodes(recorded.job, typesOf) }));
  yield;
  const placed = jobs.flatMap(({ id, job }) => {
    const pods = state.pods.get(id);
    return pods === undefined ? [] : [{ job, pods }];
  });
  const forecast = yield* forecastClusterInSteps({
    now,
    nodes: usable,
    placed,
    waiting: jobs.filter(({ id }) => !state.pods.has(id)).map(({ job }) => job),
    servings: servingsOf([...state.servedAt].map(([namespace, startedAt]) => servedJob(namespace, startedAt))),
    freeGpus: gpus === undefined ? undefined : new Map(gpus.types.map(({ type, free }) => [type, free])),
    windows,
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
    windows: windowsOf(windows, now),
  };
}

function windowsOf(byNode: ReadonlyMap<string, readonly NodeWindow[]>, now: Date): readonly SnapshotWindow[] {
  const byName = Map.groupBy([...byNode.values()].flat(), ({ name }) => name);
  return [...byName.values()]
    .flatMap((same) => (same[0] === undefined ? [] : [{ window: same[0], nodes: same.length }]))
    .filter(({ window }) => window.untilMs > now.getTime())
    .toSorted((one, other) => one.window.fromMs - other.window.fromMs);
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
function withTypeOfNodes(job: TrainingJob, { types, byPreset }: NodeTypes): TrainingJob {
  const { plan } = job.status ?? {};
  if (job.status === undefined || plan?.gpuType === undefined || types.has(plan.gpuType)) return job;
  const [only, ...others] = byPreset.get(plan.gpuType) ?? [];
  if (only === undefined || others.length > 0) return job;
  return { ...job, status: { ...job.status, plan: { ...plan, gpuType: only } } };
}

/** Types of the nodes, and those that are each GPU of the planner. */
interface NodeTypes {
  readonly types: ReadonlySet<string>;
  readonly byPreset: ReadonlyMap<string | undefined, readonly string[]>;
}

/** Once for all jobs: what an unknown type resembles takes long to find. */
function typesByPreset(nodes: readonly ForecastNode[]): NodeTypes {
  const types = new Set(nodes.map(({ type }) => type));
  return { types, byPreset: Map.groupBy(types, presetOf) };
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
