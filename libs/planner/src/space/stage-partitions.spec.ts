import fc from 'fast-check';
import type { StagePart } from '../facts.ts';
import type { StageWeights } from './even-out-stages.ts';
import { balancedLayerCounts, StagePartitions } from './stage-partitions.ts';

/** Layers of one second each on GPUs of equal speed, and ends that cost nothing. */
function weights(layers: number, stages: number, overrides: Partial<StageWeights> = {}): StageWeights {
  return {
    layersS: Array.from({ length: layers }, () => 1),
    embeddingS: 0,
    lossS: 0,
    speeds: Array.from({ length: stages }, () => 1),
    ...overrides,
  };
}

/** Seconds of the slowest stage. */
function slowestS({ layersS, embeddingS, lossS, speeds }: StageWeights, counts: readonly number[]): number {
  let layer = 0;
  const stagesS = counts.map((count, stage) => {
    const ends = (stage === 0 ? embeddingS : 0) + (stage === counts.length - 1 ? lossS : 0);
    const workS = layersS.slice(layer, layer + count).reduce((sum, layerS) => sum + layerS, ends);
    layer += count;
    return workS / (speeds[stage] ?? 1);
  });
  return Math.max(...stagesS);
}

/** Every way to cut `layers` into `stages` of at least one. */
function waysToCut(layers: number, stages: number): readonly (readonly number[])[] {
  if (stages === 1) return [[layers]];
  return Array.from({ length: layers - stages + 1 }, (_, more) =>
    waysToCut(layers - more - 1, stages - 1).map((rest) => [more + 1, ...rest]),
  ).flat();
}

const seconds = fc.integer({ min: 1, max: 40 }).map((eighths) => eighths / 8);
const problemsOf = (alike: 'layers' | 'gpus'): fc.Arbitrary<StageWeights> =>
  fc.integer({ min: 1, max: 4 }).chain((stages) => {
    const layers = { minLength: stages, maxLength: 9 };
    const gpus = { minLength: stages, maxLength: stages };
    return fc.record({
      layersS: alike === 'layers' ? fc.array(fc.constant(1), layers) : fc.array(seconds, layers),
      embeddingS: fc.constantFrom(0, 0.25, 3),
      lossS: fc.constantFrom(0, 1.5, 6),
      speeds: alike === 'gpus' ? fc.array(fc.constant(1), gpus) : fc.array(fc.constantFrom(1, 0.5, 2), gpus),
    });
  });
const problems = fc.oneof(problemsOf('layers'), problemsOf('gpus'));

describe('balancedLayerCounts', () => {
  it('is as fast as the best of all cuts, to a thousandth of the longest layer, where layers or GPUs are alike', () => {
    fc.assert(
      fc.property(problems, (problem) => {
        const best = Math.min(
          ...waysToCut(problem.layersS.length, problem.speeds.length).map((counts) => slowestS(problem, counts)),
        );
        const found = slowestS(problem, balancedLayerCounts(problem));
        expect(found).toBeLessThanOrEqual(best + Math.max(...problem.layersS) / 1000);
      }),
    );
  });

  it('leaves no layer out and no stage empty', () => {
    fc.assert(
      fc.property(problems, (problem) => {
        const counts = balancedLayerCounts(problem);
        expect(counts).toHaveLength(problem.speeds.length);
        expect(Math.min(...counts)).toBeGreaterThanOrEqual(1);
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(problem.layersS.length);
      }),
    );
  });

  it.each<[string, StageWeights, readonly number[]]>([
    ['equal layers that divide are cut equally', weights(8, 4), [2, 2, 2, 2]],
    ['what does not divide is taken from the first stage, which holds most in flight', weights(10, 4), [1, 3, 3, 3]],
    ['a loss worth two layers takes their place', weights(10, 4, { lossS: 2 }), [3, 3, 3, 1]],
    ['an embedding worth one layer too', weights(11, 4, { embeddingS: 1 }), [2, 3, 3, 3]],
    ['GPUs of half the speed take half the layers', weights(12, 4, { speeds: [1, 1, 0.5, 0.5] }), [4, 4, 2, 2]],
    [
      'of a slow GPU with one layer the others do not wait long: they share the rest',
      weights(31, 4, { speeds: [1, 1, 1, 0.05] }),
      [10, 10, 10, 1],
    ],
    ['a faster GPU takes more, and the others the same', weights(20, 4, { speeds: [1, 1, 1, 2] }), [4, 4, 4, 8]],
    ['a heavy layer stands alone', weights(0, 3, { layersS: [1, 1, 5, 1, 1] }), [2, 1, 2]],
    ['a loss heavier than all layers leaves its stage one of them', weights(6, 3, { lossS: 100 }), [1, 4, 1]],
    ['one stage takes all', weights(5, 1), [5]],
    ['as many stages as layers take one each, however unequal', weights(0, 3, { layersS: [9, 1, 4] }), [1, 1, 1]],
    ['fewer layers than stages cannot be cut: one each, which the rules refuse', weights(2, 3), [1, 1, 1]],
  ])('%s', (_, problem, counts) => {
    expect(balancedLayerCounts(problem)).toEqual(counts);
  });
});

const parts = (counts: readonly number[]): readonly StagePart[] =>
  counts.map((layers, stage) => ({
    layers,
    embedding: stage === 0,
    loss: stage === counts.length - 1,
    mtpLayers: 0,
  }));

/** Sum of squared seconds of the stages. */
function squaresOf(problem: StageWeights, counts: readonly number[]): number {
  let from = 0;
  return counts.reduce((sum, count, stage) => {
    const ends = (stage === 0 ? problem.embeddingS : 0) + (stage === counts.length - 1 ? problem.lossS : 0);
    const workS = problem.layersS.slice(from, from + count).reduce((all, layerS) => all + layerS, ends);
    from += count;
    return sum + (workS / (problem.speeds[stage] ?? 1)) ** 2;
  }, 0);
}

describe('stages on GPUs of unequal speed', () => {
  it('are the most even of all cuts whose slowest stage is no slower', () => {
    fc.assert(
      fc.property(problemsOf('layers'), (problem) => {
        const counts = balancedLayerCounts(problem);
        const { speeds, layersS } = problem;
        fc.pre(speeds.some((speed) => speed !== speeds[0]));
        const limitS = slowestS(problem, counts) * (1 + 1e-9);
        const best = waysToCut(layersS.length, speeds.length)
          .filter((ways) => slowestS(problem, ways) <= limitS)
          .map((ways) => squaresOf(problem, ways));
        expect(squaresOf(problem, counts)).toBeLessThanOrEqual(Math.min(...best) * (1 + 1e-9));
      }),
    );
  });
});

describe('StagePartitions', () => {
  const never = (): readonly StagePart[] => {
    throw new Error('only a balanced cut asks for balanced stages');
  };
  const layersOf = (partition: ReturnType<StagePartitions['of']>) => partition?.stages?.map((stage) => stage.layers);

  it('says no more than "even" of layers that divide', () => {
    expect(new StagePartitions({ layers: 8, mtpLayers: 0 }).of(4, { chunks: 1, partition: 'even' }, never)).toEqual({
      vocabulary: 'end-stages',
    });
  });

  it('lists the stages of layers that do not divide', () => {
    const partition = new StagePartitions({ layers: 10, mtpLayers: 0 }).of(4, { chunks: 1, partition: 'even' }, never);
    expect([partition?.vocabulary, layersOf(partition)]).toEqual(['end-stages', [2, 3, 3, 2]]);
  });

  it.each<[string, number, number, boolean]>([
    ['lists as many stages as a layout may', 500, 256, true],
    ['has no uneven cut of more', 500, 257, false],
    ['needs no list where the layers divide', 514, 257, true],
  ])('%s', (_, layers, count, isThere) => {
    const partitions = new StagePartitions({ layers, mtpLayers: 0 });
    const counts = Array.from({ length: count }, (_unused, index) => (index === 0 ? layers - count + 1 : 1));
    expect(partitions.of(count, { chunks: 1, partition: 'even' }, never) !== undefined).toBe(isThere);
    expect(partitions.of(count, { chunks: 1, partition: 'balanced' }, () => parts(counts)) !== undefined).toBe(
      isThere && count <= 256,
    );
  });

  it('distributes the layers over every chunk of every rank', () => {
    const partition = new StagePartitions({ layers: 10, mtpLayers: 0 }).of(2, { chunks: 2, partition: 'even' }, never);
    expect(layersOf(partition)).toEqual([2, 3, 3, 2]);
  });

  it.each<[string, number, readonly number[] | undefined]>([
    ['is the even one where the ends make it divide, and counts once', 10, undefined],
    ['takes a layer from both ends where it does not divide', 9, [2, 3, 3, 1]],
    ['takes a layer from both ends where the even one divides', 16, [4, 5, 5, 2]],
  ])('a cut with embedding and loss in the place of a layer each %s', (_, layers, want) => {
    const partition = new StagePartitions({ layers, mtpLayers: 0 }).of(
      4,
      { chunks: 1, partition: 'vocabulary' },
      never,
    );
    expect(layersOf(partition)).toEqual(want);
  });

  it('counts a balanced cut that equals a rule once', () => {
    const partitions = new StagePartitions({ layers: 8, mtpLayers: 0 });
    const balanced = (counts: readonly number[]) =>
      partitions.of(4, { chunks: 1, partition: 'balanced' }, () => parts(counts));
    expect(balanced([2, 2, 2, 2])).toBeUndefined();
    expect(balanced([2, 3, 2, 1])).toEqual({ vocabulary: 'end-stages', stages: parts([2, 3, 2, 1]) });
  });

  it('answers the same stages with the same object, so that models can keep what they know of a cut', () => {
    const partitions = new StagePartitions({ layers: 8, mtpLayers: 0 });
    const stages = parts([3, 2, 2, 1]);
    const of = (pipeline: number, chunks: number) =>
      partitions.of(pipeline, { chunks, partition: 'balanced' }, () => stages);
    expect(of(2, 2)).toBe(of(4, 1));
    expect(of(4, 1)?.stages).toBe(stages);
    const even = () => partitions.of(4, { chunks: 1, partition: 'even' }, never);
    expect(even()).toBe(even());
  });

  it('has one stage without a pipeline, whatever is asked', () => {
    const partitions = new StagePartitions({ layers: 7, mtpLayers: 0 });
    const partition = partitions.of(1, { chunks: 1, partition: 'balanced' }, never);
    expect(partition).toBe(partitions.of(1, { chunks: 1, partition: 'even' }, never));
  });

  it('puts what predicts more tokens on the last stage', () => {
    const partition = new StagePartitions({ layers: 5, mtpLayers: 2 }).of(2, { chunks: 1, partition: 'even' }, never);
    expect(partition?.stages?.map((stage) => stage.mtpLayers)).toEqual([0, 2]);
  });

  it.each<[string, ('even' | 'vocabulary' | 'balanced')[], readonly number[], readonly number[] | undefined]>([
    ['the even one is left out', ['even', 'balanced'], [4, 4, 4, 4], undefined],
    [
      'one as with counted ends is there where these are not searched',
      ['even', 'balanced'],
      [4, 5, 5, 2],
      [4, 5, 5, 2],
    ],
    ['one as with counted ends is left out beside these', ['even', 'vocabulary', 'balanced'], [4, 5, 5, 2], undefined],
  ])('of balanced cuts %s', (_, searched, counts, want) => {
    const partitions = new StagePartitions({ layers: 16, mtpLayers: 0 }, searched);
    expect(layersOf(partitions.of(4, { chunks: 1, partition: 'balanced' }, () => parts(counts)))).toEqual(want);
  });
});
