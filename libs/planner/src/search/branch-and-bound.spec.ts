import { ModelShape } from '@coxswain/layout';
import fc from 'fast-check';
import { OBJECTIVES, type PinnedAxes } from '../contract.ts';
import type { CandidateLayout } from '../facts.ts';
import { gpuOf } from '../presets/index.ts';
import { enumerateLayouts, randomizedModels } from '../testing/search-models.ts';
import { stagePartsOf } from '../stages.ts';
import { BestLayouts, ParetoFront, type MeasuredLayout } from './kept-layouts.ts';
import { searchLayouts, type LayoutSearch } from './branch-and-bound.ts';
import { SimplestLayouts } from './simplest-layouts.ts';
import { newStats } from './search-stats.ts';
import type { SpaceFacts } from '../space/search-space.ts';

const DENSE = ModelShape.parse({
  layers: 4,
  hiddenSize: 64,
  ffnHiddenSize: 256,
  attentionHeads: 4,
  keyValueHeads: 4,
  headDim: 16,
  vocabularySize: 128,
  gatedMlp: true,
});
const MOE = ModelShape.parse({ ...DENSE, experts: { count: 4, topK: 2, ffnHiddenSize: 64 } });

const spaces = fc.record({
  model: fc.constantFrom(DENSE, MOE),
  gpus: fc.constantFrom(1, 2, 4, 6, 8),
  globalBatchSize: fc.constantFrom(4, 6, 8),
  gpusPerNode: fc.constantFrom(2, 8),
  flashAttention: fc.boolean(),
  // Each choice is searched or pinned, so that the spaces stay small enough for plain enumeration.
  pinned: fc.constantFrom<PinnedAxes>(
    { context: 1, rankOrder: 'tp-cp-dp-pp', partition: 'balanced' },
    { tensor: 2, recompute: 'half', microBatchSize: 1 },
    { tensor: 2, recompute: 'operations', microBatchSize: 1 },
    { zeroStage: 1, recompute: 'none', rankOrder: 'tp-cp-dp-pp' },
    { schedule: 'interleaved-1f1b', offloadOptimizer: 0, context: 1, expertTensor: 1 },
    { pipeline: 2, microBatchSize: 2, zeroStage: 3 },
  ),
});

const spaceOf = (from: typeof spaces extends fc.Arbitrary<infer T> ? T : never): SpaceFacts => ({
  model: from.model,
  cluster: {
    gpu: gpuOf('h100'),
    gpus: from.gpus,
    gpusPerNode: from.gpusPerNode,
    scaleUpDomainGpus: from.gpusPerNode,
    scaleOutGbPerS: 50,
    nicKind: 'infiniband',
  },
  globalBatchSize: from.globalBatchSize,
  sequenceLength: 8192,
  flashAttention: from.flashAttention,
  pinned: from.pinned,
  allow: { schedules: ['1f1b', 'interleaved-1f1b', 'zbv'] },
});

const questions = fc.record({
  from: spaces,
  seed: fc.nat(1_000_000),
  objective: fc.constantFrom(...OBJECTIVES),
  top: fc.integer({ min: 1, max: 12 }),
  peakBytes: fc.constantFrom(20, 35, Infinity),
  stepTimeS: fc.constantFrom(30, Infinity),
  slowdown: fc.constantFrom(1, 1.03, 1.2),
});

function answerOf(
  space: SpaceFacts,
  asked: Omit<Parameters<typeof check>[0], 'from'>,
  wanted?: LayoutSearch['wanted'],
) {
  const models = randomizedModels(space, asked.seed);
  const best = new BestLayouts(asked.objective, asked.top);
  const front = new ParetoFront();
  const stats = newStats();
  const limits = { peakBytes: asked.peakBytes, stepTimeS: asked.stepTimeS };
  const simplest = new SimplestLayouts(asked.slowdown);
  const smallestFirst = asked.objective === 'memory';
  searchLayouts({ space, models, limits, best, front, simplest, stats, smallestFirst, wanted });
  return { models, limits, best: best.layouts, front: front.layouts, simplest: simplest.simplest, stats };
}

function check(asked: typeof questions extends fc.Arbitrary<infer T> ? T : never): void {
  const space = spaceOf(asked.from);
  const found = answerOf(space, asked);
  const plain = enumerateLayouts(space, found.models, { ...asked, limits: found.limits });
  expect(found.best).toEqual(plain.best);
  expect(found.front).toEqual(plain.front);
  expect(found.simplest).toEqual(plain.simplest);
  const { stats } = found;
  const ruledOut = [...stats.ruledOut.values()].reduce((sum, rule) => sum + rule.count, 0);
  expect(stats.enumerated).toBe(plain.all);
  expect(ruledOut + stats.bounded + stats.repeated + stats.timed).toBe(plain.all);
  expect(stats.timed).toBeLessThanOrEqual(plain.possible);
}

/** Told from the layout alone: what each degree divides is divided without a rest, and no stage differs from another. */
function isEven({ model, globalBatchSize }: SpaceFacts, candidate: CandidateLayout): boolean {
  return (
    model.attentionHeads % candidate.tensor === 0 &&
    globalBatchSize % candidate.data === 0 &&
    model.layers % (candidate.pipeline * candidate.chunks) === 0 &&
    new Set(stagePartsOf(model, candidate).map(({ layers }) => layers)).size === 1
  );
}

describe('the search', () => {
  it('finds the same best layouts, the same Pareto front and the same simplest layout as plain enumeration, for every objective and limit', () => {
    fc.assert(fc.property(questions, check), { numRuns: 25 });
  });

  it('finds the same best layouts where nothing else is wanted or only the simplest besides, and measures no more for them', () => {
    fc.assert(
      fc.property(questions, (asked) => {
        const space = spaceOf(asked.from);
        const [all, best] = [answerOf(space, asked), answerOf(space, asked, 'best')];
        expect(best.best).toEqual(all.best);
        expect(best.stats.timed).toBeLessThanOrEqual(all.stats.timed);
        const withoutFront = answerOf(space, asked, 'simplest');
        expect(withoutFront.best).toEqual(all.best);
        expect(withoutFront.simplest).toEqual(all.simplest);
        expect(withoutFront.stats.timed).toBeLessThanOrEqual(all.stats.timed);
      }),
      { numRuns: 25 },
    );
  });

  it('finds a layout where only any is wanted, whenever there is one', () => {
    fc.assert(
      fc.property(questions, (asked) => {
        const space = spaceOf(asked.from);
        const [all, any] = [answerOf(space, asked), answerOf(space, asked, 'any')];
        expect(any.best.length > 0).toBe(all.best.length > 0);
      }),
      { numRuns: 25 },
    );
  });

  it('finds of even divisions only what plain enumeration of all divisions finds among the even ones', () => {
    fc.assert(
      fc.property(questions, (asked) => {
        const whole = { ...spaceOf(asked.from), model: { ...asked.from.model, layers: 6, attentionHeads: 6 } };
        const even = answerOf({ ...whole, allow: { ...whole.allow, evenOnly: true } }, asked);
        const isWanted = (candidate: CandidateLayout): boolean => isEven(whole, candidate);
        const plain = enumerateLayouts(whole, even.models, { ...asked, limits: even.limits, isWanted });
        // Layouts are numbered by the space they stand in; their sequence is the same.
        const unnumbered = (layouts: readonly MeasuredLayout[]) => layouts.map(({ order: _, ...layout }) => layout);
        expect(unnumbered(even.best)).toEqual(unnumbered(plain.best));
        expect(unnumbered(even.front)).toEqual(unnumbered(plain.front));
      }),
      { numRuns: 25 },
    );
  });

  it('measures fewer layouts than there are', () => {
    const space = spaceOf({
      model: DENSE,
      gpus: 8,
      globalBatchSize: 8,
      gpusPerNode: 8,
      flashAttention: true,
      pinned: {},
    });
    const anything = { peakBytes: Infinity, stepTimeS: Infinity, slowdown: 1.03 } as const;
    const { stats } = answerOf(space, { seed: 1, objective: 'time', top: 1, ...anything });
    expect(stats.bounded).toBeGreaterThan(stats.timed);
  });
});
