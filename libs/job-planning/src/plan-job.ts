import {
  DEFAULT_MICRO_BATCH_SIZE,
  effectiveSpec,
  type EffectiveSpec,
  isSameLayout,
  type TrainingJobSpec,
} from '@coxswain/api-types';
import { isDomainError } from '@coxswain/domain-error';
import { degreesOf, engineRefusal, layoutRefusal, layoutWithOptions } from '@coxswain/engines';
import { acrossIslandsOf, placeGang } from '@coxswain/fabric';
import { formatLayout, type ParallelLayout, worldSize } from '@coxswain/layout';
import {
  parsePlanRequest,
  plan,
  type Plan,
  type PlanAnswer,
  type PlanRequest,
  predict,
  type Prediction,
  ZERO_STAGES,
} from '@coxswain/planner';
import { engineOffers, takesDegreesOnly, type ToEngineLayout, toEngineLayoutOf } from './engine-offers.ts';
import { type JobPlanAnswer, jobPlanning, type JobPlanQuestion } from './job-plan-question.ts';
import { type Figures, figuresOf, toRunnerUp } from './plan-figures.ts';
import { plannerView } from './planner-view.ts';
import { smallerSizes } from './smaller-sizes.ts';
import { noLayout, plannerRefuses, whyNothingFits } from './refusals.ts';

/** How much may be searched. */
export interface PlanJobOptions {
  /**
   * Micro-batches of one sample alone, where the user gave none: a search of a fraction of the time, for when the whole one was over its budget.
   * A number of GPUs with very many divisors is met in attacks.
   */
  readonly isBounded: boolean;
}

type Chosen = Figures & Pick<JobPlanAnswer, 'layout' | 'microBatchSize' | 'runnersUp' | 'stageGpus' | 'whyStages'>;

/** How many layouts the planner is asked for: those that the engine or the fabric cannot do fall out. */
const CONSIDERED = 50;
const MAX_RUNNERS_UP = 3;
const MAX_SMALLER_SIZES = 5;

/**
 * The layout that the planner chooses for the job, or what it expects of the one that the user wrote; undefined where it has no words for that
 * one. Pure; takes from milliseconds to many seconds.
 */
export function planJob(question: JobPlanQuestion, options: PlanJobOptions): JobPlanAnswer | undefined {
  const { spec, about } = question;
  const view = plannerView(spec);
  if (view === undefined) return undefined;
  const input = { ...view, cluster: question.cluster, objective: 'time', top: CONSIDERED } as const;
  const request = unlessRefused(() => parsePlanRequest(input));
  const own = effectiveSpec(spec, undefined);
  if (own !== undefined) {
    const expected = typeof request === 'string' ? undefined : predicted(own, request);
    return expected === undefined ? undefined : { chosenBy: 'User', ...about, ...expected };
  }
  const chosen =
    typeof request === 'string'
      ? plannerRefuses(request)
      : choose(question, options.isBounded ? boundedRequest(request) : request);
  if (typeof chosen === 'string') return { chosenBy: 'Planner', ...about, refusal: chosen };
  // A search that was over its budget is not made longer.
  const sizes = options.isBounded ? [] : sizesOf(question, chosen);
  return { chosenBy: 'Planner', ...about, ...chosen, ...(sizes.length === 0 ? {} : { sizes: [...sizes] }) };
}

type Size = NonNullable<JobPlanAnswer['sizes']>[number];

/** The sizes of an elastic job for which there is a layout, the planned one first. */
function sizesOf(question: JobPlanQuestion, chosen: Chosen): readonly Size[] {
  const { spec } = question;
  if (spec.minGpus === undefined || spec.gpus === undefined || chosen.layout === undefined) return [];
  const { dataParallelDegree } = chosen.layout;
  const globalBatchSize = spec.training?.globalBatchSize ?? 0;
  const smaller = smallerSizes({ gpus: spec.gpus, minGpus: spec.minGpus, dataParallelDegree, globalBatchSize });
  const of = (gpus: number, one: Chosen): readonly Size[] => {
    const { layout, predictedStepMs } = one;
    if (layout === undefined || predictedStepMs === undefined) return [];
    return [{ gpus, layout: formatLayout(layout), predictedStepMs }];
  };
  const found = smaller.slice(0, MAX_SMALLER_SIZES).flatMap((gpus) => {
    const one = chosenFor(question, gpus);
    return one === undefined ? [] : of(gpus, one);
  });
  return [...of(spec.gpus, chosen), ...found];
}

/** The fastest layout on fewer GPUs; undefined: there is none. */
function chosenFor(question: JobPlanQuestion, gpus: number): Chosen | undefined {
  const spec = { ...question.spec, gpus };
  const { profile } = question.cluster;
  const planning = jobPlanning(spec, question);
  const view = plannerView(spec);
  if (planning?.kind !== 'question' || view === undefined) return undefined;
  const cluster = { ...planning.question.cluster, ...(profile === undefined ? {} : { profile }) };
  const request = unlessRefused(() =>
    parsePlanRequest({ ...view, cluster, objective: 'time', top: CONSIDERED } as const),
  );
  if (typeof request === 'string') return undefined;
  const chosen = choose({ ...planning.question, cluster }, request);
  return typeof chosen === 'string' ? undefined : chosen;
}

function boundedRequest(request: PlanRequest): PlanRequest {
  return { ...request, pinned: { microBatchSize: DEFAULT_MICRO_BATCH_SIZE, ...request.pinned } };
}

/** The fastest layout on exactly that many GPUs that engine and fabric can do; a sentence where there is none. */
function choose(question: JobPlanQuestion, request: PlanRequest): Chosen | string {
  const { spec } = question;
  const { allow, pinned } = engineOffers(spec);
  const narrowed = { ...request, allow: { ...request.allow, ...allow }, pinned: { ...pinned, ...request.pinned } };
  const toEngine = toEngineLayoutOf(spec);
  const searched = unlessRefused(() => searchRunnable(spec, narrowed, toEngine));
  if (typeof searched === 'string') return plannerRefuses(searched);
  const { answer, candidates } = searched;
  const tried = candidates.map((one) => ({ one, obstacle: placementObstacle(question, one) }));
  const [best, ...others] = tried.flatMap(({ one, obstacle }) => (obstacle === undefined ? [one] : []));
  if (best === undefined) {
    const [nearest] = tried;
    if (nearest?.obstacle === undefined) {
      const { best: fitting } = answer;
      const beyond = fitting && whyRefused(spec, { ...fitting, layout: toEngine(fitting.layout) });
      return whyNothingFits({ spec, cluster: request.cluster, answer, ...(beyond === undefined ? {} : { beyond }) });
    }
    // What a user should change of a layout that the user did not choose is no advice.
    const [obstacle = ''] = nearest.obstacle.split('. ', 1);
    const layout = formatLayout(nearest.one.layout);
    return noLayout(request.cluster, `${layout} fits the GPUs, but not the fabric: ${obstacle}`);
  }
  return {
    layout: best.layout,
    microBatchSize: best.microBatchSize,
    ...figuresOf(best.prediction, request.cluster),
    ...stagesIn(question, best),
    ...(others.length === 0 ? {} : { runnersUp: others.slice(0, MAX_RUNNERS_UP).map(toRunnerUp) }),
  };
}

/**
 * The planner's answer, reduced to what the engine can run. An engine may support a way to shard states, but not together with experts or a
 * pipeline; single options do not show that. If none of the fastest layouts can run, the best one without that ZeRO stage is searched.
 */
function searchRunnable(
  spec: TrainingJobSpec,
  request: PlanRequest,
  toEngine: ToEngineLayout,
): { readonly answer: PlanAnswer; readonly candidates: readonly Plan[] } {
  const answer = plan(request, ASKED_ALONE);
  const candidates = answer.plans.flatMap((one) => runnable(spec, one, toEngine));
  const [fastest] = answer.plans;
  if (candidates.length > 0 || fastest === undefined || request.pinned?.zeroStage !== undefined)
    return { answer, candidates };
  const { zeroStage: refused = 0 } = fastest.layout.states ?? {};
  const zeroStages = (request.allow?.zeroStages ?? ZERO_STAGES).filter((stage) => stage !== refused);
  if (zeroStages.length === 0) return { answer, candidates };
  const others = searchRunnable(spec, { ...request, allow: { ...request.allow, zeroStages } }, toEngine);
  return others.candidates.length > 0 ? others : { answer, candidates };
}

/** What is expected of the user's layout; undefined where the models do not cover it. */
function predicted(spec: EffectiveSpec, request: PlanRequest): Chosen | undefined {
  const microBatchSize = spec.training?.microBatchSize ?? DEFAULT_MICRO_BATCH_SIZE;
  const { layout } = spec;
  const priced = layoutWithOptions(spec);
  const prediction = unlessRefused(() =>
    takesDegreesOnly(spec)
      ? predictionOf(layout, microBatchSize, request)
      : predict(request, { layout: priced, microBatchSize }),
  );
  if (prediction === undefined || typeof prediction === 'string') return undefined;
  return { layout, microBatchSize, ...figuresOf(prediction, request.cluster) };
}

/** A job has said its GPUs and its batch: advice on others would take time and reach nobody. */
const ASKED_ALONE = { withAdvice: false };

/** Degrees alone leave the rest to the engine, whose ways the request pins; whatever else a layout says is taken as it stands. */
function predictionOf(layout: ParallelLayout, microBatchSize: number, request: PlanRequest): Prediction | undefined {
  if (!isSameLayout(layout, degreesOf(layout))) return predict(request, { layout, microBatchSize });
  const degrees = {
    tensor: layout.tensorParallelDegree,
    pipeline: layout.pipelineParallelDegree,
    data: layout.dataParallelDegree,
  };
  const pinned = { ...request.pinned, ...degrees, microBatchSize };
  const { best, closest } = plan({ ...request, top: 1, pinned }, ASKED_ALONE);
  return (best ?? closest?.plan)?.prediction;
}

/** A job must not wait because the planner does not support it: the rejection is reported. */
function unlessRefused<T>(ask: () => T): T | string {
  try {
    return ask();
  } catch (error) {
    if (isDomainError(error)) return error.message;
    throw error;
  }
}

/**
 * The plan with its layout in the form that the engine receives. Undefined if layout rules or the engine reject it, or if the engine would run
 * something else than the prediction assumed.
 */
function runnable(spec: TrainingJobSpec, one: Plan, toEngine: ToEngineLayout): readonly Plan[] {
  // States are shared by all data-parallel ranks where nobody can say it otherwise.
  if (takesDegreesOnly(spec) && one.layout.dataParallelShardDegree !== undefined) return [];
  const layout = toEngine(one.layout);
  const isTaken = worldSize(layout) === worldSize(one.layout) && whyRefused(spec, { ...one, layout }) === undefined;
  return isTaken ? [{ ...one, layout }] : [];
}

/** In the words of layout rules or engine; undefined where both take a job on such a layout. */
function whyRefused(
  spec: TrainingJobSpec,
  { layout, microBatchSize }: Pick<Plan, 'layout' | 'microBatchSize'>,
): string | undefined {
  const { gpus: _asked, ...rest } = spec;
  const training = spec.training === undefined ? undefined : { ...spec.training, microBatchSize };
  const planned: EffectiveSpec = { ...rest, training, layout };
  return layoutRefusal(planned) ?? engineRefusal(planned)?.why;
}

/** Why not even an empty cluster of this fabric can hold the gang; undefined when it can, or is only too small as yet. */
function placementObstacle(question: JobPlanQuestion, plan: Plan): string | undefined {
  const { spec, fabric, reserve } = question;
  const { layout } = plan;
  const { stageGpus } = stagesIn(question, plan);
  const { gpusPerNode } = spec.resources;
  const acrossIslands = acrossIslandsOf(spec.resources);
  const request = {
    layout,
    acrossIslands,
    ...(stageGpus === undefined ? {} : { stageGpus }),
    ...(gpusPerNode === undefined ? {} : { gpusPerNode }),
  };
  const outcome = placeGang(request, { fabric, usedGpus: new Map(), ...(reserve === undefined ? {} : { reserve }) });
  return outcome.kind === 'unsatisfiable' ? outcome.message : undefined;
}

/** Longest in status. */
const MAX_WHY_STAGES = 1024;

/** What is recorded of the stages of a plan over several islands: for which type of GPU each is meant, neighbours of one type together, and why. */
function stagesIn({ gpuTypes = [] }: JobPlanQuestion, plan: Plan): Pick<JobPlanAnswer, 'stageGpus' | 'whyStages'> {
  const stageGpus: { stages: number; gpuType: string }[] = [];
  for (const [island, gpuType] of gpuTypes.entries()) {
    const stages = plan.stagesOfIslands?.[island] ?? 0;
    const last = stageGpus.at(-1);
    if (stages === 0) continue;
    if (last?.gpuType === gpuType) last.stages += stages;
    else stageGpus.push({ stages, gpuType });
  }
  return {
    ...(stageGpus.length === 0 ? {} : { stageGpus }),
    ...(plan.whyStages === undefined ? {} : { whyStages: plan.whyStages.slice(0, MAX_WHY_STAGES) }),
  };
}
