import { aLayout } from '@coxswain/layout/testing';
import { assumedTraffic } from '../traffic/assumed-traffic.ts';
import type { FabricNode } from '../nodes/fabric.ts';
import { gangShape } from '../traffic/gang-shape.ts';
import { placementCost } from './least-crossing.ts';
import { lowerBound } from '../bound/lower-bound.ts';
import { openNodes } from '../capacity/open-nodes.ts';
import { placeGang } from './placement.ts';
import { aFabricCapacity, aFabricNode } from '../testing/index.ts';

const RACKS = 16;
const NODES_OF_RACK = 4;

/** Racks of four nodes of four GPUs, each an NVLink domain below a leaf; four leaves below a spine. */
function racks(first: Partial<FabricNode>): readonly FabricNode[] {
  const labelled = Array.from({ length: RACKS * NODES_OF_RACK }, (_, at) => {
    const rack = Math.floor(at / NODES_OF_RACK);
    const switches = [`l${rack}`, `s${Math.floor(rack / 4)}`, 'c'];
    return aFabricNode({ name: `r${rack}n${at % NODES_OF_RACK}`, gpus: 4, nvlinkDomain: `d${rack}`, switches });
  });
  return labelled.map((node, at) => (at === 0 ? { ...node, ...first } : node));
}

/** About half of the nodes, here and there. */
function busy(nodes: readonly FabricNode[], seed: number): Readonly<Record<string, number>> {
  const taken = nodes.filter((_, at) => at > 0 && ((at * 7 + seed * 13) ^ (at * seed)) % 5 < 2);
  return Object.fromEntries(taken.map(({ name }) => [name, 4]));
}

function costs(nodes: readonly FabricNode[], seed: number): { readonly found: number; readonly bound: number } {
  const layout = aLayout({ tensorParallelDegree: 8, pipelineParallelDegree: 4, dataParallelDegree: 2 });
  const traffic = assumedTraffic(layout);
  const capacity = aFabricCapacity(nodes, busy(racks({}), seed));
  const outcome = placeGang({ layout, gpusPerNode: 4, traffic }, capacity);
  if (outcome.kind !== 'placed') throw new Error(outcome.message);
  const shape = gangShape(layout, 4);
  const bound = lowerBound({ shape, traffic, open: openNodes(capacity), acrossIslands: 'never' });
  return { found: placementCost({ shape, traffic, fabric: capacity.fabric }, outcome.nodes), bound };
}

describe('a node that says little of where it is', () => {
  const changes: readonly [string, Partial<FabricNode>][] = [
    ['its NVLink domain alone', { switches: [], island: 'unlabelled' }],
    ['its domain and its leaf', { switches: ['l0'], island: 'unlabelled' }],
    ['its domain and its island', { switches: [] }],
    ['another spine than its domain', { switches: ['l0', 's3', 'c'] }],
  ];
  it.each(changes.flatMap(([what, first]) => [1, 2, 3].map((seed) => [what, seed, first] as const)))(
    '(%s, load %i) makes no placement dearer than it is without the node',
    (_what, seed, first) => {
      const without = costs(racks(first).slice(1), seed);
      const { found, bound } = costs(racks(first), seed);
      expect(found).toBeLessThanOrEqual(without.found * (1 + 1e-9));
      expect(bound).toBeLessThanOrEqual(found * (1 + 1e-9));
    },
  );
});
