/** Renders the stages of a pipeline and the order of its passes. */
import type { EffectiveSpec } from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import type { EngineRefusal } from '../../engine-refusal.ts';
import { modelOfJob } from '../../model-of-job.ts';
import { given, type Json } from '../check.ts';
import { batchOf } from '../micro-batches.ts';

/** Names of PyTorch (torch/distributed/pipelining/schedules.py, get_schedule_class). */
const SCHEDULES = {
  '1f1b': '1F1B',
  'interleaved-1f1b': 'Interleaved1F1B',
  gpipe: 'GPipe',
  'looped-bfs': 'LoopedBFS',
  zbv: 'ZBVZeroBubble',
  'dualpipe-v': 'DualPipeV',
} as const;
const WITH_SEVERAL_CHUNKS: readonly string[] = ['interleaved-1f1b', 'looped-bfs', 'zbv', 'dualpipe-v'];

type Schedule = keyof typeof SCHEDULES | 'schedule-file';

function scheduleOf({ pipeline }: ParallelLayout): Schedule {
  const plain = chunksOf(pipeline) > 1 ? 'interleaved-1f1b' : '1f1b';
  return (pipeline?.schedule ?? plain) as Schedule;
}

function chunksOf(pipeline: ParallelLayout['pipeline']): number {
  return pipeline?.chunksPerRank ?? 1;
}

/** Settings of `parallelism.`; none where there is no pipeline. `output` is what the release calls the output layer. */
export function pipelineSettings(spec: EffectiveSpec, output: string): Readonly<Record<string, Json>> {
  const { layout } = spec;
  if (layout.pipelineParallelDegree === 1) return {};
  const schedule = scheduleOf(layout);
  const fromFile = chunksOf(layout.pipeline) > 1 ? 'Interleaved1F1B' : '1F1B';
  return given<Json>({
    'parallelism.pipeline_parallel_schedule': schedule === 'schedule-file' ? fromFile : SCHEDULES[schedule],
    'parallelism.pipeline_parallel_schedule_csv': layout.pipeline?.scheduleFile,
    'parallelism.pipeline_parallel_microbatch_size': batchOf(spec)?.micro,
    'parallelism.module_fqns_per_model_part': partsOf(spec, output),
  });
}

/** The names of what each virtual stage holds, in the order in which a sample passes; undefined where the engine divides a model that it alone knows. */
function partsOf(spec: EffectiveSpec, output: string): readonly (readonly string[])[] | undefined {
  const counts = layersOfStages(spec);
  if (counts === undefined) return undefined;
  return counts.map((count, stage) => {
    const first = counts.slice(0, stage).reduce((sum, before) => sum + before, 0);
    const layers = Array.from({ length: count }, (_, index) => `layers.${first + index}`);
    return [
      ...(stage === 0 ? ['tok_embeddings'] : []),
      ...layers,
      ...(stage === counts.length - 1 ? ['norm', output] : []),
    ];
  });
}

function layersOfStages({ layout, model }: EffectiveSpec): readonly number[] | undefined {
  const { pipeline, pipelineParallelDegree } = layout;
  if (pipeline?.stages !== undefined) return pipeline.stages.map(({ layers }) => layers);
  const layers = model === undefined ? undefined : modelOfJob(model)?.model.layers;
  if (layers === undefined) return undefined;
  const stages = pipelineParallelDegree * chunksOf(pipeline);
  // As even as possible: where they do not divide, the first stages hold one more.
  return Array.from({ length: stages }, (_, stage) => Math.floor((layers + stages - 1 - stage) / stages));
}

/** Refuses pipelines that PyTorch or TorchTitan would refuse, or that cannot be rendered. */
export function pipelineRefusal(spec: EffectiveSpec): EngineRefusal | undefined {
  if (spec.layout.pipelineParallelDegree === 1) return refusedWithoutPipeline(spec.layout);
  return wrongChunks(spec.layout) ?? wrongStages(spec.layout) ?? wrongModel(spec) ?? wrongPasses(spec);
}

function refusedWithoutPipeline({ pipeline }: ParallelLayout): EngineRefusal | undefined {
  const field = (['chunksPerRank', 'stages', 'schedule', 'scheduleFile'] as const).find((name) => {
    const value = pipeline?.[name];
    return value !== undefined && value !== 1;
  });
  if (field === undefined) return undefined;
  return {
    rule: 'pipeline-needs-stages',
    field: `layout.pipeline.${field}`,
    why: `layout.pipeline.${field} describes a pipeline, and layout.pipelineParallelDegree is 1`,
    fallback: `leave layout.pipeline.${field} out`,
  };
}

function wrongChunks(layout: ParallelLayout): EngineRefusal | undefined {
  const schedule = scheduleOf(layout);
  const chunks = chunksOf(layout.pipeline);
  if (schedule === 'schedule-file') return undefined;
  const needed = schedule === 'zbv' || schedule === 'dualpipe-v' ? chunks === 2 : chunks > 1;
  const right = WITH_SEVERAL_CHUNKS.includes(schedule) ? needed : chunks === 1;
  if (right) return undefined;
  return {
    rule: 'schedule-chunks',
    field: 'layout.pipeline.chunksPerRank',
    why: `PyTorch's ${SCHEDULES[schedule]} does not run with layout.pipeline.chunksPerRank ${chunks}`,
    fallback: WITH_SEVERAL_CHUNKS.includes(schedule)
      ? 'set it to 2'
      : 'set it to 1, or the schedule to interleaved-1f1b',
  };
}

/** TorchTitan counts on the embedding in the first stage and the output in the last. */
function wrongStages({ pipeline }: ParallelLayout): EngineRefusal | undefined {
  const stages = pipeline?.stages ?? [];
  const last = stages.length - 1;
  const strange = stages.findIndex(
    (stage, index) =>
      (stage.mtpLayers ?? 0) > 0 || (stage.embedding === true && index > 0) || (stage.loss === true && index < last),
  );
  if (strange === -1) return undefined;
  return {
    rule: 'torchtitan-stages',
    field: `layout.pipeline.stages.${strange}`,
    why: 'torchtitan has the embedding in the first stage, the output in the last and multi-token prediction in none',
    fallback: 'give embedding to the first stage and loss to the last, and no mtpLayers',
  };
}

function wrongModel({ layout, model }: EffectiveSpec): EngineRefusal | undefined {
  const shape = model === undefined ? undefined : modelOfJob(model)?.model;
  if (shape?.tiedEmbeddings === true) {
    return {
      rule: 'torchtitan-ties-no-stages',
      field: 'layout.pipelineParallelDegree',
      why: 'torchtitan ties embedding and output in one stage only, and the model has model.tiedEmbeddings',
      fallback: 'set it to 1, or train a model whose embeddings are not tied',
    };
  }
  if (shape !== undefined || layout.pipeline?.stages !== undefined || chunksOf(layout.pipeline) <= 2) return undefined;
  return {
    rule: 'torchtitan-stages',
    field: 'layout.pipeline.chunksPerRank',
    why: 'torchtitan makes two chunks per rank if the job does not give their content',
    fallback: 'give model, or layout.pipeline.stages',
  };
}

function wrongPasses(spec: EffectiveSpec): EngineRefusal | undefined {
  const passes = batchOf(spec)?.passes;
  const { pipelineParallelDegree: ranks } = spec.layout;
  const schedule = scheduleOf(spec.layout);
  if (passes === undefined || schedule === 'schedule-file' || mayRun(schedule, passes, ranks)) return undefined;
  return {
    rule: 'schedule-passes',
    field: 'training.globalBatchSize',
    why: `PyTorch's ${SCHEDULES[schedule]} does not run with ${passes} micro-batches on ${ranks} ranks`,
    fallback: `use one that makes ${Math.ceil(passes / ranks) * ranks * (schedule === 'dualpipe-v' ? 2 : 1)} micro-batches of layout.dataParallelDegree`,
  };
}

/** torch/distributed/pipelining/schedules.py: Schedule1F1B, ScheduleInterleaved1F1B, ScheduleDualPipeV. */
function mayRun(schedule: keyof typeof SCHEDULES, passes: number, ranks: number): boolean {
  if (schedule === '1f1b') return passes >= ranks;
  if (schedule === 'interleaved-1f1b') return passes % Math.max(1, Math.floor(passes / ranks)) === 0;
  if (schedule === 'dualpipe-v') return passes >= 2 * ranks;
  return true;
}
