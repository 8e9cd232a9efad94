/** A job for Megatron-LM that is changed piece by piece until it is asked about. */
import type { EffectiveSpec, TrainingJobSpecInput } from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import type { ParallelLayout } from '@coxswain/layout';

type Writable<T> = { -readonly [key in keyof T]: T[key] };

/** As a job is written, with parts that can be reached without asking whether they are there. */
export interface JobDraft {
  layout: Writable<ParallelLayout>;
  model: Record<string, unknown> & { layers: number; sequenceLength: number };
  training: Record<string, unknown> & { globalBatchSize: number };
  data: Record<string, unknown>;
  rest: Partial<TrainingJobSpecInput>;
  engine: { release?: string; args?: string[]; command?: string[] };
}

export function aDraft(): JobDraft {
  return {
    layout: { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 1 },
    model: {
      layers: 8,
      hiddenSize: 1024,
      ffnHiddenSize: 4096,
      attentionHeads: 16,
      keyValueHeads: 16,
      headDim: 64,
      vocabularySize: 32_768,
      gatedMlp: true,
      sequenceLength: 2048,
    },
    training: { steps: 100, globalBatchSize: 64, microBatchSize: 1 },
    data: { format: 'mock' },
    rest: {},
    engine: {},
  };
}

export function specOf({ layout, model, training, data, rest, engine }: JobDraft): EffectiveSpec {
  return aJobSpec({
    ...rest,
    engine: { name: 'megatron-lm', image: 'x', ...engine },
    layout,
    model: model as TrainingJobSpecInput['model'],
    training: training as TrainingJobSpecInput['training'],
    data: data as TrainingJobSpecInput['data'],
  });
}
