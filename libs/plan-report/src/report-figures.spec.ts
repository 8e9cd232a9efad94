import { type Plan, PlanRequest } from '@coxswain/planner';
import { aPlan, aPlanAnswer, aPrediction, aStageMemory } from '@coxswain/planner/testing';
import fc from 'fast-check';
import { choicesOf, formatDegrees } from './describe-plan.ts';
import { formatCount, formatGib, formatSeconds, formatShare } from './figures.ts';
import { planReport } from './plan-report.ts';

const REQUEST = PlanRequest.parse({
  model: 'llama-3.1-70b',
  cluster: { gpu: 'h100', gpus: 512 },
  globalBatchSize: 1024,
  sequenceLength: 8192,
});
const DEGREES = [1, 2, 4, 8, 16];

const positive = (most: number): fc.Arbitrary<number> => fc.double({ min: 0.001, max: most, noNaN: true });
const aDrawnPlan: fc.Arbitrary<Plan> = fc
  .record({
    stepTimeS: positive(500),
    tokens: positive(1e6),
    peakGib: positive(140),
    tensor: fc.constantFrom(...DEGREES),
    data: fc.constantFrom(...DEGREES),
    gpus: fc.integer({ min: 1, max: 32_768 }),
    seconds: fc.array(positive(100), { minLength: 1, maxLength: 4 }),
    gib: fc.array(positive(40), { minLength: 1, maxLength: 4 }),
  })
  .map(({ stepTimeS, tokens, peakGib, tensor, data, gpus, seconds, gib }) => {
    const plan = aPlan();
    return {
      ...plan,
      gpus,
      layout: { ...plan.layout, tensorParallelDegree: tensor, dataParallelDegree: data },
      prediction: aPrediction({
        stepTimeS,
        tokensPerSPerGpu: tokens,
        peakGib,
        breakdown: seconds.map((value, index) => ({ part: `part${index}`, seconds: value })),
        memory: [
          aStageMemory(0, { peakGib, parts: gib.map((value, index) => ({ part: `kind${index}`, gib: value })) }),
        ],
      }),
    };
  });

/** The section below this heading, as a reader sees it. */
function section(html: string, heading: string): string {
  const [, rest = ''] = html.split(`<h2>${heading}</h2>`);
  return (rest.split('</section>')[0] ?? '')
    .replace(/<title>[^<]*<\/title>/g, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');
}

/** What each row of the first table below this heading shows, cell by cell. */
function rowsBelow(html: string, heading: string): readonly (readonly string[])[] {
  const [, rest = ''] = html.split(`<h2>${heading}</h2>`);
  const [body = ''] = /<tbody>[\s\S]*?<\/tbody>/.exec(rest) ?? [];
  return [...body.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].map(([, row = '']) =>
    [...row.matchAll(/<td[^>]*>([\s\S]*?)<\/td>/g)].map(([, cell = '']) => cell.replace(/<[^>]*>/g, ' ').trim()),
  );
}

describe('the report shows the figures of the answer and no others', () => {
  const answers = fc
    .array(aDrawnPlan, { minLength: 2, maxLength: 5 })
    .map((plans) => ({ plans, best: plans[0] ?? aPlan() }));

  it('of the best plan', () => {
    fc.assert(
      fc.property(answers, ({ plans, best }) => {
        const html = planReport({ request: REQUEST, answer: aPlanAnswer({ best, plans, pareto: plans }) });
        const { prediction } = best;
        const shown = section(html, 'The best layout');
        expect(shown).toContain(formatDegrees(best));
        expect(shown).toContain(choicesOf(best));
        expect(shown).toContain(`Step time ${formatSeconds(prediction.stepTimeS)}`);
        expect(shown).toContain(`Throughput ${formatCount(prediction.tokensPerSPerGpu)} tokens/s`);
        expect(shown).toContain(`Peak memory per GPU ${formatGib(prediction.peakGib)}`);
        expect(shown).toContain(`GPUs ${formatCount(best.gpus)}`);
      }),
      { numRuns: 30 },
    );
  });

  it('of each plan in the table, in the order of the answer', () => {
    fc.assert(
      fc.property(answers, ({ plans, best }) => {
        const html = planReport({ request: REQUEST, answer: aPlanAnswer({ best, plans, pareto: plans }) });
        const rows = rowsBelow(html, 'The best layouts');
        expect(rows.map((cells) => [cells[2], cells[3], cells[5], cells[6]])).toEqual(
          plans.map(({ gpus, prediction }) => [
            formatCount(gpus),
            formatSeconds(prediction.stepTimeS),
            formatCount(prediction.tokensPerSPerGpu),
            formatGib(prediction.peakGib),
          ]),
        );
      }),
      { numRuns: 30 },
    );
  });

  it('of each part of a step and of memory, with its share of the step', () => {
    fc.assert(
      fc.property(answers, ({ plans, best }) => {
        const html = planReport({ request: REQUEST, answer: aPlanAnswer({ best, plans, pareto: plans }) });
        const { stepTimeS, breakdown, memory } = best.prediction;
        const time = section(html, 'Where a step goes');
        for (const { seconds } of breakdown) {
          expect(time).toContain(`${formatSeconds(seconds)}, ${formatShare(seconds / stepTimeS)}`);
        }
        const bytes = section(html, 'Memory per GPU, by pipeline stage');
        for (const { gib } of memory.flatMap(({ parts }) => parts)) expect(bytes).toContain(formatGib(gib));
      }),
      { numRuns: 30 },
    );
  });

  it('of what ruled out the rest, the most frequent first', () => {
    const rules = fc.uniqueArray(
      fc.record({ rule: fc.string({ minLength: 1, unit: fc.constantFrom(...'abcdef') }), count: fc.nat(1e6) }),
      {
        selector: ({ count }) => count,
        maxLength: 6,
      },
    );
    fc.assert(
      fc.property(rules, (drawn) => {
        const ruledOut = drawn.map((rule) => ({ ...rule, example: 'for example' }));
        const html = planReport({ request: REQUEST, answer: aPlanAnswer({ ruledOut }) });
        const want = [...drawn].sort((one, other) => other.count - one.count);
        expect(rowsBelow(html, 'What ruled out the rest').map(([rule, count]) => [rule, count])).toEqual(
          want.map(({ rule, count }) => [rule, formatCount(count)]),
        );
      }),
      { numRuns: 30 },
    );
  });
});

describe('the bars', () => {
  it('are as long as their figures, and none is longer than the page', () => {
    fc.assert(
      fc.property(fc.array(aDrawnPlan, { minLength: 1, maxLength: 4 }), (drawn) => {
        // A step is as long as its parts, as in every answer of the planner.
        const plans = drawn.map((plan) => {
          const stepTimeS = plan.prediction.breakdown.reduce((sum, { seconds }) => sum + seconds, 0);
          return { ...plan, prediction: { ...plan.prediction, stepTimeS } };
        });
        const [best = aPlan()] = plans;
        const html = planReport({ request: REQUEST, answer: aPlanAnswer({ best, plans, pareto: plans }) });
        const most = Math.max(...plans.map(({ prediction }) => prediction.stepTimeS));
        const bars = [...html.matchAll(/<svg class="bar-track"[\s\S]*?<\/svg>/g)].slice(0, plans.length);
        const lengths = bars.map(([bar]) =>
          [...bar.matchAll(/<rect class="part-[^"]*"[^>]* width="([\d.]+)"/g)].reduce(
            (sum, [, width]) => sum + Number(width),
            0,
          ),
        );
        plans.forEach(({ prediction }, index) => {
          expect(Math.abs((lengths[index] ?? 0) - (1000 * prediction.stepTimeS) / most)).toBeLessThan(0.5);
        });
      }),
      { numRuns: 30 },
    );
  });
});
