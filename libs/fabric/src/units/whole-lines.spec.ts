import { gangShape } from '../traffic/gang-shape.ts';
import { openNodes } from '../capacity/open-nodes.ts';
import { placeGang } from '../place/placement.ts';
import { switchTree, TREE_LEVELS } from './switch-tree.ts';
import { aFabricCapacity, aFabricNode } from '../testing/index.ts';
import { besideWholeLines } from './whole-lines.ts';

const SPINE = TREE_LEVELS.indexOf('spine');

/** Spines of leaves of six nodes; the last one of each has what is left. */
function nodesBelow(rooms: readonly number[]) {
  return rooms.flatMap((room, spine) =>
    Array.from({ length: room }, (_, at) =>
      aFabricNode({ name: `n${spine}-${at}`, switches: [`l${spine}-${Math.floor(at / 6)}`, `s${spine}`] }),
    ),
  );
}

/** Numbers that are no whole lines and must be allowed, of all spines together. */
function besideOf(rooms: readonly number[], units: number, line: number): readonly number[] | undefined {
  const shape = gangShape({ tensorParallelDegree: 8, pipelineParallelDegree: 1, dataParallelDegree: units }, 8);
  const { root } = switchTree(shape, openNodes(aFabricCapacity(nodesBelow(rooms))));
  const beside = besideWholeLines(root, units, { level: SPINE, units: line });
  return beside && [...beside.values()].flatMap((counts) => [...counts]).sort((one, other) => one - other);
}

describe('spines that take whole lines of units', () => {
  it.each<[string, readonly number[], number, readonly number[] | undefined]>([
    ['need no others where all lines fit', [8, 8], 16, []],
    ['take the last units on the one that has just enough room for them', [8, 8, 6, 4], 20, [4]],
    ['cut a single unit off where a spine has room for all the others', [6, 7, 9], 16, [7, 9]],
    ['take most of a line where no room is left for all of it', [10, 10, 7, 9], 32, [7, 9]],
    ['have no room', [4, 4], 16, undefined],
  ])('%s: %j', (_sentence, rooms, units, want) => {
    expect(besideOf(rooms, units, 8)).toEqual(want);
  });

  it('cut one unit off a stage rather than halve another, where three have room for stages and one for all but a unit', () => {
    const layout = {
      tensorParallelDegree: 8,
      contextParallelDegree: 4,
      pipelineParallelDegree: 4,
      dataParallelDegree: 4,
      rankOrder: ['tensor', 'data', 'context', 'pipeline'] as const,
    };
    const nodes = nodesBelow([24, 24, 15, 18]);
    const placed = placeGang({ layout: { ...layout, rankOrder: [...layout.rankOrder] } }, aFabricCapacity(nodes));
    if (placed.kind !== 'placed') throw new Error(placed.message);
    const spineOf = new Map(nodes.map(({ name, switches }) => [name, switches[1]]));
    const taken = Map.groupBy(placed.nodes, (name) => spineOf.get(name));
    expect([...taken.values()].map(({ length }) => length).sort((one, other) => one - other)).toEqual([15, 16, 16, 17]);
  });
});
