import { effectiveLayout, findCondition, gpuCount, type TrainingJob } from '@coxswain/api-types';
import type { NodeWindow } from '@coxswain/fabric';
import { worldSize } from '@coxswain/layout';
import { isWaitingForCapacity } from '../order/waiting-jobs.ts';
import { closedTimes } from './closed-times.ts';
import { type ForecastOfJob, forecastInSteps } from './forecast.ts';
import type {
  ForecastInput,
  ForecastNode,
  RequestPart,
  RestedTime,
  RunningGang,
  WaitingGang,
} from './forecast-input.ts';
import { atOnce, type InSteps } from './in-steps.ts';
import { inOrder, type Servings } from '../order/in-order.ts';
import { type PredictedEnd, predictedEnd } from '../times/predicted-end.ts';

/** A job that holds GPUs, and on which nodes, one entry for each pod. */
export interface PlacedJob {
  readonly job: TrainingJob;
  readonly pods: RunningGang['pods'];
}

/** The cluster as its records show it. */
export interface RecordedCluster {
  readonly now: Date;
  readonly nodes: readonly ForecastNode[];
  readonly placed: readonly PlacedJob[];
  /** Jobs that may wait; those that do not wait for GPUs are left out. */
  readonly waiting: readonly TrainingJob[];
  readonly servings: Servings;
  /** GPUs of the cluster that are free, by type, as the operator counted them. Absent: not known, and only jobs are taken to hold GPUs. */
  readonly freeGpus?: ReadonlyMap<string, number> | undefined;
  /** Windows of the Fabric over nodes, by name of the node. */
  readonly windows?: ReadonlyMap<string, readonly NodeWindow[]> | undefined;
}

/** The forecast, and what it was computed from. */
export interface ClusterForecast {
  readonly input: ForecastInput;
  readonly jobs: readonly ForecastOfJob[];
}

/** The forecast for a cluster: the order, the predicted ends and the recorded starts are those of the operator. */
export function forecastCluster(cluster: RecordedCluster): ClusterForecast {
  return atOnce(forecastClusterInSteps(cluster));
}

/** The same in steps of a few milliseconds, so that a process that answers others can do so between them. */
export function* forecastClusterInSteps(cluster: RecordedCluster): InSteps<ClusterForecast> {
  const input = yield* forecastInputOf(cluster);
  yield;
  return { input, jobs: yield* forecastInSteps(input) };
}

/** Jobs of one step. */
const JOBS_OF_STEP = 512;

function* inStepsOf<T, Result>(items: readonly T[], each: (item: T) => Result): InSteps<readonly Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    if (results.length % JOBS_OF_STEP === 0) yield;
    results.push(each(item));
  }
  return results;
}

function* forecastInputOf({
  now,
  nodes,
  placed,
  waiting,
  servings,
  freeGpus,
  windows = new Map(),
}: RecordedCluster): InSteps<ForecastInput> {
  const running = yield* inStepsOf(placed, ({ job, pods }): RunningGang => ({
    uid: job.metadata.uid,
    pods,
    end: rested(predictedEnd(job, now)),
  }));
  const types = new Set(nodes.map(({ type }) => type));
  const ordered = inOrder(waiting.filter(isWaitingForCapacity), servings);
  return {
    nowMs: now.getTime(),
    nodes,
    running,
    waiting: yield* inStepsOf(ordered, (job) => waitingGang(job, { now, types })),
    closed: closedTimes(windows, now),
    ...(freeGpus === undefined ? {} : { otherUse: otherUseOf(nodes, running, freeGpus) }),
  };
}

/** GPUs that neither jobs hold nor the operator counts as free: pods of other owners hold them. */
function otherUseOf(
  nodes: readonly ForecastNode[],
  running: readonly RunningGang[],
  freeGpus: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const typeOf = new Map(nodes.map(({ name, type }) => [name, type]));
  const used = new Map<string, number>();
  for (const { pods } of running) {
    for (const { node, gpus } of pods) {
      const type = typeOf.get(node);
      if (type !== undefined) used.set(type, (used.get(type) ?? 0) + gpus);
    }
  }
  const others = new Map<string, number>();
  for (const [type, ofType] of Map.groupBy(nodes, (node) => node.type)) {
    const free = freeGpus.get(type);
    const total = ofType.reduce((sum, { gpus }) => sum + gpus, 0);
    if (free !== undefined) others.set(type, Math.max(0, total - free - (used.get(type) ?? 0)));
  }
  return others;
}

function waitingGang(
  job: TrainingJob,
  { now, types }: { readonly now: Date; readonly types: ReadonlySet<string> },
): WaitingGang {
  const end = rested(predictedEnd(job, now));
  const since = (ms: number): number => Math.max(0, ms - now.getTime());
  const { atMs, earliestMs, latestMs, restsOn } = end;
  return {
    uid: job.metadata.uid,
    namespace: job.metadata.namespace,
    parts: partsOf(job).map((part) => ({ ...part, type: types.has(part.type ?? '') ? part.type : undefined })),
    hold: {
      atMs: since(atMs),
      earliestMs: since(earliestMs),
      latestMs: latestMs === undefined ? undefined : since(latestMs),
      restsOn,
    },
    promised: promisedStart(job),
    isOverQuota: /exceeded quota|more than a quota allows/.test(
      findCondition(job.status?.conditions, 'Placed')?.message ?? '',
    ),
  };
}

/** The GPUs of each type that the job asks for. Its type is known if the plan was made for the nodes of a runtime, or for several types. */
function partsOf({ spec, status }: TrainingJob): readonly RequestPart[] {
  const gpusPerPod = spec.resources.gpusPerNode;
  const layout = effectiveLayout(spec, status?.plan);
  const { plan } = status ?? {};
  if (layout !== undefined && plan?.stageGpus !== undefined && plan.stageGpus.length > 0) {
    const perStage = worldSize(layout) / layout.pipelineParallelDegree;
    const byType = Map.groupBy(plan.stageGpus, ({ gpuType }) => gpuType);
    return [...byType].map(([type, stages]) => ({
      type,
      gpus: perStage * stages.reduce((sum, one) => sum + one.stages, 0),
      gpusPerPod,
    }));
  }
  const type = plan?.runtime === undefined ? undefined : plan.gpuType;
  return [{ type, gpus: gpuCount(layout, spec.gpus), gpusPerPod }];
}

/** The start that the operator recorded with the nodes that it holds. */
function promisedStart({ status }: TrainingJob): RestedTime | undefined {
  const expected = status?.expectedStart;
  const atMs = Date.parse(expected?.at ?? '');
  if (expected === undefined || Number.isNaN(atMs)) return undefined;
  const earliestMs = Date.parse(expected.earliest ?? '');
  const latestMs = Date.parse(expected.latest ?? '');
  return {
    atMs,
    earliestMs: Number.isNaN(earliestMs) ? atMs : earliestMs,
    latestMs: Number.isNaN(latestMs) ? undefined : latestMs,
    restsOn: expected.restsOn,
  };
}

function rested({ at, earliest, latest, restsOn }: PredictedEnd): RestedTime {
  return { atMs: at.getTime(), earliestMs: earliest.getTime(), latestMs: latest?.getTime(), restsOn };
}
