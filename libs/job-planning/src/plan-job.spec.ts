import { effectiveSpec, type JobPlan, type TrainingJobSpec } from '@coxswain/api-types';
import { aJobSpec, aPlannedJobSpec } from '@coxswain/api-types/testing';
import { engineRefusal, layoutRefusal, renderEngine } from '@coxswain/engines';
import { type FabricNode, placeGang } from '@coxswain/fabric';
import { aFabricNode } from '@coxswain/fabric/testing';
import { worldSize } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import fc from 'fast-check';
import { type JobPlanAnswer, jobPlanning } from './job-plan-question.ts';
import type { MeasuredGpus } from './measured-gpus.ts';
import { planJob } from './plan-job.ts';

const nodesOf = (count: number, overrides: Partial<FabricNode> = {}): readonly FabricNode[] =>
  Array.from({ length: count }, (_, index) =>
    aFabricNode({ name: `node-${index}`, gpus: 2, gpuType: 'h100', nvlinkDomain: 'd1', ...overrides }),
  );

/** What the planner answers on two nodes with two H100 each, unless told otherwise. */
function planned(
  spec: TrainingJobSpec,
  {
    nodes = nodesOf(2),
    isBounded = false,
    measured = {},
  }: { readonly nodes?: readonly FabricNode[]; readonly isBounded?: boolean; readonly measured?: MeasuredGpus } = {},
): JobPlanAnswer | undefined {
  const planning = jobPlanning(spec, { fabric: { nodes } }, measured);
  if (planning === undefined || planning.kind === 'answer') return planning?.answer;
  return planJob(planning.question, { isBounded });
}

describe('a layout that is chosen', () => {
  it('is predicted by what was measured of the GPUs, and says so', () => {
    const profile = { name: 'hall 2', factors: [{ constant: 'step', factor: 2 }] };
    const [usual, here] = [{}, { 'h100-sxm5-80gb': profile }].map((measured) =>
      planned(aPlannedJobSpec(), { measured }),
    );
    expect((here?.predictedStepMs ?? 0) / (usual?.predictedStepMs ?? 1)).toBeCloseTo(2, 1);
    expect(here?.fabric).toBe(`${usual?.fabric}; as measured on hall 2`);
  });

  it('is on as many GPUs as are asked for, with its prediction and the runners-up', () => {
    const answer = planned(aPlannedJobSpec());
    expect(answer).toMatchObject({ chosenBy: 'Planner', gpus: 4, gpuType: 'h100-sxm5-80gb', verdict: 'fits' });
    expect(worldSize(answer?.layout ?? aLayout())).toBe(4);
    expect(answer?.predictedStepMs).toBeGreaterThan(0);
    expect(answer?.predictedPeakBytes).toBeGreaterThan(0);
    expect(answer?.errorStatement).toMatch(/\.$/);
    const shown = (answer?.runnersUp ?? []).map(({ layout, microBatchSize }) => `${layout}/${microBatchSize}`);
    expect(shown.length).toBeGreaterThan(0);
    expect(new Set(shown).size).toBe(shown.length);
  });

  it('is the same however often it is asked for', () => {
    expect(planned(aPlannedJobSpec())).toEqual(planned(aPlannedJobSpec()));
  });

  it('has stages of equal size for an engine that knows no others, however much better others are', () => {
    const model = { layers: 126, hiddenSize: 4096, attentionHeads: 32, sequenceLength: 4096 };
    const spec = aPlannedJobSpec({ gpus: 2048, model, training: { steps: 1, globalBatchSize: 2048 } });
    const answer = planned(spec, { nodes: nodesOf(256, { gpus: 8 }) });
    expect(126 % (answer?.layout?.pipelineParallelDegree ?? 0)).toBe(0);
  });

  it('keeps the micro-batch that the user gave, in a bounded search as well', () => {
    const spec = aPlannedJobSpec({ training: { steps: 10, globalBatchSize: 8, microBatchSize: 2 } });
    expect(planned(spec)?.microBatchSize).toBe(2);
    expect(planned(spec, { isBounded: true })?.microBatchSize).toBe(2);
  });

  it('has one sample per pass where the search is bounded, however many ways there are to divide', () => {
    const model = { layers: 60, hiddenSize: 120, attentionHeads: 120, sequenceLength: 128 };
    const spec = aPlannedJobSpec({ gpus: 240, model, training: { steps: 1, globalBatchSize: 15_120 } });
    expect(planned(spec, { isBounded: true })).toMatchObject({ gpus: 240, microBatchSize: 1 });
  });
});

describe('the sizes of a job that may run on fewer GPUs', () => {
  const sizes = (spec: Parameters<typeof aPlannedJobSpec>[0], options?: Parameters<typeof planned>[1]): unknown =>
    planned(aPlannedJobSpec({ gpus: 4, ...spec }), options)?.sizes?.map(({ gpus, layout }) => [gpus, layout]);

  it.each<[string, Parameters<typeof sizes>, unknown]>([
    [
      'are those with a layout, most first',
      [{ minGpus: 1 }],
      [
        [4, 'dp4'],
        [2, 'dp2'],
        [1, '1 rank'],
      ],
    ],
    [
      'are no smaller than minGpus',
      [{ minGpus: 2 }],
      [
        [4, 'dp4'],
        [2, 'dp2'],
      ],
    ],
    ['are none of a job without minGpus', [{}], undefined],
    ['are left out of a search that was over its budget', [{ minGpus: 1 }, { isBounded: true }], undefined],
  ])('%s', (_what, about, expected) => {
    expect(sizes(...about)).toEqual(expected);
  });

  it('have the time that the planner predicts for that size alone', () => {
    const [, two] = planned(aPlannedJobSpec({ gpus: 4, minGpus: 2 }))?.sizes ?? [];
    expect(two?.predictedStepMs).toBe(planned(aPlannedJobSpec({ gpus: 2 }))?.predictedStepMs);
  });
});

describe('a layout for islands with GPUs of two types', () => {
  const nodes = [
    ...nodesOf(3, { gpus: 8, gpuType: 'A100', nicType: 'roce', nicSpeedGbps: 200, island: 'slow' }),
    ...nodesOf(5, { gpus: 8, gpuType: 'H100', nicType: 'infiniband', nicSpeedGbps: 400, island: 'fast' }),
  ].map((node, index) => ({ ...node, name: `node-${index}`, nvlinkDomain: `node-${index}` }));
  const specFor = (engine: TrainingJobSpec['engine'], model: TrainingJobSpec['model']): TrainingJobSpec =>
    aPlannedJobSpec({
      gpus: 64,
      engine,
      model,
      training: { steps: 10, globalBatchSize: 64, microBatchSize: 1 },
      resources: { acrossIslands: 'Sockets' },
    });

  it('cuts the stages for the GPUs that they are meant for, says why, and the gang is placed so', () => {
    const spec = specFor({ name: 'megatron-lm', image: 'i' }, { preset: 'llama-3.1-8b', sequenceLength: 8192 });
    const answer = planned(spec, { nodes });
    const { layout, stageGpus = [] } = answer ?? {};
    expect(stageGpus.map(({ gpuType }) => gpuType)).toEqual(['H100', 'A100']);
    const [first, second] = stageGpus.map(({ stages }) => stages);
    expect((first ?? 0) + (second ?? 0)).toBe(layout?.pipelineParallelDegree);
    const chunks = layout?.pipeline?.stages?.map(({ layers }) => layers) ?? [];
    const onFast = chunks.filter((_, stage) => stage % (layout?.pipelineParallelDegree ?? 1) < (first ?? 0));
    expect(sum(onFast) / (first ?? 1)).toBeGreaterThan((32 - sum(onFast)) / (second ?? 1));
    expect(answer?.whyStages).toMatch(/GPUs of island 2 are 0\.\d\d times as fast .* even stages would take/);
    expect(answer?.fabric).toMatch(/over TCP sockets, 40 h100-sxm5-80gb .* and 24 a100-sxm4-80gb/);
    const outcome = placeGang(
      { layout: layout ?? aLayout(), stageGpus, acrossIslands: 'anyGroup' },
      { fabric: { nodes }, usedGpus: new Map() },
    );
    const types = new Map(nodes.map(({ name, gpuType }) => [name, gpuType]));
    expect(outcome.kind === 'placed' ? outcome.nodes.map((name) => types.get(name)) : outcome).toEqual([
      ...Array<string>(5).fill('H100'),
      ...Array<string>(3).fill('A100'),
    ]);
  });

  it('is even for an engine that knows no other, and says what that costs', () => {
    const model = { layers: 32, hiddenSize: 4096, attentionHeads: 32, sequenceLength: 4096 };
    const answer = planned(specFor({ name: 'reference', image: 'i' }, model), { nodes });
    expect(answer?.layout?.pipeline?.stages).toBeUndefined();
    expect(answer?.stageGpus?.map(({ stages }) => stages)).toEqual([5, 3]);
    expect(answer?.whyStages).toMatch(/but the engine or the request does not allow uneven stages/);
  });
});

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

describe('a layout for an engine that is told more than degrees', () => {
  const llama = { preset: 'llama-3.1-8b', sequenceLength: 8192 };
  const mixtral = { preset: 'mixtral-8x22b', sequenceLength: 4096 };
  const qwen3 = { preset: 'qwen3-235b-a22b', sequenceLength: 4096 };
  const specFor = (
    engine: { name: 'megatron-lm' | 'torchtitan' | 'deepspeed' | 'hugging-face'; command?: string[] },
    model: typeof llama,
    gpus: number,
  ): TrainingJobSpec =>
    aPlannedJobSpec({
      engine: { image: 'i', ...engine },
      gpus,
      model,
      training: { steps: 10, globalBatchSize: 64 },
      data: { format: 'mock' },
    });

  it.each<[string, TrainingJobSpec, number]>([
    ['megatron-lm', specFor({ name: 'megatron-lm' }, llama, 16), 16],
    ['megatron-lm with experts', specFor({ name: 'megatron-lm' }, mixtral, 64), 64],
    ['megatron-lm with experts that have no room', specFor({ name: 'megatron-lm' }, qwen3, 128), 128],
    ['torchtitan', specFor({ name: 'torchtitan' }, llama, 16), 16],
    ['deepspeed', specFor({ name: 'deepspeed', command: ['train'] }, llama, 16), 16],
    ['hugging-face', specFor({ name: 'hugging-face', command: ['train'] }, llama, 16), 16],
    ['hugging-face with experts', specFor({ name: 'hugging-face', command: ['train'] }, mixtral, 64), 64],
  ])('is rendered by its adapter as a whole: %s', (_what, spec, gpus) => {
    const answer = planned(spec, { nodes: nodesOf(gpus / 8, { gpus: 8 }) });
    const chosen = effectiveSpec(spec, { ...(answer as JobPlan), plannedAt: '2026-01-01T00:00:00Z' });
    expect(chosen && engineRefusal(chosen)).toBeUndefined();
    expect(chosen && layoutRefusal(chosen)).toBeUndefined();
    expect(worldSize(chosen?.layout ?? aLayout())).toBe(gpus);
    // More than degrees: how states are shared is a choice that these engines can be told.
    expect(chosen?.layout.states?.zeroStage).toBeGreaterThan(0);
  });

  it('goes into its arguments, and from there to nobody else’s choice', () => {
    const spec = specFor({ name: 'megatron-lm' }, mixtral, 64);
    const answer = planned(spec, { nodes: nodesOf(8, { gpus: 8 }) });
    const chosen = effectiveSpec(spec, { ...(answer as JobPlan), plannedAt: '2026-01-01T00:00:00Z' });
    const rendered = chosen === undefined ? undefined : renderEngine(chosen);
    const argv = rendered?.kind === 'rendered' ? rendered.command.join(' ') : '';
    expect(argv).toContain(`--expert-model-parallel-size ${answer?.layout?.expert?.expertParallelDegree}`);
    expect(argv).toContain('--use-distributed-optimizer');
  });
});

describe('no layout', () => {
  it.each([
    ['none divides the model', aPlannedJobSpec({ gpus: 7 }), nodesOf(2), /^No layout on 7 h100-sxm5-80gb/],
    [
      'the GPUs are too small for the model',
      aPlannedJobSpec({ model: { layers: 128, hiddenSize: 65_536, attentionHeads: 128, sequenceLength: 4096 } }),
      nodesOf(2),
      /GiB more per GPU than there is/,
    ],
  ] as const)('is answered in one sentence, where %s', (_sentence, spec, nodes, want) => {
    const answer = planned(spec, { nodes });
    expect(answer).toMatchObject({ chosenBy: 'Planner', refusal: expect.stringMatching(want) as string });
    expect(answer?.layout).toBeUndefined();
    expect(answer?.refusal).not.toContain('\n');
  });
});

describe('a layout of the user’s own', () => {
  it('is predicted as it stands', () => {
    expect(planned(aJobSpec())).toMatchObject({
      chosenBy: 'User',
      gpus: 4,
      layout: aJobSpec().layout,
      microBatchSize: 1,
      gpuType: 'h100-sxm5-80gb',
    });
  });

  it('is predicted even where it does not fit, and says so', () => {
    const model = { layers: 128, hiddenSize: 65_536, attentionHeads: 128, sequenceLength: 4096 };
    expect(planned(aJobSpec({ model }))).toMatchObject({ chosenBy: 'User', verdict: 'doesNotFit' });
  });
});

describe('whatever a job asks for', () => {
  const size = fc.constantFrom(1, 2, 3, 4, 6, 7, 8, 16, 48, 64, 1000);
  const model = fc
    .record({ layers: size, heads: size, headDim: fc.constantFrom(1, 2, 64, 128), sequenceLength: size })
    .map(({ layers, heads, headDim, sequenceLength }) => ({
      layers,
      attentionHeads: heads,
      hiddenSize: heads * headDim,
      sequenceLength,
    }));
  const training = fc.record({
    steps: size,
    globalBatchSize: size,
    precision: fc.constantFrom('fp32' as const, 'bf16' as const),
  });

  it('it is answered, bounded or not, and a layout is one that its engine and its model allow', () => {
    fc.assert(
      fc.property(model, training, fc.integer({ min: 1, max: 32 }), fc.boolean(), (shape, batch, gpus, isBounded) => {
        const spec = aPlannedJobSpec({ model: shape, training: batch, gpus });
        const { layout, microBatchSize, refusal } = planned(spec, { isBounded }) ?? {};
        expect((layout === undefined) !== (refusal === undefined)).toBe(true);
        if (layout === undefined || spec.training === undefined) return;
        expect(worldSize(layout)).toBe(gpus);
        const { gpus: _asked, ...rest } = spec;
        const effective = { ...rest, layout, training: { ...spec.training, microBatchSize } };
        expect([layoutRefusal(effective), engineRefusal(effective)]).toEqual([undefined, undefined]);
      }),
      { numRuns: 60 },
    );
  });
});
