import type { FabricPlace } from '@coxswain/api-types';
import {
  CELL,
  cornerOf,
  type FabricGeometry,
  kept,
  layOutFabric,
  nodeAt,
  wholeView,
  zoomed,
} from './fabric-geometry.ts';
import { nodesOf, treeOf } from './fabric-tree.ts';
import { aClusterFabric, aFabricPlace } from './testing/a-cluster-fabric.ts';

const WINDOW = { width: 1_200, height: 560 };

function drawn(count: number, placeOf: (index: number) => FabricPlace): FabricGeometry {
  const places = Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, placeOf(index)]));
  return layOutFabric(treeOf(nodesOf(aClusterFabric(places))), WINDOW);
}

const inLeaves = (index: number): FabricPlace =>
  aFabricPlace({
    island: `island-${index % 3}`,
    spine: Math.floor(index / 320),
    leaf: Math.floor(index / 16),
    ...(index % 3 === 0 ? { nvlinkDomain: `nvl-${Math.floor(index / 8)}` } : {}),
  });

describe.each<[string, number, (index: number) => FabricPlace]>([
  ['one node', 1, inLeaves],
  ['three islands of small leaves', 600, inLeaves],
  [
    'nodes of which nobody says where they sit',
    500,
    () => ({ island: 'unlabelled', nvlinkDomain: null, switches: [] }),
  ],
  ['10,000 nodes', 10_000, inLeaves],
])('the drawing of %s', (_sentence, count, placeOf) => {
  const geometry = drawn(count, placeOf);
  const corners = geometry.leaves.flatMap((box) =>
    box.leaf.nodes.map((node, index) => ({ node, box, corner: cornerOf(box, box.slots[index] ?? -1) })),
  );

  it('has a cell for each node, inside its leaf’s frame and inside the drawing', () => {
    expect(new Set(corners.map(({ corner }) => `${corner.x},${corner.y}`)).size).toBe(count);
    const outside = corners.filter(
      ({ box, corner: { x, y } }) =>
        x < box.x || y < box.y || x + CELL > box.x + box.width || y + CELL > box.y + box.height,
    );
    expect(outside.map(({ node }) => node.name)).toEqual([]);
    expect(Math.max(...geometry.leaves.map(({ x, width }) => x + width))).toBeLessThanOrEqual(geometry.width);
    expect(Math.max(...geometry.leaves.map(({ y, height }) => y + height))).toBeLessThanOrEqual(geometry.height);
  });

  it('finds each node under the middle of its cell, and none between cells', () => {
    const middle = CELL / 2;
    const lost = corners.filter(({ node, corner: { x, y } }) => nodeAt(geometry, x + middle, y + middle) !== node);
    expect(lost.map(({ node }) => node.name)).toEqual([]);
    const { x, y } = corners[0]?.corner ?? { x: 0, y: 0 };
    const between = [nodeAt(geometry, x - 1, y), nodeAt(geometry, x + CELL + 1, y), nodeAt(geometry, -5, -5)];
    expect(between).toEqual([undefined, undefined, undefined]);
  });

  it('has frames that do not overlap', () => {
    const overlaps = geometry.leaves.filter((one, index) =>
      geometry.leaves
        .slice(index + 1)
        .some(
          (other) =>
            one.x < other.x + other.width &&
            other.x < one.x + one.width &&
            one.y < other.y + other.height &&
            other.y < one.y + one.height,
        ),
    );
    expect(overlaps.map(({ leaf }) => leaf.leaf)).toEqual([]);
  });
});

it('draws two spines that are called alike as two', () => {
  const geometry = drawn(4, (index) => {
    const spine = `core=c${index >> 1}/tier-1=s`;
    return { island: 'ib', nvlinkDomain: null, switches: [`${spine}/tier-0=l`, spine] };
  });
  expect(geometry.labels.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
    'island ib',
    'spine s',
    'leaf l',
    'spine s',
    'leaf l',
  ]);
  expect(geometry.leaves.map(({ leaf }) => leaf.nodes.length)).toEqual([2, 2]);
});

describe('the view of a drawing', () => {
  const geometry = { width: 2_400, height: 1_120 };

  it('is all of it at first', () => {
    expect(wholeView(geometry, WINDOW)).toEqual({ x: 0, y: 0, scale: 0.5 });
  });

  it('keeps what is under the pointer there when it is zoomed', () => {
    const view = zoomed({ x: 100, y: 50, scale: 1 }, 2, { x: 300, y: 200 });
    expect([view.x + 300 / view.scale, view.y + 200 / view.scale, view.scale]).toEqual([400, 250, 2]);
  });

  it.each([
    ['beyond the left upper corner', { x: -900, y: -900, scale: 1 }, { x: 0, y: 0, scale: 1 }],
    ['beyond the right lower corner', { x: 9_000, y: 9_000, scale: 1 }, { x: 1_200, y: 560, scale: 1 }],
    ['smaller than all of it', { x: 50, y: 50, scale: 0.1 }, { x: 0, y: 0, scale: 0.5 }],
  ])('never goes %s', (_sentence, view, want) => {
    expect(kept(view, geometry, WINDOW)).toEqual(want);
  });

  it('has a drawing that is narrower than the window in its middle', () => {
    expect(kept({ x: 0, y: 0, scale: 1 }, { width: 200, height: 100 }, WINDOW)).toEqual({ x: -500, y: 0, scale: 1 });
  });
});
