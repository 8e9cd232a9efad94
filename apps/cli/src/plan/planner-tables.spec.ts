import { PlanRequest, type PlanAnswer } from '@coxswain/planner';
import { aPlan, aPlanAnswer, aPrediction, aStageMemory } from '@coxswain/planner/testing';
import fc from 'fast-check';
import { planText, predictionText, whyNotText } from './planner-tables.ts';

const REQUEST = PlanRequest.parse({
  model: 'llama-3.1-70b',
  cluster: { gpu: 'h100', gpus: 512 },
  globalBatchSize: 1024,
  sequenceLength: 8192,
});
const [SECOND = aPlan()] = aPlanAnswer().plans.slice(1);

function planned(overrides: Partial<PlanAnswer> = {}): string {
  return planText(REQUEST, aPlanAnswer(overrides), undefined);
}

describe('a plan as text', () => {
  it.each<[string, RegExp, Partial<PlanAnswer>?]>([
    [
      'says what was asked',
      /^Llama 3\.1 70B on 512 x NVIDIA H100 SXM5 80 GB, global batch 1,024 x 8,192 tokens, bf16\n/,
    ],
    ['the layout and its choices', /Layout +tp4 x dp128 on 512 GPUs\n +micro-batch 1, ZeRO-1, no recomputation/],
    ['the step time and where it will lie', /Step +10\.0 s \(80 % interval: 9\.20 s to 11\.4 s\)/],
    ['the verdict on memory', /Memory +74\.0 GiB of 79\.6 GiB: fits \(80 % interval: 57\.7 GiB to 66\.4 GiB\)/],
    [
      'whose time it tells where stages differ',
      /Where a step goes on the slowest of 4 pipeline stages\n {2}matrix products/,
      { best: aPlan() },
    ],
    ['the largest part first', /Where a step goes\n {2}matrix products +5\.50 s +55\.0 % {2}█{24}\n {2}attention/],
    [
      'the runners-up',
      /\n2 +tp4 x dp64 x pp2 +512 +10\.4 s +\+4\.0 % +1,638 +68\.0 GiB +- +micro-batch 1, interleaved/,
    ],
    [
      'what ruled out the rest',
      /What ruled out the rest, each with one example\n {2}9,600 +heads-divide +tensorParallelDegree 16 does not divide/,
    ],
    ['how large the search was', /51,234 combinations: 41,634 legal/],
    [
      'its error',
      /4\.2 % median, 14\.0 % at the\s+90th\s+percentile\s+\(321\s+measurements\s+that\s+were\s+left\s+out/,
    ],
    ['what was assumed', /Assumed:\n {2}- 8 GPUs per node/],
    [
      'time and cost of the training',
      /Training +17\.4 days, \$1,234,567/,
      { best: aPlan({ trainingHours: 417, costUsd: 1_234_567 }) },
    ],
    ['cost of a step where no tokens are given', /Per step +\$4\.27/, { best: aPlan({ costUsd: 4.27 }) }],
  ])('%s', (_, text, overrides = {}) => {
    expect(planned(overrides)).toMatch(text);
  });

  it('one GPU as one', () => {
    const layout = { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 1 };
    expect(planned({ best: aPlan({ layout, gpus: 1 }) })).toMatch(
      /Layout +1 rank on 1 GPU\n[\s\S]*Where a step goes\n/,
    );
  });

  it('why a faster layout is not the first', () => {
    const [first, ...others] = aPlanAnswer().plans;
    if (first === undefined) throw new Error('no plan');
    const faster = { ...first, prediction: aPrediction({ stepTimeS: 9.8 }) };
    expect(planned({ plans: [first, faster, ...others] })).toMatch(
      /-2\.0 %[^#]*\n {2}The first layout is the simplest within the prediction error of the fastest\.\n/,
    );
  });

  it('where nothing fits: how close it came and what would help', () => {
    const plan = aPlan({ prediction: aPrediction({ verdict: 'doesNotFit', peakGib: 91.2 }) });
    const { best: _, ...answer } = aPlanAnswer({
      plans: [],
      closest: { plan, exceedsGib: 11.6, relax: ['recompute all: 71.0 GiB, 12.9 s'] },
    });
    const text = planText(REQUEST, answer, undefined);
    expect(text).toMatch(/Nothing fits: the closest layout lacks 11\.6 GiB of memory per GPU\.\nLayout/);
    expect(text).toMatch(/91\.2 GiB of 79\.6 GiB: does not fit/);
    expect(text).toMatch(/What would help:\n {2}- recompute all: 71\.0 GiB/);
  });

  it('never runs over the terminal', () => {
    fc.assert(
      fc.property(fc.integer({ min: 72, max: 220 }), (width) => {
        const memory = Array.from({ length: 32 }, (_, stage) => aStageMemory(stage));
        const texts = [
          planText(REQUEST, aPlanAnswer(), width),
          predictionText(REQUEST, aPlan({ prediction: aPrediction({ memory }) }), width),
          whyNotText(
            aPlan(),
            { verdict: 'worse', reason: 'It is slower. '.repeat(20), brokenRules: [], difference: [], best: SECOND },
            width,
          ),
        ];
        for (const line of texts.join('\n').split('\n')) expect(line.length).toBeLessThanOrEqual(width);
      }),
    );
  });
});

describe('a prediction as text', () => {
  it('has memory by stage', () => {
    const text = predictionText(REQUEST, aPlan(), undefined);
    expect(text).toMatch(/Memory per GPU by stage, in GiB of 79\.6\n {2}stage +0 +1 +2 +3\n {2}weights +8\.5 +8\.5/);
    expect(text).toMatch(/\n {2}peak +62\.0 +58\.0 +54\.0 +50\.0\n/);
  });

  it.each(['fp8', 'fp16'] as const)('has the precision that the layout states: %s', (precision) => {
    const plan = aPlan();
    const stated = { ...plan, layout: { ...plan.layout, kernel: { precision } } };
    expect(predictionText(REQUEST, stated, undefined)).toMatch(new RegExp(`8,192 tokens, ${precision}\n`));
    const answer = { verdict: 'best' as const, reason: '', brokenRules: [], difference: [] };
    expect(whyNotText(stated, answer, undefined)).toMatch(new RegExp(`^tp.*, ${precision}\n`));
  });

  it('of many stages the fullest', () => {
    const memory = Array.from({ length: 32 }, (_, stage) => aStageMemory(stage, { peakGib: 20 + stage }));
    const text = predictionText(REQUEST, aPlan({ prediction: aPrediction({ memory }) }), 80);
    expect(text).toMatch(/\(the 8 fullest of 32 stages\)\n {2}stage +24 /);
  });
});

describe('why not, as text', () => {
  const difference = [
    { part: 'bubble', seconds: 1.5 },
    { part: 'tensorTraffic', seconds: -0.25 },
  ];
  it.each<[string, Parameters<typeof whyNotText>[1], RegExp]>([
    [
      'an illegal layout: the first rule and the others',
      { verdict: 'illegal', reason: 'tp 3 does not divide 64 heads', brokenRules: ['heads', 'layers'], difference: [] },
      /Not legal: tp 3 does not divide 64 heads\n\nIt breaks\n {2}- heads\n {2}- layers/,
    ],
    [
      'a slower one: where the time goes',
      {
        verdict: 'worse',
        reason: '1.25 s slower',
        brokenRules: [],
        prediction: aPrediction(),
        best: SECOND,
        difference,
      },
      /Worse: 1\.25 s slower\n\nPredicted +10\.0 s[\s\S]*Best +tp4 x dp64 x pp2[\s\S]*pipeline bubble +\+1\.50 s\n {2}tensor-parallel traffic +-250 ms/,
    ],
    [
      'one that does not fit',
      {
        verdict: 'doesNotFit',
        reason: 'lacks 3 GiB',
        brokenRules: [],
        prediction: aPrediction({ verdict: 'doesNotFit' }),
        difference: [],
      },
      /Does not fit: lacks 3 GiB\n\nPredicted +10\.0 s \(80 % interval: 9\.20 s to 11\.4 s\), .*\(does not fit\)/,
    ],
    [
      'the best itself',
      { verdict: 'best', reason: 'nothing is faster', brokenRules: [], best: SECOND, difference: [] },
      /Best: nothing is faster$/,
    ],
  ])('%s', (_, answer, text) => {
    expect(whyNotText(aPlan(), answer, undefined)).toMatch(text);
  });
});
