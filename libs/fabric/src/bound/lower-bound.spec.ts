import { type ParallelLayout, worldSize } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import fc from 'fast-check';
import { assumedTraffic } from '../traffic/assumed-traffic.ts';
import { BOUNDARY_WEIGHTS } from '../traffic/boundary-weights.ts';
import type { FabricNode } from '../nodes/fabric.ts';
import { type AcrossIslands, gangShape } from '../traffic/gang-shape.ts';
import { leastCrossing, placementCost } from '../place/least-crossing.ts';
import { bytesBetweenRuns, fixedBytes, lowerBound } from './lower-bound.ts';
import { openNodes } from '../capacity/open-nodes.ts';
import { bestPlacementCost } from '../testing/best-placement.ts';
import { aFabricCapacity, aFabricNode } from '../testing/index.ts';

/** Uneven leaves below uneven spines, nodes of 1 and 2 GPUs, domains of one node or several, up to three tiers. */
const aFabric: fc.Arbitrary<readonly FabricNode[]> = fc
  .record({
    nodes: fc.array(
      fc.record({ gpus: fc.constantFrom(1, 2, 2), leaf: fc.nat(2), domain: fc.nat(1), hasDomain: fc.boolean() }),
      { minLength: 6, maxLength: 8 },
    ),
    depth: fc.nat(3),
    islands: fc.constantFrom(1, 1, 2),
  })
  .map(({ nodes, depth, islands }) =>
    nodes.map(({ gpus, leaf, domain, hasDomain }, index) => {
      const spine = leaf % 2;
      const island = `i${spine % islands}`;
      const switches = [`l${leaf}`, `s${spine}`, 'c'].map((name) => `${island}/${name}`).slice(0, depth);
      const nvlinkDomain = hasDomain ? `d${leaf}-${domain}` : `node:n${index}`;
      return aFabricNode({ name: `n${index}`, gpus, island, switches, nvlinkDomain, nicType: 'roce' });
    }),
  );

const aGang: fc.Arbitrary<{ readonly layout: ParallelLayout; readonly ranksPerPod: number }> = fc
  .constantFrom(
    { tp: 1, cp: 1, dp: 6, pp: 1, ranksPerPod: 1 },
    { tp: 1, cp: 1, dp: 3, pp: 2, ranksPerPod: 1 },
    { tp: 2, cp: 1, dp: 2, pp: 2, ranksPerPod: 1 },
    { tp: 2, cp: 1, dp: 3, pp: 1, ranksPerPod: 1 },
    { tp: 1, cp: 2, dp: 2, pp: 2, ranksPerPod: 1 },
    { tp: 2, cp: 1, dp: 2, pp: 3, ranksPerPod: 2 },
    { tp: 1, cp: 1, dp: 2, pp: 4, ranksPerPod: 1 },
    { tp: 2, cp: 2, dp: 3, pp: 1, ranksPerPod: 2 },
    { tp: 1, cp: 1, dp: 2, pp: 3, ranksPerPod: 2 },
    { tp: 1, cp: 1, dp: 7, pp: 1, ranksPerPod: 2 },
    { tp: 1, cp: 3, dp: 2, pp: 1, ranksPerPod: 1, isDataInside: true },
    { tp: 1, cp: 2, dp: 3, pp: 1, ranksPerPod: 1, isDataInside: true },
  )
  .map(({ tp, cp, dp, pp, ranksPerPod, ...order }) => ({
    ranksPerPod,
    layout: aLayout({
      tensorParallelDegree: tp,
      ...(cp === 1 ? {} : { contextParallelDegree: cp }),
      dataParallelDegree: dp,
      pipelineParallelDegree: pp,
      ...('isDataInside' in order ? { rankOrder: ['tensor', 'data', 'context', 'pipeline'] } : {}),
    }),
  }));
const across = fc.constantFrom<AcrossIslands[]>('never', 'pipeline', 'anyGroup');

describe('the lower bound', () => {
  it('is at most what the best of all placements costs, and the search finds one at most 5 % above that', () => {
    let placed = 0;
    fc.assert(
      fc.property(
        aFabric,
        aGang,
        across,
        fc.array(fc.nat(2), { maxLength: 2 }),
        (nodes, { layout, ranksPerPod }, acrossIslands, use) => {
          const capacity = aFabricCapacity(nodes, Object.fromEntries(use.map((gpus, at) => [`n${at * 3}`, gpus])));
          const open = openNodes(capacity);
          const traffic = assumedTraffic(layout);
          const shape = gangShape(layout, Math.min(ranksPerPod, worldSize(layout)));
          // Several islands only where no single one holds the gang.
          const best = (['never', acrossIslands] as const)
            .map((islands) => bestPlacementCost({ layout, traffic, acrossIslands: islands }, shape.ranksPerPod, open))
            .find((cost) => cost !== undefined);
          const question = { shape, traffic, acrossIslands, open, fabric: capacity.fabric };
          const found = leastCrossing(question);
          expect(found !== undefined).toBe(best !== undefined);
          if (found === undefined || best === undefined) return;
          placed++;
          const cost = placementCost(question, found);
          const byCount = lowerBound({ shape, traffic, acrossIslands, open });
          const bound = lowerBound({ shape, traffic, acrossIslands, open, known: cost });
          expect(byCount).toBeLessThanOrEqual(bound);
          expect(bound).toBeLessThanOrEqual(best * (1 + 1e-9));
          expect(best).toBeLessThanOrEqual(cost * (1 + 1e-9));
          // A ring that leaves a domain and comes back runs another way than the search counts.
          if (layout.rankOrder !== undefined) return;
          const fixed = fixedBytes(shape, traffic);
          expect(cost - fixed).toBeLessThanOrEqual((best - fixed) * 1.05 + 1);
        },
      ),
      { numRuns: 50 },
    );
    expect(placed).toBeGreaterThan(10);
  });

  interface TightCase {
    /** Free nodes below each leaf, spine by spine. */
    readonly rooms: readonly (readonly number[])[];
    readonly layout: Parameters<typeof aLayout>[0];
    /** How far the search may be above the bound, beyond what no place changes. */
    readonly most: number;
  }

  it.each<[sentence: string, fabric: TightCase]>([
    [
      'knows into how few spines rings have to be cut, and how many of their neighbours then share none',
      {
        rooms: [[3], [12], [7], [10], [3]],
        layout: { pipelineParallelDegree: 4, dataParallelDegree: 8 },
        most: 1.08,
      },
    ],
    [
      'is met where one ring of eight has to be cut, and which one is the question',
      {
        rooms: [
          [1, 2, 1, 2, 3, 3, 7],
          [1, 3, 1, 2, 4, 4],
          [5, 3, 1, 9, 1],
          [2, 3, 4, 1, 4, 2, 2, 4],
        ],
        layout: { pipelineParallelDegree: 8, contextParallelDegree: 2, dataParallelDegree: 4 },
        most: 1 + 1e-9,
      },
    ],
  ])('%s', (_sentence, { rooms, layout: degrees, most }) => {
    const places = rooms.flatMap((leaves, spine) =>
      leaves.flatMap((room, leaf) => Array.from({ length: room }, () => [`l${spine}/${leaf}`, `s${spine}`])),
    );
    const nodes = places.map((switches, index) => aFabricNode({ name: `n${index}`, switches }));
    const layout = aLayout({ tensorParallelDegree: 8, ...degrees });
    const shape = gangShape(layout, 8);
    const traffic = assumedTraffic(layout);
    const fabric = { nodes };
    const open = openNodes(aFabricCapacity(nodes));
    const found = leastCrossing({ shape, traffic, acrossIslands: 'never', open, fabric });
    const cost = placementCost({ shape, traffic, fabric }, found ?? []);
    const bound = lowerBound({ shape, traffic, acrossIslands: 'never', open, known: cost });
    // Each node is a domain of its own.
    const still =
      fixedBytes(shape, traffic) + BOUNDARY_WEIGHTS.nvlinkDomain * bytesBetweenRuns(traffic, shape.ranksPerPod);
    expect(bound).toBeLessThanOrEqual(cost);
    expect((cost - still) / (bound - still)).toBeLessThanOrEqual(most);
  });
});
