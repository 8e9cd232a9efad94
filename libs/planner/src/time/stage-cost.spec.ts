import fc from 'fast-check';
import type { CandidateLayout, StagePart } from '../facts.ts';
import { gpuOf } from '../presets/index.ts';
import { aCluster, aModel, aRun } from '../testing/runs.ts';
import { PARTS, type BlockCost } from './block-cost.ts';
import { TIME_CONSTANT_NAMES, TIME_CONSTANTS, type TimeConstantName, type TimeConstants } from './constants.ts';
import { blockCostsOf, costOfKind, leastExposedS, type BlockCosts, type StageCost } from './stage-cost.ts';
import { stageKindsOf } from './stage-kinds.ts';

const START = Object.fromEntries(TIME_CONSTANT_NAMES.map((name) => [name, TIME_CONSTANTS[name].start])) as Record<
  TimeConstantName,
  number
>;
const NO_LAUNCH: TimeConstants = { ...START, hostPassS: 0 };

/** A block whose passes take the given seconds; where the time goes is not told. */
const block = (forwardS: number, backwardInputS: number, backwardWeightS: number): BlockCost => ({
  forwardS,
  backwardInputS,
  backwardWeightS,
  partsS: new Float64Array(PARTS.length),
});
/** Each block is one power of ten, so that the digits of a sum count the blocks in it. */
const COUNTED: BlockCosts = {
  attention: block(1, 1, 1),
  denseMlp: block(10, 10, 10),
  expertMlp: block(100, 100, 100),
  stateSpace: block(1e3, 1e3, 1e3),
  embedding: block(1e4, 1e4, 1e4),
  loss: block(1e5, 1e5, 1e5),
};
const EXPERTS = { count: 4, topK: 2, ffnHiddenSize: 8, sharedFfnHiddenSize: 0, denseLayers: 3, latentSize: 0 };
const HYBRID = {
  layerPattern: 'M-*EM-*E',
  experts: EXPERTS,
  stateSpace: { stateSize: 4, heads: 4, headDim: 8, groups: 2, convKernel: 4 },
};

interface Asked {
  readonly model?: Parameters<typeof aModel>[0];
  readonly candidate?: Partial<CandidateLayout>;
  readonly constants?: Partial<TimeConstants>;
  readonly perLayer?: { readonly dense: number; readonly experts: number };
}

/** By virtual stage. */
function stageCosts({
  model = {},
  candidate = {},
  constants = {},
  perLayer = { dense: 0, experts: 0 },
}: Asked): readonly StageCost[] {
  const gpu = { ...gpuOf('h100'), scaleUpGbPerS: 1, pcieGbPerS: 1 };
  const run = aRun({ model: aModel(model), candidate, cluster: aCluster(8, { gpu }) });
  const { kinds, kindOfStage } = stageKindsOf(run.model, run.candidate);
  const inputs = {
    run,
    costs: COUNTED,
    constants: { ...NO_LAUNCH, ...constants },
    perLayer: [perLayer, perLayer],
    hasParts: true,
  };
  const costs = kinds.map((kind) => costOfKind(inputs, kind));
  return kindOfStage.flatMap((kind) => costs[kind] ?? []);
}

describe('the blocks of a stage', () => {
  it.each<[string, Asked, readonly number[]]>([
    [
      'are attention and MLP of each layer, with the embedding first and the loss last',
      { candidate: { pipeline: 4 } },
      [10_022, 22, 22, 100_022],
    ],
    ['are all on one rank without a pipeline', {}, [110_088]],
    [
      'are experts after the leading dense layers',
      { model: { experts: EXPERTS }, candidate: { pipeline: 2 } },
      [10_134, 100_404],
    ],
    ['are one per layer of a pattern', { model: HYBRID, candidate: { pipeline: 2 } }, [11_111, 101_111]],
    [
      'are a layer and a loss more for each prediction of a further token',
      { model: { mtpLayers: 2 }, candidate: { pipeline: 4 } },
      [10_022, 22, 22, 300_044],
    ],
    [
      'repeat experts there where the model has them',
      { model: { mtpLayers: 1, experts: EXPERTS }, candidate: { pipeline: 2 } },
      [10_134, 200_505],
    ],
    [
      'are fewer on the ends where embedding and loss count as layers',
      { model: { layers: 6 }, candidate: { pipeline: 4, vocabulary: 'counted-as-layer' } },
      [10_011, 22, 22, 100_011],
    ],
    [
      'are listed by the layout',
      {
        candidate: {
          pipeline: 2,
          stages: [
            { layers: 7, embedding: true, loss: false, mtpLayers: 0 },
            { layers: 1, embedding: false, loss: true, mtpLayers: 0 },
          ],
        },
      },
      [10_077, 100_011],
    ],
    [
      'have a share of the vocabulary on every rank where it is sharded, half of it per chunk',
      { candidate: { pipeline: 2, chunks: 2, vocabulary: 'sharded-over-pp' }, constants: { vocabularyBarrierS: 0 } },
      [55_022, 55_022, 55_022, 55_022],
    ],
  ])('%s', (_sentence, asked, want) => {
    expect(stageCosts(asked).map(({ forwardS }) => forwardS)).toEqual(want);
  });

  it('launch a pass forward and backward', () => {
    const [stage] = stageCosts({ constants: { hostPassS: 0.25 } });
    expect([stage?.forwardS, stage?.backwardInputS, stage?.backwardWeightS]).toEqual([110_088.25, 110_088.25, 110_088]);
    expect(stage?.partsS[PARTS.indexOf('launch')]).toBe(2 * 0.25);
  });

  it('wait for each synchronisation of a sharded vocabulary, half of them in each direction', () => {
    const candidate = { pipeline: 2, vocabulary: 'sharded-over-pp', vocabularyBarriers: 2 } as const;
    const constants = { vocabularyBarrierS: 0.5 };
    const [stage] = stageCosts({ candidate, constants });
    expect([stage?.forwardS, stage?.backwardInputS]).toEqual([110_044 + 0.5, 110_044 + 0.5]);
  });

  it('take together what the model takes, however the layers are cut', () => {
    const cuts = fc.tuple(fc.nat(8), fc.nat(8), fc.nat(8)).map((ends) => [...ends].sort((a, b) => a - b));
    fc.assert(
      fc.property(cuts, fc.constantFrom({ experts: EXPERTS }, HYBRID), ([a = 0, b = 0, c = 0], model) => {
        const [whole] = stageCosts({ model });
        const stages = [a, b - a, c - b, 8 - c].map((layers, stage): StagePart => ({
          layers,
          embedding: stage === 0,
          loss: stage === 3,
          mtpLayers: 0,
        }));
        const cut = stageCosts({ model, candidate: { pipeline: 4, stages } });
        expect(cut.reduce((sum, { forwardS }) => sum + forwardS, 0)).toBe(whole?.forwardS);
      }),
    );
  });
});

describe('the parameters of a stage', () => {
  it('are those of its layers, of the embedding on the first and of the head on the last', () => {
    const held = stageCosts({ candidate: { pipeline: 2, tensor: 2 }, perLayer: { dense: 100, experts: 7 } });
    expect(held.map(({ dense, experts }) => [dense, experts])).toEqual([
      [4 * 100 + (64 * 16) / 2, 4 * 7],
      [4 * 100 + (64 * 16) / 2, 4 * 7],
    ]);
  });

  it('are no head where it is tied to the embedding', () => {
    const [, last] = stageCosts({ model: { tiedEmbeddings: true }, candidate: { pipeline: 2 } });
    expect(last?.dense).toBe(0);
  });
});

describe('transfers beside the passes of a stage', () => {
  const offloaded = (candidate: Partial<CandidateLayout>) =>
    stageCosts({ candidate, constants: { offloadExposed: 0.5 } }).map(({ offloadS }) => offloadS);

  it('offload what the memory model says that layers keep, half of which passes cannot hide', () => {
    const perToken = 2 * 16 * (2 + 2) + 2 * 2 * (4 + 2) * 4 + 4 * 4 + 32 * (2 * 2 + 2);
    const movedS = (8 * 8 * perToken) / 1e9;
    expect(offloaded({ offloadActivations: 1 })[0]).toBeCloseTo(0.5 * movedS, 12);
    expect(offloaded({ offloadActivations: 0.5 })[0]).toBeCloseTo(0.25 * movedS, 12);
    expect(offloaded({})).toEqual([0]);
  });

  it('offload all of the layers that are not among those computed again', () => {
    const [none = 0] = offloaded({ offloadActivations: 1 });
    const [all = 0] = offloaded({ offloadActivations: 1, recompute: 'full' });
    const block = { offloadActivations: 1, recompute: 'full', recomputeLayersPerChunk: 2 } as const;
    expect(offloaded(block)[0]).toBeCloseTo((2 * all + 6 * none) / 8, 12);
  });

  it('offload every copy of a token that goes to an expert', () => {
    const dense = offloaded({ offloadActivations: 1 })[0] ?? 0;
    const experts = { count: 4, topK: 4, ffnHiddenSize: 32, sharedFfnHiddenSize: 0, denseLayers: 0, latentSize: 0 };
    const [routed] = stageCosts({
      model: { experts },
      candidate: { offloadActivations: 1 },
      constants: { offloadExposed: 0.5 },
    });
    expect(routed?.offloadS ?? 0).toBeGreaterThan(2 * dense);
  });

  it('move the weights of offloaded layers: 12 h^2 of 2 bytes each', () => {
    expect(offloaded({ offloadWeights: 1 })[0]).toBeCloseTo((0.5 * 8 * 12 * 16 * 16 * 2) / 1e9, 12);
  });

  it('gather fully sharded weights in each direction and reduce gradients: they take that long where passes are shorter', () => {
    const constants = { interference: 0, scaleUpSlowdown: 1, collectiveLatencyS: 0 };
    const perLayer = { dense: 1e15, experts: 0 };
    const [stage] = stageCosts({ candidate: { data: 4, zeroStage: 3 }, perLayer, constants });
    // Eight layers at 1 GB/s: three of four parts of weights of 2 bytes, and of gradients of 4 bytes.
    const gatherS = (3 / 4) * 8 * 2 * 1e6;
    const reduceS = (3 / 4) * 8 * 4 * 1e6;
    expect((stage?.forwardS ?? 0) / gatherS).toBeCloseTo(1, 3);
    expect(((stage?.backwardInputS ?? 0) + (stage?.backwardWeightS ?? 0)) / (gatherS + reduceS)).toBeCloseTo(1, 3);
    const shownS = stage?.partsS[PARTS.indexOf('shardTraffic')] ?? 0;
    expect(shownS).toBeCloseTo((stage?.forwardS ?? 0) + (stage?.backwardInputS ?? 0) - 2 * 110_088, 0);
  });

  it('slow computing down by a share of the shorter of the two', () => {
    const asked = { candidate: { data: 4, zeroStage: 3 }, perLayer: { dense: 1e9, experts: 0 } } as const;
    const base = { interference: 0, scaleUpSlowdown: 1, collectiveLatencyS: 0 };
    const [before] = stageCosts({ ...asked, constants: base });
    const [after] = stageCosts({ ...asked, constants: { ...base, interference: 0.5 } });
    expect((after?.forwardS ?? 0) - (before?.forwardS ?? 0)).toBeCloseTo(0.5 * 12, 6);
  });
});

describe('what gathers leave exposed', () => {
  const seconds = fc.double({ min: 0.001, max: 100, noNaN: true });
  const exposedS = (computeS: number, trafficS: number): number => leastExposedS(computeS, trafficS, START);

  it.each<[string, number, number, number]>([
    ['the share that is never hidden, beside computing that is far longer', 1000, 10, 0.15 * 10],
    ['all that computing is too short for', 10, 1000, 1000 - 10],
  ])('is about %s', (_sentence, computeS, trafficS, want) => {
    expect(exposedS(computeS, trafficS) / want).toBeGreaterThan(0.99);
    expect(exposedS(computeS, trafficS) - want).toBeLessThan(0.01 * (computeS + trafficS));
  });

  it('is for several stages together never more than for each of them, which the bounds of a search rely on', () => {
    fc.assert(
      fc.property(seconds, seconds, seconds, seconds, (computeS, trafficS, otherComputeS, otherTrafficS) => {
        const together = exposedS(computeS + otherComputeS, trafficS + otherTrafficS);
        const apart = exposedS(computeS, trafficS) + exposedS(otherComputeS, otherTrafficS);
        expect(together).toBeLessThanOrEqual(apart * (1 + 1e-9));
      }),
    );
  });

  it('grows with traffic and in proportion to both', () => {
    fc.assert(
      fc.property(seconds, seconds, fc.double({ min: 1, max: 9, noNaN: true }), (computeS, trafficS, times) => {
        expect(exposedS(computeS, times * trafficS)).toBeGreaterThanOrEqual(exposedS(computeS, trafficS) * (1 - 1e-9));
        expect(exposedS(times * computeS, times * trafficS) / (times * exposedS(computeS, trafficS))).toBeCloseTo(1, 9);
      }),
    );
  });
});

describe('block costs of a run', () => {
  it.each<[string, Parameters<typeof aModel>[0], readonly (keyof BlockCosts)[]]>([
    ['a dense model has', {}, ['attention', 'denseMlp', 'embedding', 'loss']],
    [
      'a model of experts alone has',
      { experts: { ...EXPERTS, denseLayers: 0 } },
      ['attention', 'expertMlp', 'embedding', 'loss'],
    ],
    [
      'a model with leading dense layers has',
      { experts: EXPERTS },
      ['attention', 'denseMlp', 'expertMlp', 'embedding', 'loss'],
    ],
    [
      'a hybrid has',
      { ...HYBRID, layerPattern: 'M-M-M-M*', experts: undefined },
      ['attention', 'denseMlp', 'stateSpace', 'embedding', 'loss'],
    ],
  ])('name every block that %s, and no other', (_sentence, model, want) => {
    const costs = blockCostsOf(aRun({ model: aModel(model) }), START);
    const names = Object.entries(costs).filter(([, cost]: [string, BlockCost]) => cost.forwardS > 0);
    expect(names.map(([name]) => name)).toEqual(want);
  });
});
