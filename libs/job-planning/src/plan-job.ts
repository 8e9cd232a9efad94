import {
  DEFAULT_MICRO_BATCH_SIZE,
  effectiveSpec,
  type EffectiveSpec,
  isSameLayout,
  type JobPlan,
  type TrainingJobSpec,
} from '@coxswain/api-types';
import { isDomainError } from '@coxswain/domain-error';
import { degreesOf, engineRefusal, layoutRefusal } from '@coxswain/engines';
import { type Fabric, placeGang } from '@coxswain/fabric';
import { formatLayout, type ParallelLayout, worldSize } from '@coxswain/layout';
import {
  parsePlanRequest,
  plan,
  type Plan,
  type PlanAnswer,
  PLANNER_VERSION,
  type PlanCluster,
  type PlanRequest,
  predict,
  type Prediction,
} from '@coxswain/planner';
import { GIB_BYTES, SECOND_MS } from '@coxswain/units';
import { planCluster } from './plan-cluster.ts';
import { type PlannerView, plannerView } from './planner-view.ts';

/** What a job is planned on. */
export interface PlanningFacts {
  readonly fabric: Fabric;
  /** The same job's refusal, if it was refused before: given again where the fabric is as it was. */
  readonly refused: JobPlan | undefined;
  readonly now: Date;
}

/** How many layouts the planner is asked for: those that the engine or the fabric cannot do fall out. */
const CONSIDERED = 50;
const MAX_RUNNERS_UP = 3;

/**
 * The layout that the planner chooses for the job, or what it expects of the one that the user wrote. Pure. Undefined where nothing can be
 * said: the cluster has no GPU as yet, the engine would refuse the job anyway, or too little of job or GPUs is known to predict a user's layout.
 */
export function planJob(spec: TrainingJobSpec, facts: PlanningFacts): JobPlan | undefined {
  const view = plannerView(spec);
  if (view === undefined || engineRefusal(spec) !== undefined) return undefined;
  const gpus = spec.layout === undefined ? (spec.gpus ?? 0) : worldSize(spec.layout);
  const known = planCluster(facts.fabric, { gpus, gpusPerNode: spec.resources.gpusPerNode });
  if (known === undefined) return undefined;
  const isAsBefore = facts.refused?.fabric === known.description && facts.refused.plannerVersion === PLANNER_VERSION;
  if (isAsBefore) return facts.refused;
  const about = {
    gpus,
    fabric: known.description,
    plannerVersion: PLANNER_VERSION,
    plannedAt: facts.now.toISOString(),
  };
  if (spec.layout === undefined) {
    const chosen = 'problem' in known ? known.problem : choose(spec, { view, cluster: known.cluster, facts });
    return { chosenBy: 'Planner', ...about, ...(typeof chosen === 'string' ? { refusal: chosen } : chosen) };
  }
  const effective = effectiveSpec(spec, undefined);
  if ('problem' in known || effective === undefined || layoutRefusal(effective) !== undefined) return undefined;
  const expected = predicted(effective, { view, cluster: known.cluster });
  return expected === undefined ? undefined : { chosenBy: 'User', ...about, ...expected };
}

type Chosen = Pick<
  JobPlan,
  | 'layout'
  | 'microBatchSize'
  | 'predictedStepMs'
  | 'predictedPeakBytes'
  | 'gpuType'
  | 'verdict'
  | 'runnersUp'
  | 'errorStatement'
>;

/** The fastest layout on exactly that many GPUs that engine and fabric can do; a sentence where there is none. */
function choose(spec: TrainingJobSpec, on: PlannedOn & { readonly facts: PlanningFacts }): Chosen | string {
  const asked = unlessRefused(() => {
    const request = modestRequest(requestOf(on));
    return { request, answer: plan(request) };
  });
  if (typeof asked === 'string') return `The planner refuses the job: ${asked}`.slice(0, MAX_REFUSAL);
  const { request, answer } = asked;
  const liked = answer.plans.filter((one) => isRunnable(spec, one));
  // Everything that the planner likes best may be beyond the engine, such as stages of unequal size.
  const able = liked.length > 0 || answer.best === undefined ? liked : plansOfEvenGrids(request);
  const placed = able
    .filter((one) => isRunnable(spec, one))
    .map((one) => ({ one, obstacle: placementObstacle(spec, one, on.facts.fabric) }));
  const [best, ...others] = placed.flatMap(({ one, obstacle }) => (obstacle === undefined ? [one] : []));
  if (best === undefined) {
    const [nearest] = placed;
    if (nearest?.obstacle === undefined) return whyNothingFits(spec, request.cluster, answer);
    // What a user should change of a layout that the user did not choose is no advice.
    const [obstacle = ''] = nearest.obstacle.split('. ', 1);
    return noLayout(
      request.cluster,
      `${formatLayout(degreesOf(nearest.one.layout))} fits the GPUs, but not the fabric: ${obstacle}`,
    );
  }
  return {
    layout: degreesOf(best.layout),
    microBatchSize: best.microBatchSize,
    ...figuresOf(best.prediction, request.cluster),
    ...(others.length === 0 ? {} : { runnersUp: others.slice(0, MAX_RUNNERS_UP).map(toRunnerUp) }),
  };
}

/**
 * Combinations of degrees and micro-batch above which a search could keep the operator from its other jobs for seconds. Machines come in powers
 * of two, sometimes times three, and have up to 2,000; a number with very many divisors is met in attacks.
 */
const MAX_COMBINATIONS = 2_500;

/** The request, with micro-batches of one sample where there are too many combinations. */
function modestRequest(request: PlanRequest): PlanRequest {
  if (combinationsOf(request) <= MAX_COMBINATIONS) return request;
  return { ...request, pinned: { ...request.pinned, microBatchSize: DEFAULT_MICRO_BATCH_SIZE } };
}

function combinationsOf(request: PlanRequest): number {
  if (request.pinned?.microBatchSize !== undefined) return evenGridsOf(request).length;
  return evenGridsOf(request).reduce((sum, { data }) => sum + divisorsOf(request.globalBatchSize / data).length, 0);
}

/** The best of each even division, fastest first. */
function plansOfEvenGrids(request: PlanRequest): readonly Plan[] {
  return evenGridsOf(request)
    .flatMap((grid) => plan({ ...request, top: 1, pinned: { ...request.pinned, ...grid } }).best ?? [])
    .sort((one, other) => one.prediction.stepTimeS - other.prediction.stepTimeS);
}

/** Degrees on all GPUs that divide heads, layers and batch evenly. */
function evenGridsOf({ cluster, modelShape, globalBatchSize }: PlanRequest): readonly EvenGrid[] {
  const { layers = 1, attentionHeads = 1 } = modelShape ?? {};
  return divisorsOf(cluster.gpus)
    .filter((tensor) => attentionHeads % tensor === 0)
    .flatMap((tensor) =>
      divisorsOf(cluster.gpus / tensor)
        .filter((pipeline) => layers % pipeline === 0)
        .map((pipeline) => ({ tensor, pipeline, data: cluster.gpus / tensor / pipeline })),
    )
    .filter(({ data }) => globalBatchSize % data === 0);
}

interface EvenGrid {
  readonly tensor: number;
  readonly pipeline: number;
  readonly data: number;
}

function divisorsOf(whole: number): readonly number[] {
  const small = Array.from({ length: Math.floor(Math.sqrt(whole)) }, (_, index) => index + 1).filter(
    (candidate) => whole % candidate === 0,
  );
  return [...new Set([...small, ...small.map((divisor) => whole / divisor)])];
}

/** What is expected of the user's layout; undefined where the models do not cover it. */
function predicted(spec: EffectiveSpec, on: PlannedOn): Chosen | undefined {
  const microBatchSize = spec.training?.microBatchSize ?? DEFAULT_MICRO_BATCH_SIZE;
  const { layout } = spec;
  const prediction = unlessRefused(() => predictionOf(layout, microBatchSize, requestOf(on)));
  if (prediction === undefined || typeof prediction === 'string') return undefined;
  return { layout, microBatchSize, ...figuresOf(prediction, on.cluster) };
}

/** Degrees alone leave the rest to the engine, whose ways the request pins; whatever else a layout says is taken as it stands. */
function predictionOf(layout: ParallelLayout, microBatchSize: number, request: PlanRequest): Prediction | undefined {
  if (!isSameLayout(layout, degreesOf(layout))) return predict(request, { layout, microBatchSize });
  const degrees = {
    tensor: layout.tensorParallelDegree,
    pipeline: layout.pipelineParallelDegree,
    data: layout.dataParallelDegree,
  };
  const { best, closest } = plan({ ...request, top: 1, pinned: { ...request.pinned, ...degrees, microBatchSize } });
  return (best ?? closest?.plan)?.prediction;
}

/** A job must not stand still because the planner has no words for it: what it refuses is told. */
function unlessRefused<T>(ask: () => T): T | string {
  try {
    return ask();
  } catch (error) {
    if (isDomainError(error)) return error.message;
    throw error;
  }
}

interface PlannedOn {
  readonly view: PlannerView;
  readonly cluster: PlanCluster;
}

/** @throws DomainError INVALID_REQUEST */
function requestOf({ view, cluster }: PlannedOn): PlanRequest {
  return parsePlanRequest({ ...view, cluster, objective: 'time', top: CONSIDERED });
}

/** Whether layout rules and engine take the layout as it would be told to the engine, and the engine then does what was predicted. */
function isRunnable(spec: TrainingJobSpec, { layout, microBatchSize }: Plan): boolean {
  // States are shared by all data-parallel ranks; that is no choice that could be told.
  if (layout.dataParallelShardDegree !== undefined) return false;
  const { gpus: _asked, ...rest } = spec;
  const training = spec.training === undefined ? undefined : { ...spec.training, microBatchSize };
  const planned: EffectiveSpec = { ...rest, training, layout: degreesOf(layout) };
  return (
    worldSize(planned.layout) === worldSize(layout) &&
    layoutRefusal(planned) === undefined &&
    engineRefusal(planned) === undefined
  );
}

/** Why not even an empty cluster of this fabric can hold the gang; undefined when it can, or is only too small as yet. */
function placementObstacle(spec: TrainingJobSpec, { layout }: Plan, fabric: Fabric): string | undefined {
  const { gpusPerNode } = spec.resources;
  const request = { layout: degreesOf(layout), ...(gpusPerNode === undefined ? {} : { gpusPerNode }) };
  const outcome = placeGang(request, { fabric, usedGpus: new Map() });
  return outcome.kind === 'unsatisfiable' ? outcome.message : undefined;
}

function whyNothingFits(spec: TrainingJobSpec, cluster: PlanCluster, answer: PlanAnswer): string {
  const { best, closest } = answer;
  const [rule] = answer.ruledOut;
  const reason =
    best !== undefined
      ? `what fits, such as ${formatLayout(best.layout)}, is beyond engine "${spec.engine.name}"`
      : closest !== undefined
        ? `the closest, ${formatLayout(closest.plan.layout)}, needs ${closest.exceedsGib.toFixed(1)} GiB more per GPU than there is`
        : (rule?.example ?? 'no combination of degrees divides the model and the batch');
  const relax = closest?.relax[0];
  return noLayout(cluster, relax === undefined ? reason : `${reason}; ${relax}`);
}

function noLayout({ gpus, gpu }: PlanCluster, reason: string): string {
  return `No layout on ${gpus} ${gpu} GPUs can train this: ${reason}.`.slice(0, MAX_REFUSAL);
}

/** Of the fields in status. */
const MAX_REFUSAL = 2048;
const MAX_ERROR_STATEMENT = 1024;

function toRunnerUp({ layout, microBatchSize, prediction }: Plan): NonNullable<JobPlan['runnersUp']>[number] {
  return {
    layout: formatLayout(degreesOf(layout)),
    microBatchSize,
    predictedStepMs: toMs(prediction.stepTimeS),
    predictedPeakBytes: toBytes(prediction.peakGib),
  };
}

function figuresOf(prediction: Prediction, cluster: PlanCluster): Chosen {
  return {
    predictedStepMs: toMs(prediction.stepTimeS),
    predictedPeakBytes: toBytes(prediction.peakGib),
    gpuType: cluster.gpu,
    verdict: prediction.verdict,
    errorStatement: errorStatementOf(prediction).slice(0, MAX_ERROR_STATEMENT),
  };
}

function errorStatementOf({ error }: Prediction): string {
  const { basis, medianAbsPct, p90AbsPct, n } = error;
  if (n === 0) return 'No published measurement says how far such predictions are off.';
  const off = `${medianAbsPct.toFixed(1)} % (median) and ${p90AbsPct.toFixed(1)} % (9 of 10)`;
  return `Such predictions were off by ${off} on ${n} measurements: ${basis}.`;
}

/** Four significant digits: more would claim an exactness that no prediction has. */
function toMs(timeS: number): number {
  return Number((timeS * SECOND_MS).toPrecision(4));
}

function toBytes(gib: number): number {
  return Math.round(gib * GIB_BYTES);
}
