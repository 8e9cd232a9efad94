import type { PlanAdvice, PlanAnswer, PlanRequestInput } from '../contract.ts';
import { parsePlanRequest } from '../request/parse-plan-request.ts';
import { plan } from './plan.ts';

function answered(pinned: PlanRequestInput['pinned'], cluster: PlanRequestInput['cluster'] = H100): PlanAnswer {
  return plan(
    parsePlanRequest({
      model: 'llama-3.1-8b',
      cluster,
      globalBatchSize: 64,
      sequenceLength: 8192,
      allow: { schedules: ['1f1b'], offload: false },
      pinned,
    }),
  );
}

const H100 = { gpu: 'h100', gpus: 32 };
const adviceOf = ({ advice = [] }: PlanAnswer): PlanAdvice | undefined =>
  advice.find(({ kind }) => kind === 'tensorInDomain');

describe('tensor groups that are pinned across nodes', () => {
  it('are told with what their traffic takes, and with the time of groups inside a node', () => {
    const answer = answered({ tensor: 16 });
    const advice = adviceOf(answer);
    expect(answer.best?.layout.tensorParallelDegree).toBe(16);
    expect(advice?.sentence).toMatch(
      /^tensor groups of 16 span several nodes of 8 GPUs, so the traffic of every layer crosses the network: [\d.]+ of [\d.]+ s per step; with groups of [1248], a step takes [\d.]+ s$/,
    );
    expect(advice?.plan.layout.tensorParallelDegree).toBeLessThanOrEqual(8);
    expect(advice?.plan.gpus).toBe(32);
    expect(advice?.plan.prediction.verdict).toBe('fits');
    expect(advice?.plan.prediction.stepTimeS).toBeLessThan(answer.best?.prediction.stepTimeS ?? 0);
  });

  it('keep what else is pinned in what they are compared with', () => {
    const advice = adviceOf(answered({ tensor: 16, pipeline: 2, context: 1 }));
    expect(advice?.plan.layout.pipelineParallelDegree).toBe(2);
  });

  it.each<[string, NonNullable<PlanRequestInput['pinned']>, PlanRequestInput['cluster']]>([
    ['where they lie in a node', { tensor: 8 }, H100],
    ['where NVLink joins nodes', { tensor: 16 }, { gpu: 'gb200', gpus: 64 }],
    ['where all else is pinned too', { tensor: 16, pipeline: 1, context: 1, data: 2 }, H100],
    ['where nothing is pinned', {}, H100],
  ])('are not told %s', (_, pinned, cluster) => {
    expect(adviceOf(answered({ microBatchSize: 1, context: 1, ...pinned }, cluster))).toBeUndefined();
  });
});
