/** Renders the job file, from which scripts of users read the job, with paths as they are inside the container. */
import { DEFAULT_MICRO_BATCH_SIZE, type EffectiveSpec, POD_PATHS, stepsOf } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { modelOfJob } from '../model-of-job.ts';
import { inside } from '../paths.ts';
import { type EngineFile, literally } from '../rendering.ts';
import { given, type Json } from './check.ts';

/** Below the directory that COXSWAIN_ENGINE_FILES names. */
export const JOB_FILE = 'job.json';

/** Fields of a job, nested as in its spec. */
export type JobFields = Readonly<Record<string, Json>>;

/** Every field of the job that describes its training, with the value that applies if the field is absent. */
export function jobFields(spec: EffectiveSpec): JobFields {
  const { layout, model, training, checkpoint } = spec;
  const known = model === undefined ? undefined : modelOfJob(model)?.model;
  const { contextParallelDegree = 1, weightShardDegree = 1, expert } = layout;
  return given<Json>({
    layout: asJson({
      ...layout,
      contextParallelDegree,
      weightShardDegree,
      expert: { expertParallelDegree: 1, ...expert },
      worldSize: worldSize(layout),
    }),
    model: model && asJson({ ...known, ...model }),
    training:
      training &&
      asJson({
        ...training,
        steps: stepsOf(spec),
        microBatchSize: training.microBatchSize ?? DEFAULT_MICRO_BATCH_SIZE,
        accumulationSteps: accumulationOf(spec),
      }),
    data: dataOf(spec),
    initialWeights: weightsOf(spec),
    checkpoint: checkpoint && { everySteps: checkpoint.everySteps },
  });
}

/** The file that the ranks read. */
export function jobFile(spec: EffectiveSpec): EngineFile {
  return { path: JOB_FILE, text: literally(`${JSON.stringify(jobFields(spec), undefined, 2)}\n`) };
}

/** Forward passes of each data-parallel rank in one step; undefined for a job without `training`. */
export function accumulationOf({ training, layout }: EffectiveSpec): number | undefined {
  if (training === undefined) return undefined;
  const micro = training.microBatchSize ?? DEFAULT_MICRO_BATCH_SIZE;
  return training.globalBatchSize / (layout.dataParallelDegree * micro);
}

function dataOf({ data }: EffectiveSpec): Json | undefined {
  if (data === undefined) return undefined;
  const { format, path, paths, split, tokenizer } = data;
  const at = (below: string): string => inside(POD_PATHS.data, below);
  return asJson({
    format,
    path: path === undefined ? undefined : at(path),
    paths: paths?.map((one) => ({ path: at(one.path), weight: one.weight })),
    split,
    tokenizer: tokenizer && { path: at(tokenizer.path) },
  });
}

function weightsOf({ initialWeights }: EffectiveSpec): Json | undefined {
  if (initialWeights === undefined) return undefined;
  return { path: inside(POD_PATHS.initialWeights, initialWeights.path), format: initialWeights.format };
}

/** Without what is undefined. */
function asJson(value: object): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}
