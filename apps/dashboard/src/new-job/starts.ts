/** With what a new job begins. */
import { API_GROUP_VERSION, type TrainingJobSpecInput } from '@coxswain/api-types';
import { draftText } from './job-draft.ts';

/** A job to begin with, by a name that is shown. */
export interface Start {
  readonly title: string;
  readonly request: { readonly name: string; readonly spec: TrainingJobSpecInput };
}

export const STARTS: readonly [Start, ...Start[]] = [
  {
    title: 'A tiny GPT',
    request: {
      name: 'tiny-gpt',
      spec: {
        engine: { name: 'reference', image: 'coxswain/engine-reference:dev' },
        model: { layers: 4, hiddenSize: 128, attentionHeads: 4, sequenceLength: 128 },
        training: { steps: 1000, globalBatchSize: 8 },
        data: { claimName: 'corpus', path: 'logbook.txt' },
        gpus: 4,
        checkpoint: { claimName: 'checkpoints', everySteps: 200 },
      },
    },
  },
  {
    title: 'Your own program',
    request: {
      name: 'my-program',
      spec: {
        engine: { name: 'command', image: 'ghcr.io/me/train:1', command: ['python3', 'train.py'] },
        layout: { dataParallelDegree: 8 },
        checkpoint: { claimName: 'checkpoints' },
      },
    },
  },
  {
    title: 'A published model with TorchTitan',
    request: {
      name: 'llama-8b',
      spec: {
        engine: { name: 'torchtitan', image: 'ghcr.io/me/torchtitan:1' },
        model: { preset: 'llama-3.1-8b', sequenceLength: 8192 },
        training: { steps: 10_000, globalBatchSize: 128 },
        data: { claimName: 'corpus', path: 'c4', format: 'hf' },
        gpus: 16,
        checkpoint: { claimName: 'checkpoints', everySteps: 500 },
      },
    },
  },
];

/** The YAML of that job. */
export function startText({ request }: Start): string {
  return draftText(API_GROUP_VERSION, request);
}
