import type { PlanAdvice, PlanAnswer, PlanRequest, PlanRequestInput } from '../contract.ts';
import { parsePlanRequest } from '../request/parse-plan-request.ts';
import { plan } from './plan.ts';
import { predict } from './predict.ts';

const asked = (gpus: number, globalBatchSize: number, change: Partial<PlanRequestInput> = {}): PlanRequest =>
  parsePlanRequest({
    model: 'llama-3.1-8b',
    cluster: { gpu: 'h100', gpus },
    globalBatchSize,
    sequenceLength: 8192,
    allow: { schedules: ['1f1b'] },
    ...change,
  });

const ofLargerBatch = ({ advice = [] }: PlanAnswer): PlanAdvice | undefined =>
  advice.find(({ kind }) => kind === 'largerBatch');

function samplesPerS(globalBatchSize: number, stepTimeS = Infinity): number {
  return globalBatchSize / stepTimeS;
}

describe('a larger batch that is nearly free', () => {
  it('is told where the optimizer on the host takes most of a step, with what it costs', () => {
    const request = asked(1, 1);
    const answer = plan(request);
    const advice = ofLargerBatch(answer);
    expect(advice?.sentence).toMatch(
      /^a global batch of 8 takes [\d.]+ s per step instead of [\d.]+ s with 1: [3-8]\.\d times the samples per second, because [\d.]+ s of each step are the optimizer; the weights are updated an eighth as often for the same number of tokens$/,
    );
    expect(advice?.plan.layout).toEqual(answer.best?.layout);
    expect(advice?.plan.prediction.verdict).toBe('fits');
  });

  it('is predicted as the same layout is when it is asked for with that batch', () => {
    const request = asked(1, 1);
    const advice = ofLargerBatch(plan(request));
    if (advice === undefined) throw new Error('no advice');
    const { stepTimeS } = predict({ ...request, globalBatchSize: advice.globalBatchSize }, advice.plan);
    expect(advice.plan.prediction.stepTimeS).toBeCloseTo(stepTimeS, 9);
  });

  it.each([
    ['to eight times the asked one', 1, 1, 8],
    ['as far as each doubling brings half as many samples again', 1, 4, 8],
    ['where so few samples leave GPUs without replicas, on another layout', 64, 8, 32],
  ])('goes %s', (_, gpus, batch, want) => {
    const { best, ...answer } = plan(asked(gpus, batch, { sequenceLength: gpus === 1 ? 8192 : 2048 }));
    const advice = ofLargerBatch({ ...answer, best });
    expect(advice?.globalBatchSize).toBe(want);
    const gain = samplesPerS(want, advice?.plan.prediction.stepTimeS) / samplesPerS(batch, best?.prediction.stepTimeS);
    expect(gain).toBeGreaterThanOrEqual(1.5 ** Math.log2(want / batch));
  });

  it('keeps what is pinned, here a pipeline that one micro-batch leaves empty for most of the step', () => {
    const answer = plan(asked(64, 8, { pinned: { tensor: 1, context: 1, pipeline: 8 } }));
    const advice = ofLargerBatch(answer);
    expect(advice?.sentence).toMatch(/, because [\d.]+ s of each step are the pipeline bubble; /);
    expect(advice?.plan.layout).toMatchObject({ tensorParallelDegree: 1, pipelineParallelDegree: 8 });
    expect(advice?.plan.layout).toEqual(answer.best?.layout);
  });

  it.each<[string, PlanRequest]>([
    ['where samples fill the step', asked(1, 64)],
    ['where all GPUs are busy with one sample each', asked(8, 8)],
    ['where nothing fits', asked(1, 1, { cluster: { gpu: 'rtx-4090', gpus: 1 } })],
    ['about cost, which has other GPUs to choose', asked(1, 1, { objective: 'cost' })],
  ])('is not told %s', (_, request) => {
    expect(ofLargerBatch(plan(request))).toBeUndefined();
  });
});
