import { aLayout } from '@coxswain/layout/testing';
import fc from 'fast-check';
import { assumedTraffic } from '../traffic/assumed-traffic.ts';
import { arrangementCost, distancesBetween } from '../units/bin-distances.ts';
import { gangShape } from '../traffic/gang-shape.ts';
import { gangUnits, unitGraph } from '../units/gang-units.ts';
import { placementCost } from '../place/least-crossing.ts';
import { fixedBytes } from '../bound/lower-bound.ts';
import { improved } from './swaps.ts';
import { switchTree } from '../units/switch-tree.ts';
import { aFabricNode } from '../testing/index.ts';
import { unitGrid } from '../units/unit-grid.ts';

const aGang = fc
  .constantFrom(
    { data: 4, pipeline: 3, context: 1 },
    { data: 6, pipeline: 2, context: 1 },
    { data: 3, pipeline: 2, context: 2 },
    { data: 12, pipeline: 1, context: 1 },
  )
  .map(({ data, pipeline, context }) =>
    aLayout({
      tensorParallelDegree: 2,
      dataParallelDegree: data,
      pipelineParallelDegree: pipeline,
      contextParallelDegree: context,
    }),
  );
/** Sixteen nodes of two GPUs, each a domain of its own, below uneven leaves, spines and cores. */
const aFabric = fc.array(fc.nat(5), { minLength: 16, maxLength: 16 }).map((leaves) =>
  leaves.map((leaf, index) =>
    aFabricNode({
      name: `n${index}`,
      gpus: 2,
      switches: [`l${leaf}`, `s${leaf % 3}`, `c${(leaf % 3) % 2}`],
    }),
  ),
);

describe('trading units', () => {
  it('counts at every moment what crossingBytes counts of the same places, beyond what no place changes', () => {
    fc.assert(
      fc.property(aGang, aFabric, fc.nat(3), (layout, nodes, heat) => {
        const shape = gangShape(layout, 2);
        const traffic = assumedTraffic(layout);
        const units = gangUnits(shape, traffic);
        const graph = unitGraph(units);
        const tree = switchTree(
          shape,
          nodes.map((node) => ({ node, free: node.gpus })),
        );
        const places = tree.bins.flatMap(({ index, room }) => Array.from({ length: room }, () => index));
        const binOf = Int32Array.from(places.slice(0, units.count));
        const distances = distancesBetween(tree);
        const start = { binOf, cost: arrangementCost(graph, distances, binOf) };
        const found = improved(
          start,
          { graph, distances },
          {
            operations: 4_000,
            mayTrade: () => true,
            temperature: heat / 3,
            least: 0,
            axes: unitGrid(units).axes.filter(({ degree }) => degree > 1),
          },
        );
        for (const one of [start, found]) {
          const slots = tree.bins.map((bin) => bin.slots.flat());
          const names = [...one.binOf].map((bin) => slots[bin]?.pop() ?? '');
          expect(new Set(names).size).toBe(units.count);
          const whole = placementCost({ shape, traffic, fabric: { nodes } }, names);
          expect(fixedBytes(shape, traffic) + one.cost).toBeCloseTo(whole, -4);
        }
        expect(found.cost).toBeLessThanOrEqual(start.cost);
      }),
      { numRuns: 60 },
    );
  });
});
