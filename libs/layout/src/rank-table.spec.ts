import fc from 'fast-check';
import { type ParallelLayout, rankTable, worldSize } from './index.ts';
import { aLayout } from './testing/index.ts';

const written = (groups: readonly (readonly number[])[] | undefined): string | undefined =>
  groups?.map((group) => group.join(' ')).join('|');

const SIXTEEN = aLayout({
  tensorParallelDegree: 2,
  contextParallelDegree: 2,
  dataParallelDegree: 2,
  pipelineParallelDegree: 2,
  expert: { expertParallelDegree: 4, expertTensorParallelDegree: 1 },
});

describe('the rank table of 16 ranks as tp2 cp2 dp2 pp2 with 4 ways of experts', () => {
  const table = rankTable(SIXTEEN);

  it.each([
    ['tensor', '0 1|2 3|4 5|6 7|8 9|10 11|12 13|14 15'],
    ['context', '0 2|1 3|4 6|5 7|8 10|9 11|12 14|13 15'],
    ['data', '0 4|1 5|2 6|3 7|8 12|9 13|10 14|11 15'],
    ['pipeline', '0 8|1 9|2 10|3 11|4 12|5 13|6 14|7 15'],
  ] as const)('has the dense groups of %s: %s', (axis, want) => {
    expect(written(table.dense.groups[axis])).toBe(want);
  });

  it.each([
    ['tensor-context', '0 1 2 3|4 5 6 7|8 9 10 11|12 13 14 15'],
    ['tensor-data', '0 1 4 5|2 3 6 7|8 9 12 13|10 11 14 15'],
    ['context-data', '0 2 4 6|1 3 5 7|8 10 12 14|9 11 13 15'],
    ['tensor-context-data', '0 1 2 3 4 5 6 7|8 9 10 11 12 13 14 15'],
    ['tensor-pipeline', '0 1 8 9|2 3 10 11|4 5 12 13|6 7 14 15'],
  ] as const)('has the combined groups %s: %s', (name, want) => {
    expect(written(table.dense.combinedGroups[name])).toBe(want);
  });

  it.each([
    ['expert', '0 1 2 3|4 5 6 7|8 9 10 11|12 13 14 15'],
    ['data', '0 4|1 5|2 6|3 7|8 12|9 13|10 14|11 15'],
    ['pipeline', '0 8|1 9|2 10|3 11|4 12|5 13|6 14|7 15'],
  ] as const)('has the expert groups of %s: %s', (axis, want) => {
    expect(written(table.expert?.groups[axis])).toBe(want);
  });

  it.each([
    ['tensor-expert', '0 1 2 3|4 5 6 7|8 9 10 11|12 13 14 15'],
    ['tensor-expert-pipeline', '0 1 2 3 8 9 10 11|4 5 6 7 12 13 14 15'],
  ] as const)('has the combined expert groups %s: %s', (name, want) => {
    expect(written(table.expert?.combinedGroups[name])).toBe(want);
  });

  it('says the degrees of both grids', () => {
    expect(table.dense.degrees).toEqual({ tensor: 2, weightShard: 1, context: 2, data: 2, pipeline: 2 });
    expect(table.expert?.degrees).toEqual({ tensor: 1, weightShard: 1, expert: 4, data: 2, pipeline: 2 });
  });

  it('says of rank 13 where it stands on both grids', () => {
    expect(table.ranks[13]).toEqual({
      rank: 13,
      dense: { tensor: 1, weightShard: 0, context: 0, data: 1, pipeline: 1 },
      expert: { tensor: 0, weightShard: 0, expert: 1, data: 1, pipeline: 1 },
    });
  });
});

describe('the order of axes', () => {
  it.each<[string, Partial<ParallelLayout>, string]>([
    ['unless told otherwise', {}, 'tensor weightShard context expert data pipeline'],
    [
      'with the pipeline inside data parallelism',
      { rankOrder: ['tensor', 'context', 'expert', 'pipeline', 'data'] },
      'tensor weightShard context expert pipeline data',
    ],
    [
      'of which only the first is told, with the rest behind it',
      { rankOrder: ['data'] },
      'data tensor weightShard context expert pipeline',
    ],
    [
      'with weight shards where they are told',
      { rankOrder: ['weightShard', 'tensor'] },
      'weightShard tensor context expert data pipeline',
    ],
  ])('%s', (_sentence, layout, want) => {
    expect(rankTable(aLayout(layout)).rankOrder.join(' ')).toBe(want);
  });
});

describe('parts of groups', () => {
  it.each<[string, Partial<ParallelLayout>, string, string]>([
    ['one shard group of all', { dataParallelDegree: 4, dataParallelShardDegree: 4 }, '0 1 2 3', '0|1|2|3'],
    ['shards of one rank, all replicas', { dataParallelDegree: 4, dataParallelShardDegree: 1 }, '0|1|2|3', '0 1 2 3'],
    ['pairs', { dataParallelDegree: 4, dataParallelShardDegree: 2 }, '0 1|2 3', '0 2|1 3'],
    [
      'shards that span context ranks before data ranks',
      { contextParallelDegree: 2, dataParallelDegree: 2, dataParallelShardDegree: 2 },
      '0 1|2 3',
      '0 2|1 3',
    ],
    [
      'shards of each pipeline stage on its own',
      { dataParallelDegree: 2, pipelineParallelDegree: 2, dataParallelShardDegree: 2 },
      '0 1|2 3',
      '0|1|2|3',
    ],
  ])('of states: %s', (_sentence, layout, shards, replicas) => {
    const { combinedGroups } = rankTable(aLayout(layout)).dense;
    expect([written(combinedGroups['stateShard']), written(combinedGroups['stateReplica'])]).toEqual([
      shards,
      replicas,
    ]);
  });

  it.each<[string, ParallelLayout['sequence'], string | undefined]>([
    ['of two ranks', { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 2 }, '0 1|2 3'],
    ['of all ranks', { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 4 }, '0 1 2 3'],
    ['none where no degree is told', { contextAlgorithm: 'ulysses-ring' }, undefined],
    ['none for another algorithm', { contextAlgorithm: 'ring', ulyssesDegree: 2 }, undefined],
    ['none without a plan', undefined, undefined],
  ])('of an all-to-all: %s', (_sentence, sequence, want) => {
    const layout = { ...aLayout({ contextParallelDegree: 4 }), ...(sequence === undefined ? {} : { sequence }) };
    expect(written(rankTable(layout).dense.combinedGroups['ulysses'])).toBe(want);
  });
});

describe('on any layout', () => {
  const upTo = (max: number): fc.Arbitrary<number> => fc.integer({ min: 1, max });
  const anyLayout = fc
    .record({
      tensor: upTo(2),
      context: upTo(2),
      pipeline: upTo(2),
      shard: upTo(3),
      replicas: upTo(3),
      ways: upTo(2),
    })
    .map(({ tensor, context, pipeline, shard, replicas, ways }): ParallelLayout => ({
      tensorParallelDegree: tensor,
      contextParallelDegree: context * ways,
      dataParallelDegree: shard * replicas,
      dataParallelShardDegree: shard * context,
      pipelineParallelDegree: pipeline,
      sequence: { contextAlgorithm: 'ulysses-ring', ulyssesDegree: ways },
      expert: { expertParallelDegree: shard, expertTensorParallelDegree: tensor },
    }));

  it('each kind of group holds every rank once', () => {
    fc.assert(
      fc.property(anyLayout, (layout) => {
        const table = rankTable(layout);
        const every = Array.from({ length: worldSize(layout) }, (_, rank) => rank);
        const kinds = [table.dense, table.expert].flatMap((grid) =>
          grid === undefined ? [] : [...Object.values(grid.groups), ...Object.values(grid.combinedGroups)],
        );
        // Five axes and five combinations, four parts; of experts five axes and two combinations.
        expect(kinds).toHaveLength(21);
        const written = every.join(' ');
        const others = kinds.filter(
          (groups) =>
            groups
              .flat()
              .sort((a, b) => a - b)
              .join(' ') !== written,
        );
        expect(others).toEqual([]);
      }),
    );
  });

  it('a shard group and a replica group have one rank in common at most', () => {
    fc.assert(
      fc.property(anyLayout, (layout) => {
        const { stateShard = [], stateReplica = [] } = rankTable(layout).dense.combinedGroups;
        const pieceOf = new Map(stateShard.flatMap((shard, piece) => shard.map((rank) => [rank, piece] as const)));
        const twice = stateReplica.filter(
          (replica) => new Set(replica.map((rank) => pieceOf.get(rank))).size < replica.length,
        );
        expect(twice).toEqual([]);
      }),
    );
  });

  it('a rank’s place on an axis is its place in its group', () => {
    fc.assert(
      fc.property(anyLayout, fc.constantFrom('tensor', 'context', 'data', 'pipeline'), (layout, axis) => {
        const { dense, ranks } = rankTable(layout);
        const groups = dense.groups[axis] ?? [];
        expect(groups.map((group) => group.map((rank) => ranks[rank]?.dense[axis]))).toEqual(
          groups.map((group) => group.map((_, index) => index)),
        );
      }),
    );
  });
});
