import { aJobSpec, aPlannedJobSpec } from '@coxswain/api-types/testing';
import { parsePlanRequest } from '@coxswain/planner';
import { plannerView } from './planner-view.ts';

const program = { name: 'command' as const, image: 'any', command: ['train'] };

describe('a job as the planner sees it', () => {
  it('is the GPT that the reference engine trains, at the size that the job gives', () => {
    const model = { layers: 24, hiddenSize: 2_048, attentionHeads: 16, sequenceLength: 1_024 };
    expect(plannerView(aPlannedJobSpec({ model }))).toMatchObject({
      modelShape: {
        layers: 24,
        hiddenSize: 2_048,
        ffnHiddenSize: 8_192,
        attentionHeads: 16,
        keyValueHeads: 16,
        headDim: 128,
        vocabularySize: 256,
        gatedMlp: false,
        tiedEmbeddings: false,
      },
      sequenceLength: 1_024,
      globalBatchSize: 8,
      stack: 'reference',
    });
  });

  it.each([
    ['has no model', aJobSpec({ engine: program, model: undefined })],
    [
      'has a model that is not known',
      aJobSpec({ engine: program, model: { preset: 'no-such-model', sequenceLength: 1 } }),
    ],
    ['has no training', aJobSpec({ engine: program, training: undefined })],
  ])('is nothing where the job %s', (_sentence, spec) => {
    expect(plannerView(spec)).toBeUndefined();
  });

  it('is the model that it names, with experts, grouped heads and vocabulary', () => {
    const model = { preset: 'mixtral-8x7b', sequenceLength: 4_096 };
    expect(plannerView(aPlannedJobSpec({ engine: program, model }))).toMatchObject({
      modelShape: { layers: 32, keyValueHeads: 8, vocabularySize: 32_000, experts: { count: 8, topK: 2 } },
      sequenceLength: 4_096,
      stack: 'command',
    });
  });

  it.each([
    ['is free to choose the micro-batch', {}, undefined],
    ['keeps to the micro-batch that the user gave', { microBatchSize: 4 }, 4],
  ])('%s', (_sentence, more, want) => {
    const view = plannerView(aPlannedJobSpec({ training: { steps: 1, globalBatchSize: 8, ...more } }));
    expect(view?.pinned.microBatchSize).toBe(want);
  });

  it('trains adapters alone where the job has them', () => {
    const lora = { rank: 16, targets: ['q_proj' as const] };
    const packing = { meanTokens: 300 };
    const view = plannerView(aPlannedJobSpec({ training: { steps: 1, globalBatchSize: 8, lora, packing } }));
    expect(view).toMatchObject({ lora, packing });
  });

  it('keeps everything that the engine does in one way only', () => {
    expect(plannerView(aPlannedJobSpec())?.pinned).toEqual({
      context: 1,
      expert: 1,
      expertTensor: 1,
      chunks: 1,
      zeroStage: 1,
      schedule: '1f1b',
      recompute: 'none',
      partition: 'even',
      rankOrder: 'tp-cp-dp-pp',
      offloadOptimizer: 0,
      offloadActivations: 0,
    });
  });

  it('is a request that the planner takes, once it knows the cluster', () => {
    for (const spec of [aPlannedJobSpec(), aJobSpec({ engine: program })]) {
      const view = plannerView(spec);
      expect(() => parsePlanRequest({ ...(view ?? never()), cluster: { gpu: 'h100', gpus: 4 } })).not.toThrow();
    }
  });
});

function never(): never {
  throw new Error('there is a view');
}
