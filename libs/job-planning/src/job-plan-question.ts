import { effectiveSpec, type JobPlan, runtimeName, type TrainingJobSpec } from '@coxswain/api-types';
import { engineRefusal, layoutRefusal } from '@coxswain/engines';
import { acrossIslandsOf, type FabricCapacity, type Fabric, reserveInWords, type Reserve } from '@coxswain/fabric';
import { worldSize } from '@coxswain/layout';
import { PLANNER_VERSION, type PlanCluster } from '@coxswain/planner';
import { type MeasuredGpus, measuredOf } from './measured-gpus.ts';
import { planCluster } from './plan-cluster.ts';
import { plannerView } from './planner-view.ts';

/** A plan as the planner answered it; the caller adds the time of the record. */
export type JobPlanAnswer = Omit<JobPlan, 'plannedAt'>;

/** What the planner is to find out for a job: plain data, so that it can be asked in another process. */
export interface JobPlanQuestion {
  /** Equal where the question is: everything of spec and cluster that the answer depends on, and the planner's version. */
  readonly key: string;
  readonly spec: TrainingJobSpec;
  /** To see whether what is chosen can be placed on an empty cluster. */
  readonly fabric: Fabric;
  /** What even an empty cluster keeps free; absent: nothing. */
  readonly reserve?: Reserve;
  readonly cluster: PlanCluster;
  /** What nodes call the GPUs of each of its islands, where these are of several types. */
  readonly gpuTypes?: readonly string[];
  /** What every answer says of itself. */
  readonly about: Pick<JobPlan, 'gpus' | 'runtime' | 'fabric' | 'plannerVersion'>;
}

/** How a job comes by its plan; `about` is what every answer will say of itself. */
export type JobPlanning = { readonly about: JobPlanQuestion['about'] } & (
  | { readonly kind: 'question'; readonly question: JobPlanQuestion }
  /** Known without a search: the planner does not know the GPUs. */
  | { readonly kind: 'answer'; readonly answer: JobPlanAnswer }
);

/**
 * The question for the planner: a layout for the job, or a prediction for the layout that the user wrote. Takes as long as counting the nodes.
 * Undefined if the cluster has no GPU yet, the engine would reject the job, or the user's layout is illegal. Undefined too if too little is known about
 * the job or the GPUs. `measured`: measurements of this cluster's GPUs; a plan over several GPU types uses none of them.
 */
export function jobPlanning(
  spec: TrainingJobSpec,
  { fabric, reserve }: Pick<FabricCapacity, 'fabric' | 'reserve'>,
  measured: MeasuredGpus = {},
): JobPlanning | undefined {
  if (plannerView(spec) === undefined || engineRefusal(spec) !== undefined) return undefined;
  const own = effectiveSpec(spec, undefined);
  const gpus = own === undefined ? (spec.gpus ?? 0) : worldSize(own.layout);
  const known = planCluster(fabric, {
    gpus,
    gpusPerNode: spec.resources.gpusPerNode,
    acrossIslands: acrossIslandsOf(spec.resources),
    mayMixGpus: own === undefined,
  });
  if (known === undefined || (own !== undefined && layoutRefusal(own) !== undefined)) return undefined;
  const here = 'problem' in known || known.gpuTypes !== undefined ? undefined : measuredOf(known.cluster.gpu, measured);
  const kept = reserve === undefined ? '' : `, less ${reserveInWords(reserve)}`;
  const about = {
    gpus,
    ...(spec.runtimeRef === undefined ? {} : { runtime: runtimeName(spec.runtimeRef) }),
    fabric: `${known.description}${kept}${here === undefined ? '' : `; ${here.words}`}`.slice(0, MAX_FABRIC),
    plannerVersion: PLANNER_VERSION,
  };
  if ('problem' in known) {
    return own === undefined
      ? { about, kind: 'answer', answer: { chosenBy: 'Planner', ...about, refusal: known.problem } }
      : undefined;
  }
  return {
    about,
    kind: 'question',
    question: {
      key: keyOf(spec, about),
      spec,
      fabric,
      ...(reserve === undefined ? {} : { reserve }),
      cluster: { ...known.cluster, ...(here === undefined ? {} : { profile: here.profile }) },
      ...(known.gpuTypes === undefined ? {} : { gpuTypes: known.gpuTypes }),
      about,
    },
  };
}

/** Longest `fabric` of a plan in status. */
const MAX_FABRIC = 1024;

/** Whether a refusal of before still stands: planner and cluster are what they were. */
export function isRefusalOf(refused: JobPlan, { gpus, fabric, plannerVersion }: JobPlanQuestion['about']): boolean {
  return refused.gpus === gpus && refused.fabric === fabric && refused.plannerVersion === plannerVersion;
}

function keyOf(
  { engine, model, training, data, checkpoint, layout, resources, minGpus }: TrainingJobSpec,
  about: JobPlanQuestion['about'],
): string {
  const { env: _env, image: _image, secretEnv: _values, secretFiles: _files, ...engineOptions } = engine;
  // What an engine takes can depend on its arguments, and on what is read and saved.
  return JSON.stringify([
    engineOptions,
    model,
    training,
    data,
    checkpoint,
    layout,
    resources.gpusPerNode,
    resources.acrossIslands,
    minGpus,
    about,
  ]);
}
