/** What is true of the fastest layout whatever the models are fitted to: more of anything never hurts. */
import { PAIRED_ERROR_PCT } from '../calibration/paired-error.ts';
import type { PlanRequest, PlanRequestInput } from '../contract.ts';
import { parsePlanRequest } from '../request/parse-plan-request.ts';
import { resolveRequest } from '../request/resolved-request.ts';
import { goalOf, searchRequest } from '../search/search-request.ts';
import { plan } from './plan.ts';

const MODEL = {
  layers: 8,
  hiddenSize: 4096,
  ffnHiddenSize: 14_336,
  attentionHeads: 32,
  keyValueHeads: 8,
  headDim: 128,
  vocabularySize: 64_000,
  gatedMlp: true,
};

function requestOf(change: Partial<PlanRequestInput>, cluster: Partial<PlanRequestInput['cluster']>): PlanRequest {
  return parsePlanRequest({
    modelShape: MODEL,
    globalBatchSize: 64,
    sequenceLength: 4096,
    allow: { schedules: ['1f1b', 'interleaved-1f1b'], partitions: ['even'] },
    pinned: { context: 1 },
    ...change,
    cluster: { gpu: 'h100', gpus: 16, ...cluster },
  });
}

/** Choices that advice looks at. */
const USUAL = { context: 1, microBatchSize: 1, zeroStage: 1, recompute: 'none' } as const;

/** Seconds of the fastest layout; infinite where none fits. */
function fastestS(change: Partial<PlanRequestInput>, cluster: Partial<PlanRequestInput['cluster']> = {}): number {
  const resolved = resolveRequest(requestOf(change, cluster));
  return searchRequest(resolved, { ...goalOf(resolved), top: 1 }).best[0]?.stepTimeS ?? Infinity;
}

function neverRises(times: readonly number[]): void {
  for (const [index, timeS] of times.slice(1).entries())
    expect(timeS).toBeLessThanOrEqual((times[index] ?? 0) * (1 + 1e-9));
}

describe('the fastest layout', () => {
  it('is never slower with more memory to use', () => {
    neverRises([0.5, 0.4, 0.3, 0.1, 0].map((memoryMarginShare) => fastestS({ memoryMarginShare })));
  });

  it('is never slower with faster links between nodes', () => {
    neverRises([1, 5, 12.5, 25, 50, 100].map((scaleOutGbPerS) => fastestS({}, { scaleOutGbPerS })));
  });

  it('is never faster with a larger batch, or with longer samples', () => {
    neverRises([128, 96, 64, 48, 32, 16].map((globalBatchSize) => fastestS({ globalBatchSize })));
    neverRises([16_384, 8192, 4096, 2048].map((sequenceLength) => fastestS({ sequenceLength })));
  });

  it('is never slower on more GPUs, of which fewer may be used', () => {
    const eightS = fastestS({ pinned: USUAL }, { gpus: 8 });
    for (const gpus of [9, 10, 11, 12, 13, 14, 15]) {
      const answer = plan(requestOf({ pinned: USUAL }, { gpus }));
      const fewer = answer.advice?.find(({ kind }) => kind === 'fewerGpus')?.plan;
      const stepTimesS = [answer.best, fewer].map((plan) => plan?.prediction.stepTimeS ?? Infinity);
      // Advice is given where it is more than what predictions tell apart.
      expect(Math.min(...stepTimesS)).toBeLessThanOrEqual(eightS * (1 + PAIRED_ERROR_PCT / 100) * (1 + 1e-9));
    }
  });
});
