import { gangShape } from '../traffic/gang-shape.ts';
import { openNodes } from '../capacity/open-nodes.ts';
import { cutsLines, packLines } from './pack-lines.ts';
import { switchTree } from '../units/switch-tree.ts';
import { aFabricCapacity, aFabricNode } from '../testing/index.ts';

const LAYOUT = { tensorParallelDegree: 8, pipelineParallelDegree: 3, dataParallelDegree: 4 };
const SIZE = 4;
const UNITS = 12;
const ORDER = Int32Array.from({ length: UNITS }, (_, unit) => unit);

/** A spine of one leaf for each number of nodes, all of which are taken. */
function treeOf(rooms: readonly number[]) {
  const nodes = rooms.flatMap((room, spine) =>
    Array.from({ length: room }, (_, at) =>
      aFabricNode({ name: `n${spine}-${at}`, switches: [`l${spine}`, `s${spine}`] }),
    ),
  );
  return switchTree(gangShape(LAYOUT, 8), openNodes(aFabricCapacity(nodes)));
}

/** Of each line, on how many spines it lies. */
function piecesOfLines(rooms: readonly number[], fillOrder: 'inOrder' | 'wholeFirst'): readonly number[] {
  const tree = treeOf(rooms);
  const unitsOfBin = Int32Array.from(tree.bins, ({ room }) => room);
  const binOf = packLines({ tree, unitsOfBin, order: ORDER, size: SIZE, fillOrder: fillOrder });
  expect(Map.groupBy(binOf, (bin) => bin).size).toBe(rooms.length);
  return Array.from({ length: UNITS / SIZE }, (_, line) => new Set(binOf.slice(line * SIZE, (line + 1) * SIZE)).size);
}

describe('lines that are packed', () => {
  it.each<[string, readonly number[], readonly number[], readonly number[]]>([
    ['whole lines on each', [4, 4, 4], [1, 1, 1], [1, 1, 1]],
    ['one too many on the first', [5, 4, 3], [1, 2, 2], [1, 1, 2]],
    ['what is left over of several, two and two', [6, 6], [1, 2, 1], [1, 1, 2]],
    ['what fills a line up', [7, 3, 2], [1, 2, 2], [1, 2, 2]],
  ])('lie on as few switches as their numbers allow: %s', (_sentence, rooms, inOrder, wholeFirst) => {
    expect(piecesOfLines(rooms, 'inOrder')).toEqual(inOrder);
    expect(piecesOfLines(rooms, 'wholeFirst')).toEqual(wholeFirst);
  });

  it.each<[readonly number[], boolean]>([
    [[4, 4, 4], false],
    [[8, 4], false],
    [[5, 4, 3], true],
    [[6, 6], true],
  ])('of rooms %j are dealt otherwise where the first switches take no whole lines: %p', (rooms, want) => {
    const tree = treeOf(rooms);
    const unitsOfBin = Int32Array.from(tree.bins, ({ room }) => room);
    expect(cutsLines({ tree, unitsOfBin, size: SIZE })).toBe(want);
  });
});
