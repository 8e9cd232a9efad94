import { aCandidate } from './testing/candidates.ts';
import { rankOfStage, stagePartsOf } from './stages.ts';

describe('stagePartsOf', () => {
  it.each<[string, number, Parameters<typeof aCandidate>[0], readonly number[]]>([
    ['equal stages where layers divide', 32, { pipeline: 4 }, [8, 8, 8, 8]],
    ['what is left on the last stage', 61, { pipeline: 8 }, [8, 8, 8, 8, 8, 8, 8, 5]],
    [
      'embedding and loss in the place of a layer where that divides',
      126,
      { pipeline: 8 },
      [15, 16, 16, 16, 16, 16, 16, 15],
    ],
    ['and where it is asked for', 30, { pipeline: 4, vocabulary: 'counted-as-layer' }, [7, 8, 8, 7]],
    [
      'one more on the first stages where full ones would leave the last empty',
      9,
      { pipeline: 8 },
      [2, 1, 1, 1, 1, 1, 1, 1],
    ],
    ['chunks are stages', 32, { pipeline: 4, chunks: 2, schedule: 'interleaved-1f1b' }, [4, 4, 4, 4, 4, 4, 4, 4]],
  ])('%s', (_, layers, candidate, expected) => {
    const stages = stagePartsOf({ layers, mtpLayers: 1 }, aCandidate(candidate));
    expect(stages.map((stage) => stage.layers)).toEqual(expected);
    expect(stages.map((stage) => stage.embedding).indexOf(true)).toBe(0);
    expect(stages.at(-1)).toMatchObject({ loss: true, mtpLayers: 1 });
  });

  it('stated stages stay as they are', () => {
    const stages = [{ layers: 5, embedding: true, loss: true, mtpLayers: 0 }];
    expect(stagePartsOf({ layers: 5, mtpLayers: 0 }, aCandidate({ stages }))).toBe(stages);
  });
});

describe('rankOfStage', () => {
  it.each([
    ['interleaved-1f1b', [0, 1, 2, 3, 0, 1, 2, 3]],
    ['zbv', [0, 1, 2, 3, 3, 2, 1, 0]],
    ['dualpipe-v', [0, 1, 2, 3, 3, 2, 1, 0]],
  ] as const)('%s runs its stages on ranks %j', (schedule, ranks) => {
    expect(ranks.map((_, stage) => rankOfStage({ schedule, pipeline: 4 }, stage))).toEqual(ranks);
  });
});
