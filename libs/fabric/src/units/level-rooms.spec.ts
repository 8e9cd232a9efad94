import { aLayout } from '@coxswain/layout/testing';
import { joinOperations } from './best-split.ts';
import type { FabricNode } from '../nodes/fabric.ts';
import { gangShape } from '../traffic/gang-shape.ts';
import { levelRooms, mostBesideOthers } from './level-rooms.ts';
import { openNodes } from '../capacity/open-nodes.ts';
import { switchTree, type SwitchTree } from './switch-tree.ts';
import { aFabricCapacity, aFabricNode } from '../testing/index.ts';

const shape = gangShape(aLayout({ tensorParallelDegree: 4, dataParallelDegree: 8 }), 4);

/** Racks of that many nodes, the NVLink domains and leaves alike, `perSpine` below a spine. */
function racks(sizes: readonly number[], perSpine: number, used: Readonly<Record<string, number>> = {}): SwitchTree {
  const nodes = sizes.flatMap((size, rack) =>
    Array.from({ length: size }, (_, tray): FabricNode => {
      const switches = [`l${rack}`, `s${Math.floor(rack / perSpine)}`];
      return aFabricNode({ name: `r${rack}-${tray}`, gpus: 4, nvlinkDomain: `d${rack}`, switches });
    }),
  );
  return switchTree(shape, openNodes(aFabricCapacity(nodes, used)));
}

type Row = readonly [largest: number, switches: number, holdsAll: boolean];

describe('rooms of the levels of a tree', () => {
  it.each<[sentence: string, tree: SwitchTree, rows: readonly Row[], beside: number]>([
    [
      'racks of three below two spines',
      racks([3, 3, 3, 3], 2),
      [
        [3, 4, false],
        [3, 4, false],
        [6, 2, false],
        [12, 1, true],
        [12, 1, true],
      ],
      6,
    ],
    [
      'what is taken is no room',
      racks([3, 3, 3, 3], 2, { 'r0-0': 4, 'r1-0': 4, 'r1-1': 4 }),
      [
        [3, 4, false],
        [3, 4, false],
        [6, 2, false],
        [9, 1, true],
        [9, 1, true],
      ],
      6,
    ],
    [
      'one spine that has all of the room holds all',
      racks([2, 2, 2, 2], 2, { 'r2-0': 4, 'r2-1': 4, 'r3-0': 4, 'r3-1': 4 }),
      [
        [2, 2, false],
        [2, 2, false],
        [4, 1, true],
        [4, 1, true],
        [4, 1, true],
      ],
      2,
    ],
    [
      'nodes with a domain each are in no domain of several',
      racks([1, 1, 1], 3),
      [
        [0, 0, false],
        [1, 3, false],
        [3, 1, true],
        [3, 1, true],
        [3, 1, true],
      ],
      1,
    ],
  ])('%s', (_sentence, tree, rows, beside) => {
    const rooms = levelRooms(tree);
    expect(rooms.map(({ largest, switches, holdsAll }) => [largest, switches, holdsAll])).toEqual(rows);
    expect(mostBesideOthers(rooms, 100)).toBe(beside);
  });
});

describe('a split', () => {
  it('takes the operations of one spine, and of joining all, where spines are alike', () => {
    // Per spine: racks of 0 to 2 units joined to none, then to one rack's.
    const ofSpine = 3 * 1 + 3 * 3;
    const joined = [1, 5, 9].reduce((sum, before) => sum + 5 * before, 0);
    const trunk = 13 + 13;
    // The rack's own bin is joined to nothing before it.
    expect(joinOperations(racks([2, 2, 2, 2, 2, 2], 2), 100)).toBe(3 + ofSpine + joined + trunk);
  });
});
