import fc from 'fast-check';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { coordinatesOfRank, groupsOfAxis, type ParallelLayout, type RankAxis, rankTable, worldSize } from './index.ts';
import { axisOf, denseGrid, expertGrid, groupsOver, indexOnAxis, type RankGrid } from './rank-grid.ts';
import { RANK_AXES } from './parallel-layout.ts';
import { rankOfCoordinates } from './rank-map.ts';
import { aLayout } from './testing/index.ts';

/** What the real generator answered; the file names its commit and says how to read it. */
interface MegatronGroups {
  readonly tokens: { readonly dense: readonly string[]; readonly expert: readonly string[] };
  readonly grids: readonly {
    readonly grid: MegatronGrid;
    readonly dense: Readonly<Record<string, string>>;
    readonly expert: Readonly<Record<string, string>>;
  }[];
  readonly digests: readonly string[];
}
const megatron = JSON.parse(
  readFileSync(join(import.meta.dirname, 'testing/megatron-rank-groups.json'), 'utf8'),
) as MegatronGroups;

const AXIS_OF_TOKEN: Readonly<Record<string, RankAxis>> = {
  tp: 'tensor',
  gtp: 'weightShard',
  gtp_remat: 'weightShard',
  cp: 'context',
  ep: 'expert',
  dp: 'data',
  pp: 'pipeline',
};
const axesOf = (token: string): readonly RankAxis[] =>
  token.split('-').map((part) => AXIS_OF_TOKEN[part] ?? fail(`unknown token ${part}`));
const written = (groups: readonly (readonly number[])[]): string => groups.map((group) => group.join(' ')).join('|');

function fail(message: string): never {
  throw new Error(message);
}

interface MegatronGrid {
  readonly order: string;
  readonly tp: number;
  readonly gtp: number;
  readonly cp: number;
  readonly dp: number;
  readonly pp: number;
  readonly etp: number;
  readonly ep: number;
  readonly egtp: number;
}

function layoutOf(grid: MegatronGrid): ParallelLayout {
  return aLayout({
    tensorParallelDegree: grid.tp,
    weightShardDegree: grid.gtp,
    contextParallelDegree: grid.cp,
    dataParallelDegree: grid.dp,
    pipelineParallelDegree: grid.pp,
    expert: {
      expertParallelDegree: grid.ep,
      expertTensorParallelDegree: grid.etp,
      weightShardDegree: grid.egtp,
    },
    rankOrder: [...axesOf(grid.order)],
  });
}

function gridOfDigest(line: string): MegatronGrid & { readonly digest: string } {
  const [order = '', ...rest] = line.split(' ');
  const digest = rest.pop() ?? '';
  const [tp = 0, gtp = 0, cp = 0, dp = 0, pp = 0, etp = 0, ep = 0, egtp = 0] = rest.map(Number);
  return { order, tp, gtp, cp, dp, pp, etp, ep, egtp, digest };
}

const both = (layout: ParallelLayout): readonly [RankGrid, RankGrid] => [
  denseGrid(layout),
  expertGrid(layout) ?? fail('the layout has no experts'),
];

describe('process groups are those of Megatron-LM’s own generator', () => {
  it.each(megatron.grids)('for $grid', ({ grid, dense, expert }) => {
    const [ourDense, ourExpert] = both(layoutOf(grid));
    for (const [token, groups] of Object.entries(dense)) {
      expect(written(groupsOver(ourDense, axesOf(token)))).toBe(groups);
    }
    for (const [token, groups] of Object.entries(expert)) {
      expect(written(groupsOver(ourExpert, axesOf(token)))).toBe(groups);
    }
  });

  it('for 480 more of up to 1,024 ranks, by digest', () => {
    expect(megatron.digests).toHaveLength(480);
    for (const line of megatron.digests) {
      const grid = gridOfDigest(line);
      const [dense, expert] = both(layoutOf(grid));
      const lines = [
        ...megatron.tokens.dense.map((token) => written(groupsOver(dense, axesOf(token)))),
        ...megatron.tokens.expert.map((token) => written(groupsOver(expert, axesOf(token)))),
      ];
      const digest = createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 16);
      expect({ line, digest }).toEqual({ line, digest: grid.digest });
    }
  });

  it('for 16 ranks as tp2 cp2 dp2 pp2 with 8 ways of experts', () => {
    const [dense, expert] = both(
      aLayout({
        tensorParallelDegree: 2,
        contextParallelDegree: 2,
        dataParallelDegree: 2,
        pipelineParallelDegree: 2,
        expert: { expertParallelDegree: 8, expertTensorParallelDegree: 1 },
      }),
    );
    expect(written(groupsOver(dense, ['tensor']))).toBe('0 1|2 3|4 5|6 7|8 9|10 11|12 13|14 15');
    expect(written(groupsOver(dense, ['context']))).toBe('0 2|1 3|4 6|5 7|8 10|9 11|12 14|13 15');
    expect(written(groupsOver(dense, ['data']))).toBe('0 4|1 5|2 6|3 7|8 12|9 13|10 14|11 15');
    expect(written(groupsOver(dense, ['pipeline']))).toBe('0 8|1 9|2 10|3 11|4 12|5 13|6 14|7 15');
    expect(written(groupsOver(expert, ['expert']))).toBe('0 1 2 3 4 5 6 7|8 9 10 11 12 13 14 15');
  });

  it('for the order of --use-tp-pp-dp-mapping', () => {
    const layout = aLayout({
      tensorParallelDegree: 2,
      pipelineParallelDegree: 2,
      dataParallelDegree: 4,
      rankOrder: ['tensor', 'context', 'expert', 'pipeline', 'data'],
    });
    expect(groupsOfAxis(layout, 'pipeline')[0]).toEqual([0, 2]);
    expect(groupsOfAxis(layout, 'data')[0]).toEqual([0, 4, 8, 12]);
  });
});

describe('process groups are those of TorchTitan’s mesh', () => {
  it('whose axes are pp, dp_replicate, dp_shard, cp, tp and, for experts, pp, dp_replicate, efsdp, ep', () => {
    const degrees = { pp: 2, dpReplicate: 2, dpShard: 2, cp: 2, tp: 2 };
    const [dense, expert] = both(
      aLayout({
        tensorParallelDegree: degrees.tp,
        contextParallelDegree: degrees.cp,
        dataParallelDegree: degrees.dpReplicate * degrees.dpShard,
        dataParallelShardDegree: degrees.dpShard * degrees.cp,
        pipelineParallelDegree: degrees.pp,
        expert: { expertParallelDegree: 4, expertTensorParallelDegree: 1 },
      }),
    );
    const mesh = rowMajor([degrees.pp, degrees.dpReplicate * degrees.dpShard, degrees.cp, degrees.tp]);
    const sparse = rowMajor([degrees.pp, 4, 4]);
    for (let rank = 0; rank < 32; rank++) {
      const axes = (['pipeline', 'data', 'context', 'tensor'] as const).map((axis) =>
        indexOnAxis(axisOf(dense, axis), rank),
      );
      expect(mesh(axes)).toBe(rank);
      const expertAxes = (['pipeline', 'data', 'expert'] as const).map((axis) =>
        indexOnAxis(axisOf(expert, axis), rank),
      );
      expect(sparse(expertAxes)).toBe(rank);
    }
  });
});

/** Rank of an index tuple in a mesh whose last axis is fastest, as `init_device_mesh` counts. */
function rowMajor(shape: readonly number[]): (indices: readonly number[]) => number {
  return (indices) => shape.reduce((rank, size, position) => rank * size + (indices[position] ?? 0), 0);
}

const degreeUpTo = (max: number): fc.Arbitrary<number> => fc.integer({ min: 1, max });
const anyLayout = fc
  .record({
    tensorParallelDegree: degreeUpTo(4),
    weightShardDegree: degreeUpTo(2),
    contextParallelDegree: degreeUpTo(3),
    dataParallelDegree: degreeUpTo(6),
    pipelineParallelDegree: degreeUpTo(4),
    rankOrder: fc.option(fc.shuffledSubarray([...RANK_AXES], { minLength: RANK_AXES.length }), { nil: undefined }),
  })
  .chain((dense) => {
    const stage = worldSize(dense) / dense.pipelineParallelDegree;
    const divisors = Array.from({ length: stage }, (_, i) => i + 1).filter((ways) => stage % ways === 0);
    return fc.constantFrom(...divisors).map((ways): ParallelLayout => ({
      ...dense,
      expert: { expertParallelDegree: ways, expertTensorParallelDegree: 1 },
    }));
  });

describe('on any layout', () => {
  it('every rank is once in the groups of each axis, and every group is as large as its degree', () => {
    fc.assert(
      fc.property(anyLayout, fc.constantFrom(...RANK_AXES), (layout, axis) => {
        for (const grid of both(layout)) {
          const groups = groupsOver(grid, [axis]);
          expect(groups.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: worldSize(layout) }, (_, i) => i));
          expect(new Set(groups.map((group) => group.length))).toEqual(new Set([axisOf(grid, axis).degree]));
        }
      }),
    );
  });

  it('the members of a group differ on its own axes alone', () => {
    fc.assert(
      fc.property(anyLayout, fc.subarray([...RANK_AXES], { minLength: 1 }), (layout, axes) => {
        const grid = denseGrid(layout);
        for (const group of groupsOver(grid, axes)) {
          for (const other of grid.axes.filter(({ axis }) => !axes.includes(axis))) {
            expect(new Set(group.map((rank) => indexOnAxis(other, rank))).size).toBe(1);
          }
        }
      }),
    );
  });

  it('experts are divided over the ranks of one pipeline stage where the pipeline is the outermost axis', () => {
    fc.assert(
      fc.property(anyLayout, ({ rankOrder: _, ...layout }) => {
        const [dense, expert] = both(layout);
        expect(groupsOver(expert, ['pipeline'])).toEqual(groupsOver(dense, ['pipeline']));
        const stages = groupsOver(dense, ['tensor', 'weightShard', 'context', 'data']);
        expect(groupsOver(expert, ['tensor', 'weightShard', 'expert', 'data'])).toEqual(stages);
      }),
    );
  });

  it('coordinates lead back to their rank', () => {
    fc.assert(
      fc.property(anyLayout, (layout) => {
        for (let rank = 0; rank < worldSize(layout); rank++) {
          expect(rankOfCoordinates(layout, coordinatesOfRank(layout, rank))).toBe(rank);
        }
      }),
    );
  });
});

describe('the expert grid', () => {
  it('is none without experts', () => {
    expect(expertGrid(aLayout())).toBeUndefined();
  });

  it('splits experts as the dense layers are split unless told otherwise', () => {
    const grid = expertGrid(
      aLayout({ tensorParallelDegree: 2, dataParallelDegree: 4, expert: { expertParallelDegree: 4 } }),
    );
    expect(grid?.axes.filter(({ degree }) => degree > 1)).toEqual([
      { axis: 'tensor', degree: 2, stride: 1 },
      { axis: 'expert', degree: 4, stride: 2 },
    ]);
  });

  it('cannot be made where its degrees do not divide a stage', () => {
    const layout = aLayout({ dataParallelDegree: 8, expert: { expertParallelDegree: 64 } });
    expect(() => expertGrid(layout)).toThrow(
      'experts are divided over 64 ranks, which does not divide the 8 of a stage',
    );
  });
});

describe('the rank table', () => {
  it('cuts what shares states into shards and replicas, as HSDP does', () => {
    const { dense } = rankTable(
      aLayout({ tensorParallelDegree: 2, dataParallelDegree: 4, dataParallelShardDegree: 2 }),
    );
    expect(written(dense.combinedGroups['stateShard'] ?? [])).toBe('0 2|4 6|1 3|5 7');
    expect(written(dense.combinedGroups['stateReplica'] ?? [])).toBe('0 4|2 6|1 5|3 7');
  });

  it('cuts context groups into all-to-all groups of adjacent ranks and rings across them', () => {
    const { dense } = rankTable(
      aLayout({ contextParallelDegree: 8, sequence: { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 4 } }),
    );
    expect(written(dense.combinedGroups['ulysses'] ?? [])).toBe('0 1 2 3|4 5 6 7');
    expect(written(dense.combinedGroups['ring'] ?? [])).toBe('0 4|1 5|2 6|3 7');
  });

  it('has no groups of what is not asked for', () => {
    const table = rankTable(aLayout({ dataParallelDegree: 2 }));
    expect(Object.keys(table.dense.combinedGroups)).toHaveLength(5);
    expect(table.expert).toBeUndefined();
    expect(table.ranks[1]).toEqual({ rank: 1, dense: { tensor: 0, weightShard: 0, context: 0, data: 1, pipeline: 0 } });
  });
});
