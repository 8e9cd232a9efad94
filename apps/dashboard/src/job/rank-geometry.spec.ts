import { aRankPlace } from '@coxswain/api-types/testing';
import {
  cellAt,
  groupRanks,
  layOutIsland,
  paceOf,
  seenRanks,
  slowness,
  type IslandGeometry,
  type SeenRank,
} from './rank-geometry.ts';

const aRank = (given: Partial<SeenRank> = {}): SeenRank => ({ ...aRankPlace(given), switches: [], ...given });
const gang = (ranks: number, ranksPerNode: number, overrides: Partial<SeenRank> = {}): SeenRank[] =>
  Array.from({ length: ranks }, (_, rank) =>
    aRank({ rank, node: `node-${Math.floor(rank / ranksPerNode)}`, ...overrides }),
  );

function layOut(places: readonly SeenRank[], widthPx: number): IslandGeometry {
  const [island] = groupRanks(places);
  if (island === undefined) throw new Error('no ranks, no island');
  return layOutIsland(island, { widthPx, totalRanks: places.length });
}

it('every rank has the switches that are told once of its node', () => {
  const items = [0, 1, 2].map((rank) => aRankPlace({ rank, node: rank < 2 ? 'a' : 'b' }));
  const nodes = [{ name: 'a', nvlinkDomain: null, island: null, nicType: null, switches: ['l', 's'] }];
  expect(seenRanks({ epoch: 1, items, nodes, bytesPerStep: null }).map(({ switches }) => switches)).toEqual([
    ['l', 's'],
    ['l', 's'],
    [],
  ]);
});

describe('the rank map', () => {
  it('groups ranks by island, NVLink domain and node', () => {
    const groups = groupRanks([
      aRank({ rank: 1 }),
      aRank({ rank: 0 }),
      aRank({ rank: 2 }),
      aRank({ rank: 4, island: 'roce-0', nvlinkDomain: 'nvl-b', nicType: 'roce' }),
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

  it('stands below the leaf switches that its nodes are below, each with its spine', () => {
    const places = gang(8, 2).map((place, rank) => ({
      ...place,
      nvlinkDomain: null,
      switches: [`tier-1=s0/tier-0=l${rank < 4 ? 1 : 2}`, 'tier-1=s0'],
    }));
    const { labels, boxes } = layOut(places, 900);
    const leaves = labels.filter(({ kind }) => kind === 'leaf');
    expect(leaves.map(({ text }) => text)).toEqual(['s0 › l1', 's0 › l2']);
    const [first, second] = [boxes.slice(0, 2), boxes.slice(2)];
    expect([first, second].map((line) => line.map(({ y }) => y === line[0]?.y))).toEqual([
      [true, true],
      [true, true],
    ]);
    expect(second[0]).toMatchObject({ x: 0 });
    expect(leaves[1]?.y).toBeGreaterThan(Math.max(...first.map(({ y, heightPx }) => y + heightPx)));
  });

  it('has two lines for two leaves that are called alike, and none for a switch that no label names', () => {
    const places = gang(8, 2).map((place, rank) => {
      const spine = `core=c${rank >> 2}/tier-1=s`;
      return { ...place, nvlinkDomain: `clique=u.${place.node}`, switches: [`${spine}/tier-0=l`, spine] };
    });
    const { labels } = layOut(places, 900);
    expect(labels.filter(({ kind }) => kind === 'leaf').map(({ text }) => text)).toEqual(['s › l', 's › l']);
    expect(labels.find(({ kind }) => kind === 'domain')?.text).toBe('u.node-0');
    const unnamed = gang(4, 2).map((place) => ({ ...place, switches: [`tier-1=s/?node:${place.node}`, 'tier-1=s'] }));
    expect(
      layOut(unnamed, 900)
        .labels.filter(({ kind }) => kind === 'leaf')
        .map(({ text }) => text),
    ).toEqual(['s']);
  });

  it.each([
    ['a small job', 4, 2, 320],
    ['a rack of 72', 72, 4, 320],
    ['128 nodes', 1024, 8, 900],
    ['16,384 ranks on a phone', 16_384, 8, 320],
  ])(
    'of %s gives every rank a cell of its own, inside a frame and inside the width',
    (_sentence, ranks, perNode, widthPx) => {
      const places = gang(ranks, perNode).map((place) => ({
        ...place,
        nvlinkDomain: `nvl-${Math.floor(place.rank / 72)}`,
      }));
      const geometry = layOut(places, widthPx);
      const { cells, boxes, cellPx } = geometry;
      expect(new Set(cells.map(({ x, y }) => `${x},${y}`)).size).toBe(ranks);
      for (const { x, y } of cells.slice(0, 500)) {
        expect(
          boxes.some(
            (box) =>
              x >= box.x && x + cellPx <= box.x + box.widthPx && y >= box.y && y + cellPx <= box.y + box.heightPx,
          ),
        ).toBe(true);
      }
      expect(Math.max(...cells.map(({ x }) => x + cellPx))).toBeLessThanOrEqual(widthPx);
      expect(Math.max(...cells.map(({ y }) => y + cellPx))).toBeLessThanOrEqual(geometry.heightPx);
    },
  );

  it('finds the rank under every cell’s own corner, and none between them', () => {
    const geometry = layOut(gang(300, 8), 400);
    for (const cell of geometry.cells) expect(cellAt(geometry, cell.x, cell.y)).toBe(cell);
    expect(cellAt(geometry, -1, -1)).toBeUndefined();
  });

  it.each([
    ['a rank at the median is not slow', 100, 0],
    ['half as slow again is half way', 150, 0.5],
    ['twice the median is as slow as it gets', 400, 1],
    ['a rank that is faster is not slow', 50, 0],
    ['an unmeasured rank is unknown', null, null],
  ])('%s', (_sentence, stepTimeMs, want) => {
    expect(slowness(aRank({ stepTimeMs }), paceOf(gang(3, 1)))).toBe(want);
  });

  it('knows the pace of a gang, also when nothing is measured yet', () => {
    const places = [
      ...gang(3, 1),
      aRank({ rank: 3, stepTimeMs: 250, lastStep: 8 }),
      aRank({ rank: 4, stepTimeMs: null, lastStep: null }),
    ];
    const pace = paceOf(places);
    expect([pace.medianStepTimeMs, pace.furthestStep, pace.slowest?.rank]).toEqual([100, 10, 3]);
    expect(paceOf(gang(2, 1, { stepTimeMs: null, lastStep: null }))).toEqual({
      medianStepTimeMs: null,
      furthestStep: null,
      slowest: undefined,
    });
  });
});
