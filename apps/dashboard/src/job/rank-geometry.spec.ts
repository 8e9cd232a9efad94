import type { RankPlace } from '@coxswain/api-types';
import { cellAt, groupRanks, layOutDomain, slowness } from './rank-geometry.ts';

function aPlace(rank: number, overrides: Partial<RankPlace> = {}): RankPlace {
  return {
    rank,
    podIndex: Math.floor(rank / 2),
    pod: `job-e1-${Math.floor(rank / 2)}`,
    node: `node-${Math.floor(rank / 2)}`,
    tensorIndex: rank % 2,
    dataIndex: Math.floor(rank / 2),
    pipelineIndex: 0,
    nvlinkDomain: 'nvl-a',
    island: 'ib-0',
    nicType: 'infiniband',
    lastStep: 10,
    stepTimeMs: 100,
    ...overrides,
  };
}

describe('the rank map', () => {
  it('groups ranks by island, NVLink domain and node', () => {
    const groups = groupRanks([
      aPlace(1),
      aPlace(0),
      aPlace(2),
      aPlace(4, { island: 'roce-0', nvlinkDomain: 'nvl-b', nicType: 'roce' }),
    ]);
    expect(
      groups.map((group) => [
        group.island,
        group.nicType,
        group.domains.map((domain) => domain.nodes.map((node) => node.ranks.map((place) => place.rank))),
      ]),
    ).toEqual([
      ['ib-0', 'infiniband', [[[0, 1], [2]]]],
      ['roce-0', 'roce', [[[4]]]],
    ]);
  });

  it('finds the rank under every cell’s own corner, however many there are', () => {
    const places = Array.from({ length: 300 }, (_, rank) => aPlace(rank));
    const [group] = groupRanks(places);
    const geometry = layOutDomain(group?.domains[0] ?? { domain: '', nodes: [] }, 400, places.length);
    for (const cell of geometry.cells) expect(cellAt(geometry, cell.x, cell.y)?.place.rank).toBe(cell.place.rank);
    expect(geometry.cells).toHaveLength(300);
    expect(cellAt(geometry, -1, -1)).toBeUndefined();
  });

  it.each([
    ['a rank at the median is not slow', 100, 0],
    ['half as slow again is half way', 150, 0.5],
    ['twice the median is as slow as it gets', 400, 1],
    ['an unmeasured rank is unknown', null, null],
  ])('%s', (_sentence, stepTimeMs, want) => {
    expect(slowness([aPlace(0), aPlace(1), aPlace(2)])(aPlace(3, { stepTimeMs }))).toBe(want);
  });
});
