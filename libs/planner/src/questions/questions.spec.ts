import { isDomainError } from '@coxswain/domain-error';
import { ModelShape, type ParallelLayout } from '@coxswain/layout';
import { PAIRED_ERROR_PCT } from '../calibration/paired-error.ts';
import type { AskedLayout, PinnedAxes, PlanRequestInput } from '../contract.ts';
import { parsePlanRequest } from '../request/parse-plan-request.ts';
import { plan as planParsed } from './plan.ts';
import { predict as predictParsed } from './predict.ts';
import { whyNot as whyNotParsed } from './why-not.ts';

const plan = (input: PlanRequestInput) => planParsed(parsePlanRequest(input));
const predict = (input: PlanRequestInput, asked: AskedLayout) => predictParsed(parsePlanRequest(input), asked);
const whyNot = (input: PlanRequestInput, asked: AskedLayout) => whyNotParsed(parsePlanRequest(input), asked);

/** 1.3 billion parameters. */
const MODEL = ModelShape.parse({
  layers: 24,
  hiddenSize: 2048,
  ffnHiddenSize: 8192,
  attentionHeads: 16,
  keyValueHeads: 16,
  headDim: 128,
  vocabularySize: 51_200,
  gatedMlp: false,
});
/** Few choices, so that a test takes a moment. */
const PINNED: PinnedAxes = { context: 1, microBatchSize: 1, recompute: 'none', zeroStage: 1, offloadOptimizer: 0 };
const REQUEST: PlanRequestInput = {
  modelShape: MODEL,
  cluster: { gpu: 'a100', gpus: 16 },
  globalBatchSize: 64,
  sequenceLength: 2048,
  pinned: PINNED,
};
const LAYOUT: ParallelLayout = {
  tensorParallelDegree: 8,
  pipelineParallelDegree: 2,
  dataParallelDegree: 1,
  sequence: { sequenceParallel: true },
};
const ask = (layout: Partial<ParallelLayout> = {}, microBatchSize = 1): AskedLayout => ({
  layout: { ...LAYOUT, ...layout },
  microBatchSize,
});
const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

describe('plan', () => {
  it.each(['operations', 'full'] as const)(
    'for TorchTitan with %s computed again is predicted as it was planned, in the words that it is told',
    (recompute) => {
      const request: PlanRequestInput = { ...REQUEST, stack: 'torchtitan', pinned: { tensor: 2, recompute } };
      const { plans } = plan(request);
      expect(plans).toHaveLength(5);
      expect(plans.map(({ layout, microBatchSize }) => predict(request, { layout, microBatchSize }))).toEqual(
        plans.map(({ prediction }) => prediction),
      );
      const mode = recompute === 'full' ? 'full' : 'selective';
      expect(new Set(plans.map(({ layout }) => layout.memory?.recompute?.mode))).toEqual(new Set([mode]));
    },
  );

  it('answers with the simplest of the fastest layouts, then the fastest, the front from fastest to smallest, and what became of the rest', () => {
    const { best, plans, pareto, counted, ruledOut, assumptions } = plan(REQUEST);
    const times = plans.map(({ prediction }) => prediction.stepTimeS);
    expect(plans).toHaveLength(5);
    expect(best).toEqual(plans[0]);
    // The last has a schedule that the assumed engine does not run, and is faster.
    expect(plans.map(({ layout }) => layout.pipeline?.schedule ?? '1f1b').at(-1)).toMatch(/zb|v-|dualpipe/);
    const [simplest = 0, ...others] = times.slice(0, -1);
    expect(others).toEqual([...others].sort((a, b) => a - b));
    const fastest = Math.min(simplest, ...others);
    expect(simplest).toBeLessThanOrEqual(fastest * (1 + PAIRED_ERROR_PCT / 100));
    const sizes = pareto.map(({ prediction }) => prediction.peakGib);
    expect(sizes).toEqual([...sizes].sort((a, b) => b - a));
    expect(pareto[0]?.prediction.stepTimeS).toBe(fastest);
    const out = sumOf(ruledOut.filter(({ rule }) => rule !== 'memory').map(({ count }) => count));
    expect(counted.legal).toBeLessThanOrEqual(counted.enumerated - out);
    expect(counted.bounded + counted.timed).toBe(counted.fitting);
    expect(assumptions.join()).toContain('8 GPUs per node');
  });

  it('prices a training by its tokens', () => {
    const { best } = plan({ ...REQUEST, tokens: 1e9, cluster: { gpu: 'a100', gpus: 16, usdPerGpuHour: 2 } });
    expect(best?.costUsd).toBeCloseTo((best?.trainingHours ?? 0) * 16 * 2);
  });

  it('takes the fewest GPUs that meet a deadline, the cheapest number of them, or the least memory, as asked', () => {
    const needs = { ...REQUEST, tokens: 1e10 };
    const slowest = plan({ ...needs, objective: 'cost' }).best;
    const hours = slowest?.trainingHours ?? 0;
    const fewest = plan({ ...needs, objective: 'gpus', deadlineHours: hours / 2 });
    const fastest = plan(needs).best;
    const smallest = plan({ ...needs, objective: 'memory', pinned: { ...PINNED, recompute: 'full' } }).best;
    expect(slowest?.gpus).toBeLessThan(16);
    expect(fewest.best?.gpus).toBeGreaterThan(slowest?.gpus ?? 0);
    expect(fewest.best?.trainingHours).toBeLessThanOrEqual(hours / 2);
    expect(slowest?.costUsd).toBeLessThan(fastest?.costUsd ?? 0);
    expect(smallest?.prediction.peakGib).toBeLessThan(fastest?.prediction.peakGib ?? 0);
  });

  describe('on two islands that a slow network joins', () => {
    const islands = (relativeSpeed: number): PlanRequestInput => ({
      ...REQUEST,
      globalBatchSize: 128,
      cluster: {
        gpu: 'a100',
        gpus: 64,
        islands: [
          { gpus: 32, nicKind: 'infiniband' },
          { gpus: 32, nicKind: 'roce', relativeSpeed },
        ],
        betweenIslandsGbPerS: 0.5,
      },
      pinned: { ...PINNED, schedule: '1f1b' },
      allow: { offload: false },
    });

    it('only the pipeline crosses from one to the other, and data-parallel groups stay where their NICs are', () => {
      const layout = plan(islands(1)).best?.layout;
      expect(layout?.pipelineParallelDegree).toBeGreaterThan(1);
      const stage = 64 / (layout?.pipelineParallelDegree ?? 1);
      expect(32 % stage).toBe(0);
      expect(layout?.rankOrder).toBeUndefined();
    });

    it('the slower one takes fewer layers, by its measured speed, for it has the output as well', () => {
      const pipeline = plan(islands(0.6)).best?.layout.pipeline;
      const layers = (pipeline?.stages ?? []).map((stage) => stage.layers);
      const [fast, slow] = [layers.slice(0, layers.length / 2), layers.slice(layers.length / 2)].map(sumOf);
      /** 6 x 2,048 x 51,200 FLOPs a token, of which a layer has 72 x 2,048 squared. */
      const output = (6 * 51_200) / (72 * 2048);
      expect((fast ?? 0) / ((fast ?? 0) + (slow ?? 0) + output)).toBeCloseTo(1 / 1.6, 1);
    });
  });

  it.each<[string, Partial<PlanRequestInput>, RegExp]>([
    [
      'too little memory',
      { memoryMarginShare: 0.5, pinned: { ...PINNED, tensor: 1, pipeline: 1 } },
      /do not pin tensor/,
    ],
    [
      'a model whose states alone are too large',
      {
        memoryMarginShare: 0.5,
        cluster: { gpu: 'a100', gpus: 1 },
        allow: { offload: false },
        pinned: undefined,
        sequenceLength: 4096,
      },
      /^use 8 GPUs of this type instead of 1; 4 are too few; set allow.offload to true: host memory can hold optimizer states$/,
    ],
    [
      'too long samples',
      { memoryMarginShare: 0.5, pinned: { tensor: 1, context: 1, pipeline: 16 }, sequenceLength: 1_048_576 },
      /^use GPUs with more memory than a100, or a smaller model; do not pin .*; shorten sequenceLength from 1,048,576$/,
    ],
    [
      'too early a deadline',
      { tokens: 1e12, deadlineHours: 1 },
      /raise deadlineHours from 1 to [\d,]+, the training time of the closest layout; use more GPUs: the same work needs at least [\d,]+ of this type instead of 16;/,
    ],
  ])('with %s says what comes closest, and which limit to relax', (_what, over, relax) => {
    const model = ModelShape.parse({ ...MODEL, layers: 192 });
    const { best, plans, closest } = plan({ ...REQUEST, modelShape: model, ...over });
    expect(best).toBeUndefined();
    expect(plans).toEqual([]);
    expect(closest?.relax.join('; ')).toMatch(relax);
    expect((closest?.exceedsGib ?? 0) > 0).toBe('memoryMarginShare' in over);
  });

  it.each<[Partial<PlanRequestInput>, string, RegExp]>([
    [{ model: 'gpt-3' }, '/model', /exactly one of model and modelShape/],
    [{ cluster: { gpu: 'a100', gpus: 0 } }, '/cluster/gpus', />=1/],
    [{ cluster: { gpu: 'a1000', gpus: 8 } }, '/cluster/gpu', /nearest: .*a100/],
    [
      { cluster: { gpu: 'a100', gpus: 8, islands: [{ gpus: 4 }] } },
      '/cluster/islands',
      /have 4 GPUs together, but cluster.gpus is 8/,
    ],
    [{ objective: 'gpus' }, '/deadlineHours', /set deadlineHours and tokens/],
    [{ deadlineHours: 5 }, '/tokens', /needs the tokens/],
  ])('refuses %j with the field, the rule and what to do', (over, pointer, message) => {
    const refused = refusalOf(() => plan({ ...REQUEST, ...over }));
    expect(refused.violations).toEqual([{ pointer, detail: expect.stringMatching(message) as string }]);
  });
});

describe('predict', () => {
  it('says where the time and the memory go, each part counted once', () => {
    const prediction = predict(REQUEST, ask());
    expect(sumOf(prediction.breakdown.map(({ seconds }) => seconds))).toBeCloseTo(prediction.stepTimeS, 9);
    expect(prediction.memory).toHaveLength(2);
    for (const { peakGib, parts } of prediction.memory)
      expect(sumOf(parts.map(({ gib }) => gib))).toBeCloseTo(peakGib, 9);
    expect(Math.max(...prediction.memory.map(({ peakGib }) => peakGib))).toBeCloseTo(prediction.peakGib, 9);
    expect(prediction.modelFlopsUtilizationPct).toBeGreaterThan(5);
    expect(prediction.modelFlopsUtilizationPct).toBeLessThan(80);
  });

  it('takes the number format of the layout before that of the request', () => {
    const half = predict({ ...REQUEST, precision: 'fp32' }, ask({ kernel: { precision: 'bf16' } }));
    expect(half.stepTimeS).toBeLessThan(predict({ ...REQUEST, precision: 'fp32' }, ask()).stepTimeS);
  });

  it('refuses an illegal layout with every broken rule', () => {
    const refused = refusalOf(() => predict(REQUEST, ask({ dataParallelDegree: 3 })));
    expect(refused.code).toBe('INVALID_LAYOUT');
    expect(refused.violations.length).toBeGreaterThan(0);
  });
});

describe('why not', () => {
  it.each<[string, AskedLayout, Partial<PlanRequestInput>, RegExp]>([
    ['illegal', ask({ tensorParallelDegree: 3 }), {}, /3/],
    ['worse', ask(), {}, /% worse: .* s per step against .*; the largest difference is /],
    ['worse', ask({ tensorParallelDegree: 2, dataParallelDegree: 4 }), { objective: 'memory' }, /GiB per GPU against/],
    ['doesNotFit', ask({}, 64), { sequenceLength: 16_384 }, /stage \d needs .* of .* GiB, most of it/],
  ])('%s', (verdict, asked, over, reason) => {
    const answer = whyNot({ ...REQUEST, ...over }, asked);
    expect(answer.verdict).toBe(verdict);
    expect(answer.reason).toMatch(reason);
    expect(answer.best).toBeDefined();
  });

  it('tells the difference to the best layout part by part', () => {
    const { difference, prediction, best } = whyNot(REQUEST, ask());
    const longer = (prediction?.stepTimeS ?? 0) - (best?.prediction.stepTimeS ?? 0);
    expect(sumOf(difference.map(({ seconds }) => seconds))).toBeCloseTo(longer, 9);
    expect(difference[0]?.seconds).toBeGreaterThan(0);
  });

  it('says that the best layout is the best', () => {
    const { best } = plan(REQUEST);
    if (best === undefined) throw new Error('nothing fits');
    expect(whyNot(REQUEST, { layout: best.layout, microBatchSize: best.microBatchSize }).verdict).toBe('best');
  });

  it.each(['cost', 'memory', 'time'] as const)(
    'says so for objective %s, on however many GPUs the best is',
    (objective) => {
      const request = { ...REQUEST, objective, tokens: 1e9, top: 1 };
      const { best } = plan(request);
      if (best === undefined) throw new Error('something fits');
      expect(whyNot(request, { layout: best.layout, microBatchSize: best.microBatchSize })).toMatchObject({
        verdict: 'best',
        brokenRules: [],
      });
    },
  );

  it('says of a better layout which the pinned choices exclude that the search did not consider it', () => {
    const { best } = plan(REQUEST);
    if (best === undefined) throw new Error('nothing fits');
    const narrow = { ...REQUEST, pinned: { ...PINNED, tensor: 8 } };
    const answer = whyNot(narrow, { layout: best.layout, microBatchSize: best.microBatchSize });
    expect(answer.verdict).toBe('outsideSearch');
  });
});

function refusalOf(act: () => unknown): { readonly code: string; readonly violations: readonly unknown[] } {
  try {
    act();
  } catch (error) {
    if (isDomainError(error)) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}
