import { modelOf } from '../presets/index.ts';
import { aCandidate } from '../testing/candidates.ts';
import { microBatchesInFlight, pipelineLoadOf } from './pipeline-load.ts';

const MODEL = modelOf('llama-3.1-8b').model;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

describe('microBatchesInFlight', () => {
  const pipeline = 8;

  it.each<[string, Parameters<typeof aCandidate>[0], number, number]>([
    ['1F1B fills the pipeline from the first rank on', { schedule: '1f1b' }, 0, 8],
    ['and its last rank holds one', { schedule: '1f1b' }, 7, 1],
    ['GPipe holds all', { schedule: 'gpipe' }, 7, 64],
    ['ZB-2p holds twice as many', { schedule: 'zb-2p' }, 0, 16],
    ['V-Half half and one', { schedule: 'v-half', chunks: 2 }, 0, 5],
    ['one barrier of a sharded vocabulary delays by one', { vocabulary: 'sharded-over-pp' }, 0, 9],
    ['two delay by two', { vocabulary: 'sharded-over-pp', vocabularyBarriers: 2 }, 0, 10],
    ['interlacing holds half as many again', { vocabulary: 'interlaced' }, 0, 12],
  ])('%s', (_, choices, rank, held) => {
    expect(microBatchesInFlight(aCandidate({ pipeline, ...choices }), rank, 0, 64)).toBe(held);
  });

  it.each([
    [2, 8 * (1 + 7 / 16)],
    [4, 8 * (1 + 7 / 32)],
  ])('interleaving %d chunks holds p (1 + (p - 1) / (p v)) of them on the first rank', (chunks, held) => {
    const candidate = aCandidate({ pipeline, chunks, schedule: 'interleaved-1f1b' });
    const ofChunks = Array.from({ length: chunks }, (_, chunk) => microBatchesInFlight(candidate, 0, chunk, 64));
    expect(sum(ofChunks) / chunks).toBe(held);
    expect([...ofChunks].sort((a, b) => b - a)).toEqual(ofChunks);
  });

  it('no more than there are', () => {
    expect(microBatchesInFlight(aCandidate({ pipeline }), 0, 0, 3)).toBe(3);
  });
});

describe('pipelineLoadOf', () => {
  it('gives every layer to one rank, and both ends of a V to the first', () => {
    const { ranks } = pipelineLoadOf(MODEL, aCandidate({ pipeline: 4, chunks: 2, schedule: 'zbv' }), 16);
    expect(sum(ranks.map((rank) => sum(rank.layers)))).toBe(MODEL.layers);
    expect(ranks.map((rank) => [rank.embedding, rank.loss])).toEqual([
      [true, true],
      [false, false],
      [false, false],
      [false, false],
    ]);
  });

  it('only the first and the last rank of an even 1F1B pipeline can be the worst', () => {
    const { ranks, heaviest } = pipelineLoadOf(MODEL, aCandidate({ pipeline: 8 }), 64);
    expect(heaviest).toEqual([ranks[0], ranks[7]]);
  });

  it('counts the layers that are recomputed in full apart', () => {
    const candidate = aCandidate({ pipeline: 4, recompute: 'full', recomputeLayersPerChunk: 3 });
    const [first] = pipelineLoadOf(MODEL, candidate, 16).ranks;
    expect([first?.inFlightFully, first?.inFlight]).toEqual([[4 * 3], [4 * 5]]);
  });
});
