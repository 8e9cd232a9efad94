import type { PlanRequestInput } from '../contract.ts';
import { parsePlanRequest } from '../request/parse-plan-request.ts';
import { plan } from './plan.ts';

/** Small enough to be planned at once; 25 layers and 20 heads divide by little. */
const SMALL = {
  layers: 25,
  hiddenSize: 2560,
  ffnHiddenSize: 10_240,
  attentionHeads: 20,
  keyValueHeads: 20,
  headDim: 128,
  vocabularySize: 32_000,
  gatedMlp: true,
};
const asked = (gpus: number, change: Partial<PlanRequestInput> = {}) =>
  parsePlanRequest({
    modelShape: SMALL,
    cluster: { gpu: 'h100', gpus },
    globalBatchSize: 64,
    sequenceLength: 2048,
    allow: { schedules: ['1f1b'], offload: false },
    ...change,
  });

describe('what is said beside the best layout', () => {
  it('where no layout is legal, names the rule in the way and GPUs and a batch that would do', () => {
    const answer = plan(asked(127));
    expect(answer.best).toBeUndefined();
    expect(answer.whyNothing).toMatch(
      /^no layout on 127 GPUs is legal: dataParallelDegree 127 times microBatchSize 1 is 127, which does not divide globalBatchSize 64/,
    );
    const [first] = answer.advice ?? [];
    expect(first?.kind).toBe('fewerGpus');
    expect(first?.sentence).toMatch(/^\d+ of the 127 GPUs can train the model, at [\d.]+ s per step$/);
    expect(first?.plan.prediction.verdict).toBe('fits');
    expect(answer.whyNothing).toContain(first?.sentence);
  });

  it.each<[string, NonNullable<PlanRequestInput['pinned']>, string]>([
    [
      'a degree that does not divide the GPUs',
      { tensor: 7 },
      'no layout on 64 GPUs is legal: pinned tensor 7 does not divide 64 GPUs; 4 or 8 would; do not pin tensor 7',
    ],
    [
      'several that do not together',
      { tensor: 2, pipeline: 3 },
      'no layout on 64 GPUs is legal: pinned tensor 2 x pipeline 3 are 6 ranks, which do not divide 64 GPUs; 4 or 8 ranks would; ' +
        'do not pin tensor 2, pipeline 3',
    ],
    [
      'more of them than GPUs',
      { tensor: 8, data: 16 },
      'no layout on 64 GPUs is legal: pinned tensor 8 x data 16 are 128 ranks, which do not divide 64 GPUs; 64 ranks would; ' +
        'do not pin tensor 8, data 16',
    ],
  ])('where nothing can be planned, names %s and the nearest that would do', (_, pinned, why) => {
    expect(plan(asked(64, { pinned }), { withAdvice: false }).whyNothing).toBe(why);
  });

  it('where all that is pinned leaves stages empty says so, and not that the rest is too large', () => {
    const request = parsePlanRequest({
      model: 'llama-3.1-70b',
      cluster: { gpu: 'h100', gpus: 64 },
      globalBatchSize: 512,
      sequenceLength: 8192,
      pinned: { pipeline: 32, chunks: 3 },
    });
    const { ruledOut, whyNothing } = plan(request, { withAdvice: false });
    expect(ruledOut[0]?.rule).toBe('memory');
    expect(whyNothing).toMatch(/^no layout on 64 GPUs is legal: pipeline\.stages: /);
  });

  it('says that fewer GPUs are faster, with a plan on them', () => {
    const { best, advice = [] } = plan(asked(72, { pinned: { context: 1 } }));
    const [first] = advice.filter(({ kind }) => kind === 'fewerGpus');
    expect(first?.sentence).toMatch(/^\d+ GPUs are faster than 72: [\d.]+ s per step instead of [\d.]+ s$/);
    expect(first?.plan.gpus).toBe(64);
    expect(first?.plan.prediction.stepTimeS).toBeLessThan(best?.prediction.stepTimeS ?? 0);
    expect(first?.plan.prediction.verdict).toBe('fits');
  });

  it('says that a batch near the asked one is faster by the sample, with a plan for it', () => {
    const { best, advice = [] } = plan(asked(72, { pinned: { context: 1 } }));
    const [first] = advice.filter(({ kind }) => kind === 'otherBatch');
    expect(first?.globalBatchSize).toBe(72);
    expect((first?.plan.prediction.stepTimeS ?? Infinity) / 72).toBeLessThan((best?.prediction.stepTimeS ?? 0) / 64);
  });

  it.each<[string, Parameters<typeof asked>[1], number]>([
    ['where everything divides', {}, 64],
    ['about cost, which looks at fewer GPUs by itself', { objective: 'cost' }, 56],
  ])('says nothing %s', (_, change, gpus) => {
    expect(plan(asked(gpus, change)).advice).toBeUndefined();
  });

  it('is left out where nobody wants it', () => {
    expect(plan(asked(127), { withAdvice: false }).advice).toBeUndefined();
  });
});
