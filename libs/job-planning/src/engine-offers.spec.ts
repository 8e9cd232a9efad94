import type { TrainingJobSpec } from '@coxswain/api-types';
import { aPlannedJobSpec } from '@coxswain/api-types/testing';
import type { PinnedAxes } from '@coxswain/planner';
import { engineOffers } from './engine-offers.ts';

type Engine = 'megatron-lm' | 'megatron-bridge' | 'torchtitan' | 'deepspeed' | 'hugging-face';

function specFor(name: Engine, preset: string): TrainingJobSpec {
  const runsProgram = name === 'deepspeed' || name === 'hugging-face';
  return aPlannedJobSpec({
    gpus: 64,
    engine: { name, image: 'i', ...(runsProgram ? { command: ['train'] } : {}) },
    model: { preset, sequenceLength: 4096 },
    training: { steps: 10, globalBatchSize: 64 },
    data: { format: 'mock' },
  });
}

describe('what an engine leaves the planner to choose', () => {
  it.each<[string, Engine, string, PinnedAxes]>([
    ['everything, with experts', 'megatron-lm', 'qwen3-30b-a3b', {}],
    [
      'everything, with 61 layers that two stages do not divide, and one that predicts further',
      'megatron-lm',
      'deepseek-v3',
      {},
    ],
    ['everything, also by recipes', 'megatron-bridge', 'deepseek-v3', {}],
    ['everything of a dense model', 'megatron-lm', 'llama-3.1-8b', {}],
    ['no division of an expert', 'torchtitan', 'qwen3-30b-a3b', { expertTensor: 1 }],
    ['everything but selective recomputation', 'deepspeed', 'qwen3-30b-a3b', {}],
    [
      'data parallelism alone',
      'hugging-face',
      'qwen3-30b-a3b',
      { tensor: 1, pipeline: 1, context: 1, expert: 1, expertTensor: 1 },
    ],
  ])('is %s: %s and %s', (_sentence, engine, preset, pinned) => {
    expect(engineOffers(specFor(engine, preset)).pinned).toEqual(pinned);
  });
});
