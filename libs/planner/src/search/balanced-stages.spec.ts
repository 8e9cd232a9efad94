import fc from 'fast-check';
import type { CandidateLayout, RunFacts } from '../facts.ts';
import { stagePartsOf } from '../stages.ts';
import { aCandidate } from '../testing/candidates.ts';
import { aCluster, aModel, aRun } from '../testing/runs.ts';
import { TIME_CONSTANT_NAMES, TIME_CONSTANTS, type TimeConstantName } from '../time/constants.ts';
import { pipelineWorkOf } from '../time/pipeline-work.ts';
import { blockCostsOf } from '../time/stage-cost.ts';
import { BalancedStages } from './balanced-stages.ts';
import { costKeyOf, LayoutCosts } from './layout-costs.ts';
import { runFactsOf, searchedRunOf, type SearchedRun } from './searched-run.ts';

const CONSTANTS = {
  ...(Object.fromEntries(TIME_CONSTANT_NAMES.map((name) => [name, TIME_CONSTANTS[name].start])) as Record<
    TimeConstantName,
    number
  >),
  hostPassS: 0,
};
/** Large enough that a layer takes as long as its matrix products, and a vocabulary that takes as long as some layers. */
const SIZES = {
  hiddenSize: 4096,
  ffnHiddenSize: 14_336,
  attentionHeads: 32,
  keyValueHeads: 8,
  headDim: 128,
  vocabularySize: 128_256,
};
const EXPERTS = { count: 8, topK: 2, ffnHiddenSize: 4096, sharedFfnHiddenSize: 0, denseLayers: 3, latentSize: 0 };

const searched = (over: Parameters<typeof aModel>[0] = {}, cluster = aCluster(16)): SearchedRun =>
  searchedRunOf(aRun({ model: aModel({ ...SIZES, ...over }), sequenceLength: 4096, cluster }), CONSTANTS);
const factsOf = (run: SearchedRun, candidate: CandidateLayout): RunFacts => runFactsOf(run, candidate);
const slowestS = (run: SearchedRun, candidate: CandidateLayout): number => {
  const facts = factsOf(run, candidate);
  return pipelineWorkOf(facts, blockCostsOf(facts, CONSTANTS), CONSTANTS).busyS;
};

const cases = fc
  .record({
    layers: fc.integer({ min: 8, max: 48 }),
    pipeline: fc.constantFrom(2, 3, 4, 8),
    tensor: fc.constantFrom(1, 2, 4),
    mtpLayers: fc.nat(1),
    experts: fc.constantFrom(undefined, EXPERTS),
  })
  .map(({ pipeline, tensor, experts, ...sizes }) => ({
    run: searched({ ...sizes, ...(experts === undefined ? {} : { experts }) }),
    candidate: aCandidate({ pipeline, tensor }),
  }));

describe('balanced stages', () => {
  it('hold every layer once, at least one each, with the ends where they belong', () => {
    fc.assert(
      fc.property(cases, ({ run, candidate }) => {
        const stages = new BalancedStages(run, new LayoutCosts(run)).of(candidate);
        const { layers, mtpLayers } = run.base.model;
        expect(stages.reduce((sum, stage) => sum + stage.layers, 0)).toBe(layers);
        expect(Math.min(...stages.map((stage) => stage.layers))).toBeGreaterThanOrEqual(1);
        expect(stages.map(({ embedding }) => embedding)).toEqual(stages.map((_, stage) => stage === 0));
        expect(stages.map(({ loss }) => loss)).toEqual(stages.map((_, stage) => stage === stages.length - 1));
        expect(stages.map((stage) => stage.mtpLayers)).toEqual(stages.map(({ loss }) => (loss ? mtpLayers : 0)));
      }),
    );
  });

  it('leave the slowest rank no slower than stages as even as possible do', () => {
    fc.assert(
      fc.property(cases, ({ run, candidate }) => {
        const stages = new BalancedStages(run, new LayoutCosts(run)).of(candidate);
        const even = stagePartsOf(run.base.model, candidate);
        // A rule may leave the loss alone on its stage; balanced stages have a layer each.
        fc.pre(even.every(({ layers }) => layers > 0));
        expect(slowestS(run, { ...candidate, stages })).toBeLessThanOrEqual(
          slowestS(run, { ...candidate, stages: even }) * 1.001,
        );
      }),
    );
  });

  it('give the last stage fewer layers, which has the loss', () => {
    const run = searched({ layers: 32 });
    const counts = new BalancedStages(run, new LayoutCosts(run))
      .of(aCandidate({ pipeline: 4 }))
      .map(({ layers }) => layers);
    expect(counts.at(-1)).toBeLessThan(8);
    expect(Math.max(...counts)).toBeGreaterThan(8);
  });

  it('give an island of half the speed about half the layers', () => {
    const island = { gpus: 8, scaleOutGbPerS: 50, nicKind: 'infiniband' } as const;
    const islands = [
      { ...island, relativeSpeed: 1 },
      { ...island, relativeSpeed: 0.5 },
    ];
    const run = searched({ layers: 60, vocabularySize: 8 }, aCluster(16, { islands }));
    const stages = new BalancedStages(run, new LayoutCosts(run)).of(aCandidate({ pipeline: 2, data: 8 }));
    expect(stages.map(({ layers }) => layers)).toEqual([40, 20]);
  });

  it('are one list for the same counts, so that the models keep what they know of it', () => {
    const run = searched({ layers: 32 });
    const balanced = new BalancedStages(run, new LayoutCosts(run));
    const candidate = aCandidate({ pipeline: 4 });
    expect(balanced.of({ ...candidate, data: 4 })).toBe(balanced.of(candidate));
    expect(balanced.of({ ...candidate, pipeline: 8 })).not.toBe(balanced.of(candidate));
  });
});

describe('the cost of a whole model', () => {
  const models = fc.constantFrom(searched({ layers: 12 }), searched({ layers: 12, experts: EXPERTS, mtpLayers: 1 }));
  const points = fc.record({
    tensor: fc.constantFrom(1, 2, 4),
    recompute: fc.constantFrom('none' as const, 'full' as const),
  });

  it('is what one rank takes for all of it, pass by pass', () => {
    fc.assert(
      fc.property(models, points, (run, choices) => {
        const candidate = aCandidate(choices);
        const whole = new LayoutCosts(run).wholeModel(candidate);
        const facts = factsOf(run, candidate);
        const work = pipelineWorkOf(facts, blockCostsOf(facts, CONSTANTS), CONSTANTS);
        expect(whole.totalS / work.busyS).toBeCloseTo(1, 9);
        expect(whole.forwardS / work.windows.forwardS).toBeCloseTo(1, 9);
        expect(whole.backwardS / work.windows.backwardS).toBeCloseTo(1, 9);
        expect(whole.roundTripS).toBeLessThan(whole.totalS);
      }),
      { numRuns: 20 },
    );
  });

  it('is with the cheapest experts no more than with any of them', () => {
    const run = searched({ layers: 12, experts: EXPERTS });
    for (const tensor of [1, 2]) {
      const costs = new LayoutCosts(run);
      const mesh = aCandidate({ tensor, data: 8 });
      const cheapest = costs.withCheapestExperts(mesh);
      const each = [1, 2, 4, 8].flatMap((expert) =>
        [...new Set([1, tensor])].map((expertTensor) => costs.wholeModel({ ...mesh, expert, expertTensor })),
      );
      expect(cheapest.totalS).toBe(Math.min(...each.map(({ totalS }) => totalS)));
      expect(cheapest.roundTripS).toBe(Math.min(...each.map(({ roundTripS }) => roundTripS)));
      expect(cheapest.shortestLayerS).toBe(Math.min(...each.map(({ shortestLayerS }) => shortestLayerS)));
      expect(cheapest.forwardS).toBe(Math.max(...each.map(({ forwardS }) => forwardS)));
    }
  });

  it.each<[string, Partial<CandidateLayout>]>([
    ['replicas', { data: 8, shardGroup: 8 }],
    ['a pipeline', { pipeline: 4, chunks: 2, schedule: 'interleaved-1f1b' }],
    ['sharded states', { zeroStage: 3, zeroImplementation: 'fsdp' }],
    ['offloading', { offloadOptimizer: 1, offloadActivations: 1 }],
    ['a rank order, without context ranks', { rankOrder: 'tp-pp-cp-dp' }],
  ])('does not depend on %s: its key is the same, and so are its blocks', (_sentence, change) => {
    const run = searched({ experts: EXPERTS });
    const [plain, changed] = [aCandidate({ tensor: 2 }), { ...aCandidate({ tensor: 2 }), ...change }];
    expect(costKeyOf(changed)).toBe(costKeyOf(plain));
    expect(blockCostsOf(factsOf(run, changed), CONSTANTS)).toEqual(blockCostsOf(factsOf(run, plain), CONSTANTS));
  });

  it.each<[string, Partial<CandidateLayout>]>([
    ['tensor ranks', { tensor: 4 }],
    ['context ranks', { context: 2 }],
    ['expert ranks', { expert: 4 }],
    ['tensor ranks of experts', { expertTensor: 2 }],
    ['a micro-batch', { microBatchSize: 2 }],
    ['full recomputation', { recompute: 'full' }],
    ['full recomputation of a few layers', { recompute: 'full', recomputeLayersPerChunk: 2 }],
    ['selective recomputation', { recompute: 'selective', recomputeModules: ['layernorm'] }],
  ])('depends on %s: its key differs, and so do its blocks', (_sentence, change) => {
    const run = searched({ experts: EXPERTS });
    const [plain, changed] = [aCandidate({ tensor: 2 }), { ...aCandidate({ tensor: 2 }), ...change }];
    expect(costKeyOf(changed)).not.toBe(costKeyOf(plain));
    expect(blockCostsOf(factsOf(run, changed), CONSTANTS)).not.toEqual(blockCostsOf(factsOf(run, plain), CONSTANTS));
  });
});
