import { PlanRequest, type Plan, type PlanAnswer, type PlanRequestInput, type ScheduleInput } from '@coxswain/planner';
import { aPlan, aPlanAnswer, aPrediction, aStageMemory } from '@coxswain/planner/testing';
import { planReport } from './plan-report.ts';

const REQUEST = {
  model: 'llama-3.1-70b',
  cluster: { gpu: 'h100', gpus: 512 },
  globalBatchSize: 1024,
  sequenceLength: 8192,
} satisfies PlanRequestInput;

function pipelineOf(overrides: Partial<ScheduleInput> = {}): ScheduleInput {
  const stages = (overrides.pipeline ?? 4) * (overrides.chunks ?? 1);
  const each = (seconds: number): Float64Array => new Float64Array(stages).fill(seconds);
  return {
    schedule: '1f1b',
    pipeline: 4,
    chunks: 1,
    microBatches: 8,
    forwardS: each(0.1),
    backwardInputS: each(0.1),
    backwardWeightS: each(0.1),
    forwardHopS: each(0),
    backwardHopS: each(0),
    p2p: 'overlapped',
    ...overrides,
  };
}

interface Shown {
  readonly request?: Partial<PlanRequestInput>;
  readonly answer?: Partial<PlanAnswer>;
  readonly pipeline?: ScheduleInput;
}

function report({ request = {}, answer = {}, pipeline }: Shown = {}): string {
  return planReport({
    request: PlanRequest.parse({ ...REQUEST, ...request }),
    answer: aPlanAnswer(answer),
    ...(pipeline === undefined ? {} : { pipeline }),
  });
}

/** What a reader sees: tags and style taken out, entities resolved. */
function textOf(html: string): string {
  return html
    .replace(/<style>[\s\S]*?<\/style>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ');
}

const VOID_ELEMENTS = new Set(['meta', 'br', '!doctype']);

/** Names of elements that are closed where they should not be, or never. */
function misnested(html: string): readonly string[] {
  const open: string[] = [];
  const wrong: string[] = [];
  for (const [, closing, name = ''] of html.matchAll(/<(\/?)([!A-Za-z][A-Za-z0-9]*)(?:"[^"]*"|[^"<>])*>/g)) {
    if (VOID_ELEMENTS.has(name)) continue;
    if (closing === '') open.push(name);
    else if (open.pop() !== name) wrong.push(name);
  }
  return [...wrong, ...open];
}

const HOSTILE = `"><img src=x onerror='alert(1)'><script>alert(2)</script> & </style> \u0000`;
const HOSTILE_SHAPE = {
  name: HOSTILE,
  layers: 2,
  hiddenSize: 64,
  ffnHiddenSize: 256,
  attentionHeads: 4,
  keyValueHeads: 4,
  headDim: 16,
  vocabularySize: 1000,
  gatedMlp: true,
};

describe('the report is a page of its own', () => {
  it.each<[string, Shown]>([
    ['of a plan', {}],
    ['of a plan with its pipeline', { pipeline: pipelineOf() }],
    ['of a plan whose pipeline has split backward passes', { pipeline: pipelineOf({ schedule: 'zb-h1' }) }],
    ['of one plan', { answer: { plans: [aPlan()], pareto: [aPlan()], best: aPlan() } }],
    ['of a hostile request', { request: { model: undefined, modelShape: HOSTILE_SHAPE } as Partial<PlanRequestInput> }],
  ])('%s: well nested, without a script, asking nobody', (_, shown) => {
    const html = report(shown);
    expect(misnested(html)).toEqual([]);
    expect(html.match(/<script|<link|<iframe|<img|@import|url\(|https?:/gi)).toBeNull();
    expect(html.match(/<[^>]*\s(?:src|href|on\w+)=/gi)).toBeNull();
    expect(html).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`);
  });

  it('shows hostile names as text', () => {
    const html = report({
      request: { model: undefined, modelShape: HOSTILE_SHAPE } as Partial<PlanRequestInput>,
      answer: {
        ruledOut: [{ rule: HOSTILE, count: 1, example: HOSTILE }],
        assumptions: [HOSTILE],
        calibration: HOSTILE,
        plans: [aPlan({ prediction: aPrediction({ breakdown: [{ part: HOSTILE, seconds: 1 }] }) })],
      },
    });
    expect(misnested(html)).toEqual([]);
    expect(html).not.toContain('<img');
    expect(html).not.toContain('<script');
    expect(html).not.toContain('\u0000');
    expect(html.match(/<\/style>/g)).toHaveLength(1);
    expect(html).toContain('&quot;&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;');
  });

  it('every picture has a name for those who cannot see it', () => {
    const html = report({ pipeline: pipelineOf() });
    const pictures = html.match(/<svg[^>]*>/g) ?? [];
    expect(pictures.length).toBeGreaterThan(8);
    for (const picture of pictures) expect(picture).toMatch(/aria-label(?:ledby)?="[^"]+"|aria-hidden="true"/);
    for (const [, ids = ''] of html.matchAll(/aria-labelledby="([^"]+)"/g))
      for (const id of ids.split(' ')) expect(html).toContain(`id="${id}"`);
  });
});

function withoutInterval(): Plan {
  const prediction = aPrediction();
  delete prediction.interval;
  delete prediction.peakInterval;
  return aPlan({ prediction });
}

describe('the report tells', () => {
  it.each<[string, RegExp, Shown?]>([
    ['what was asked', /Llama 3\.1 70B on 512 NVIDIA H100 SXM5 80 GB global batch 1,024 · 8,192 tokens per sample/],
    [
      'the tokens and the deadline',
      /15T tokens · within 30\.0 days/,
      { request: { tokens: 15e12, deadlineHours: 720 } },
    ],
    ['the layout and its choices', /tp4 x dp64 x pp2 .*micro-batch 1, interleaved-1f1b x2, ZeRO-1, no recomputation/],
    ['the step time and where it will lie', /Step time 10\.0 s 80 % interval: 9\.20 s to 11\.4 s/],
    [
      'of an answer kept from before there were intervals, how far off such were',
      /Step time 10\.0 s ± 4\.2 % median, 14 % at p90/,
      { answer: { best: withoutInterval() } },
    ],
    [
      'the verdict on memory, and where the peak will lie',
      /62\.0 GiB fits in 79\.6 GiB 80 % interval: 57\.7 GiB to 66\.4 GiB/,
      { answer: { best: aPlan() } },
    ],
    ['each part of a step with its share', /matrix products 5\.50 s, 55\.0 %/],
    ['how much slower the others are', /tp4 x dp64 x pp2 .* 512 10\.4 s \+4\.0 %/],
    ['what ruled out the rest', /heads-divide 9,600 tensorParallelDegree 16 does not divide keyValueHeads 8/],
    ['how large the search was', /51,234 combinations: 41,634 legal/],
    ['where the step will lie, as a sentence', /80 % interval of the step time: 9\.20 s to 11\.4 s\./],
    ['the error it was found to have', /4\.2 % median, 14\.0 % at the 90th percentile \(321 measurements/],
    ['what was assumed', /8 GPUs per node as the preset says/],
    [
      'cost and duration',
      /Training 17\.4 days Cost \$1,234,567 of the training/,
      { answer: { best: aPlan({ trainingHours: 417, costUsd: 1_234_567 }) } },
    ],
    [
      'how the pipeline was cut down',
      /a step cut down to 16 of its 64 micro-batches/,
      { pipeline: pipelineOf({ microBatches: 64 }) },
    ],
    [
      'that only some ranks are drawn',
      /16 of 32 ranks are shown/,
      { pipeline: pipelineOf({ pipeline: 32, microBatches: 32 }) },
    ],
  ])('%s', (_, text, shown = {}) => {
    expect(textOf(report(shown))).toMatch(text);
  });

  it('where nothing fits: how close it came and what would help', () => {
    const plan = aPlan({ prediction: aPrediction({ verdict: 'doesNotFit', peakGib: 91.2 }) });
    const { best: _, ...answer } = aPlanAnswer({
      plans: [],
      pareto: [],
      closest: { plan, exceedsGib: 11.6, relax: ['recompute all: 71.0 GiB, 12.9 s'] },
    });
    const html = planReport({ request: PlanRequest.parse(REQUEST), answer });
    expect(misnested(html)).toEqual([]);
    expect(textOf(html)).toMatch(/Nothing fits The closest layout lacks 11\.6 GiB .* recompute all: 71\.0 GiB/);
    expect(textOf(html)).toMatch(/does not fit in 79\.6 GiB/);
  });

  it('of many stages the fullest', () => {
    const memory = Array.from({ length: 64 }, (_, stage) => aStageMemory(stage, { peakGib: 20 + stage }));
    const text = textOf(report({ answer: { best: aPlan({ prediction: aPrediction({ memory }) }) } }));
    expect(text).toContain('The 16 fullest of 64 stages');
    expect(text).toMatch(/stage 63 .*? 83\.0 GiB/);
    expect(text).not.toContain('stage 47 ');
  });
});

describe('the drawn pipeline', () => {
  it.each<[string, Partial<ScheduleInput>, number]>([
    ['1F1B: a forward and a backward', { pipeline: 4, microBatches: 8 }, 4 * 8 * 2],
    [
      'interleaved: one of each per chunk',
      { schedule: 'interleaved-1f1b', pipeline: 4, chunks: 2, microBatches: 8 },
      4 * 2 * 8 * 2,
    ],
    ['zero bubble: a weight pass besides', { schedule: 'zb-h1', pipeline: 4, microBatches: 8 }, 4 * 8 * 3],
  ])('%s per micro-batch and rank', (_, shape, passes) => {
    const html = report({ pipeline: pipelineOf(shape) });
    expect(html.match(/<rect class="pass pass-/g)).toHaveLength(passes);
  });

  it('is left out where there is one stage', () => {
    expect(report({ pipeline: pipelineOf({ pipeline: 1 }) })).not.toContain('<h2>The pipeline</h2>');
  });
});

describe('bars', () => {
  it('are as long as what they stand for', () => {
    const html = report({ answer: { plans: [aPlan()], best: aPlan() } });
    const [bar = ''] = html.match(/<svg class="bar-track"[\s\S]*?<\/svg>/) ?? [];
    const widths = [...bar.matchAll(/width="([\d.]+)"/g)].map(([, width]) => Number(width));
    expect(widths.reduce((sum, width) => sum + width, 0)).toBeCloseTo(1000, 0);
    expect(widths[0]).toBeCloseTo(550, 0);
  });
});
