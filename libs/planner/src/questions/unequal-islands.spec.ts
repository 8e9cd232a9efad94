import { ModelShape } from '@coxswain/layout';
import type { Plan, PlanCluster, PlanRequestInput } from '../contract.ts';
import { parsePlanRequest } from '../request/parse-plan-request.ts';
import { plan as answer } from './plan.ts';
import { brokenRulesOf } from './predict.ts';
import { resolveRequest } from '../request/resolved-request.ts';

/** Forty equal layers, and a vocabulary that takes no time. */
const MODEL = ModelShape.parse({
  layers: 40,
  hiddenSize: 4096,
  ffnHiddenSize: 16_384,
  attentionHeads: 32,
  keyValueHeads: 32,
  headDim: 128,
  vocabularySize: 64,
  gatedMlp: false,
});

type Island = NonNullable<PlanCluster['islands']>[number] extends infer One ? Partial<One> & { gpus: number } : never;

const asked = (islands: readonly Island[], over: Partial<PlanRequestInput> = {}): PlanRequestInput => ({
  modelShape: MODEL,
  cluster: {
    gpu: 'h100',
    gpus: 64,
    islands: [...islands],
    stagesInOneIsland: true,
  },
  globalBatchSize: 128,
  sequenceLength: 4096,
  pinned: {
    tensor: 4,
    context: 1,
    microBatchSize: 1,
    zeroStage: 1,
    recompute: 'none',
    offloadOptimizer: 0,
    schedule: '1f1b',
  },
  ...over,
});

/** With a pipeline of eight: stages of eight GPUs. */
const inEight = (islands: readonly Island[], over: Partial<PlanRequestInput> = {}): PlanRequestInput => {
  const request = asked(islands, over);
  return { ...request, pinned: { ...request.pinned, pipeline: 8 } };
};

const best = (request: PlanRequestInput): Plan => {
  const { best: found } = answer(parsePlanRequest(request), { withAdvice: false });
  if (found === undefined) throw new Error('nothing fits');
  return found;
};
const layersOf = ({ layout }: Plan): readonly number[] => {
  const stages = layout.pipelineParallelDegree;
  return layout.pipeline?.stages?.map(({ layers }) => layers) ?? Array.from({ length: stages }, () => 40 / stages);
};

describe('a pipeline over several islands', () => {
  it.each<[string, readonly Island[], Readonly<Record<'stages' | 'layers', readonly number[]>>, RegExp]>([
    [
      'equal islands take equal stages',
      [{ gpus: 32 }, { gpus: 32 }],
      { stages: [4, 4], layers: [5, 5, 5, 5, 5, 5, 5, 5] },
      /^Stages 1 to 4 \(5 layers each\) are in island 1 \(h100-sxm5-80gb, infiniband of 400 Gb\/s\), stages 5 to 8 \(5 layers each\) in island 2 .*: the islands have equal GPUs and networks/,
    ],
    [
      'islands of unequal size take unequal numbers of stages, which stay even',
      [{ gpus: 40 }, { gpus: 24 }],
      { stages: [5, 3], layers: [5, 5, 5, 5, 5, 5, 5, 5] },
      /^Stages 1 to 5 .*, stages 6 to 8 .*: the islands have equal GPUs and networks/,
    ],
    [
      'GPUs that are too few for one more stage stay idle',
      [{ gpus: 44 }, { gpus: 28 }],
      { stages: [5, 3], layers: [5, 5, 5, 5, 5, 5, 5, 5] },
      /^Stages 1 to 5 .*, stages 6 to 8/,
    ],
    [
      'GPUs that were measured to be half as fast take half the layers',
      [{ gpus: 32 }, { gpus: 32, relativeSpeed: 0.5 }],
      { stages: [4, 4], layers: [7, 7, 7, 7, 3, 3, 3, 3] },
      /GPUs of island 2 are 0\.50 times as fast as those of island 1, so even stages would take \d+\.\d+ s per step instead of \d+\.\d+ s\.$/,
    ],
  ])('%s', (_sentence, islands, { stages, layers }, why) => {
    const found = best(inEight(islands));
    expect(found.stagesOfIslands).toEqual(stages);
    expect(found.whyStages).toMatch(why);
    // All are of one type.
    expect(found.stageGpus).toBeUndefined();
    expect(layersOf(found).toSorted()).toEqual(layers.toSorted());
  });

  it('prices each island by its own type of GPU, whose stages get fewer layers', () => {
    const found = best(inEight([{ gpus: 40 }, { gpus: 24, gpu: 'a100', nicKind: 'roce', scaleOutGbPerS: 25 }]));
    const layers = layersOf(found);
    expect(found.stagesOfIslands).toEqual([5, 3]);
    expect(found.stageGpus).toEqual([
      { stages: 5, gpu: 'h100-sxm5-80gb' },
      { stages: 3, gpu: 'a100-sxm4-80gb' },
    ]);
    expect(Math.min(...layers.slice(0, 5))).toBeGreaterThan(Math.max(...layers.slice(5)));
    expect(found.whyStages).toMatch(
      /in island 2 \(a100-sxm4-80gb, roce of 200 Gb\/s\): GPUs of island 2 are 0\.\d\d times/,
    );
  });

  it('counts the gradients that a slow network has to move: its stages get fewer layers', () => {
    const slow = (scaleOutGbPerS: number): Plan => {
      const request = asked([{ gpus: 32 }, { gpus: 32, scaleOutGbPerS }], { globalBatchSize: 32 });
      return best({ ...request, pinned: { ...request.pinned, pipeline: 2 } });
    };
    expect(slow(50).whyStages).toMatch(/equal GPUs and networks/);
    expect(layersOf(slow(50))).toEqual([20, 20]);
    const found = slow(1);
    const [fast = 0, other = 0] = layersOf(found);
    expect(other).toBeLessThan(fast);
    expect(found.whyStages).toMatch(/their networks differ, over which each stage moves the gradients of its layers/);
  });

  it.each([6, 12, 16])('of %i stages does not tell apart what takes as long with even ones', (pipeline) => {
    const gpus = pipeline * 4;
    const request = asked([{ gpus: gpus / 2 }, { gpus: gpus / 2, scaleOutGbPerS: 25 }], { globalBatchSize: 96 });
    const { cluster, pinned } = request;
    const { whyStages } = best({ ...request, cluster: { ...cluster, gpus }, pinned: { ...pinned, pipeline } });
    expect(whyStages).toMatch(/: their networks differ, .*, by so little that even stages would take as long\.$/);
  });

  it('stays even where the engine takes nothing else, and says so with what that costs', () => {
    const found = best(inEight([{ gpus: 32 }, { gpus: 32, relativeSpeed: 0.5 }], { allow: { partitions: ['even'] } }));
    expect(new Set(layersOf(found))).toEqual(new Set([5]));
    expect(found.whyStages).toMatch(
      /0\.50 times as fast as those of island 1, but the engine or the request does not allow uneven stages; with layers balanced by speed, a step would take (\d+\.\d+) s instead of \d+\.\d+ s\.$/,
    );
  });

  it('is no faster on an island that is slower, to half a percent, and much faster than with even stages', () => {
    const stepS = (relativeSpeed: number, partitions?: 'even'[]): number =>
      best(
        inEight([{ gpus: 40 }, { gpus: 24, relativeSpeed }], partitions === undefined ? {} : { allow: { partitions } }),
      ).prediction.stepTimeS;
    const speeds = [0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1, 1.2, 1.5, 2];
    const times = speeds.map((speed) => stepS(speed));
    times.forEach((time, index) => expect(time).toBeLessThanOrEqual((times[index - 1] ?? Infinity) * 1.005));
    expect(times[2]).toBeLessThan(0.75 * stepS(0.5, ['even']));
  });

  it('has no stage in two islands, and says why a pipeline is left out', () => {
    const { plans, ruledOut } = answer(parsePlanRequest(asked([{ gpus: 40 }, { gpus: 24 }])), { withAdvice: false });
    const degrees = plans.map(({ layout }) => layout.pipelineParallelDegree);
    expect(degrees.length).toBeGreaterThan(0);
    expect(degrees.every((degree) => degree % 8 === 0)).toBe(true);
    expect(ruledOut.find(({ rule }) => rule === 'stage-in-one-island')?.example).toMatch(
      /^islands of 40 and 24 GPUs hold \d \+ \d whole stages of \d+ GPUs, but the pipeline has \d; use a pipelineParallelDegree/,
    );
  });

  it('breaks the rule also where somebody names such a layout', () => {
    const { run } = resolveRequest(parsePlanRequest(asked([{ gpus: 40 }, { gpus: 24 }])));
    const layout = (pipelineParallelDegree: number) => ({
      layout: { tensorParallelDegree: 4, pipelineParallelDegree, dataParallelDegree: 16 / pipelineParallelDegree },
      microBatchSize: 1,
    });
    expect(brokenRulesOf(run, layout(8))).toEqual([]);
    expect(brokenRulesOf(run, layout(4)).map(({ rule }) => rule)).toEqual(['stage-in-one-island']);
  });

  it('fits the GPUs of the island that have least memory', () => {
    const { capacityGib } = best(
      inEight([{ gpus: 32 }, { gpus: 32, gpu: 'a100-40gb' }], { globalBatchSize: 16 }),
    ).prediction;
    expect(capacityGib).toBeLessThan(41);
  });

  it.each<[string, Island, string, RegExp]>([
    ['a GPU that nobody knows', { gpus: 24, gpu: 'a10000' }, '/cluster/islands/1/gpu', /a10000/],
    ['a format that its GPUs do not multiply', { gpus: 24, gpu: 'a100' }, '/precision', /A100.* does not support fp8/],
  ])('is refused with %s on one of them', (_sentence, island, pointer, detail) => {
    const request = parsePlanRequest(asked([{ gpus: 40 }, island], { precision: 'fp8' }));
    expect(() => answer(request)).toThrow(
      expect.objectContaining({
        violations: expect.arrayContaining([
          expect.objectContaining({ pointer, detail: expect.stringMatching(detail) as string }),
        ]) as object[],
      }) as Error,
    );
  });
});
