/** What is seen of the drawing, how it is moved, and what is painted: a recorder stands in for the canvas. */
import { distinctColor } from '../distinct-color.ts';
import {
  fitting,
  isSeen,
  kept,
  layOutFabric,
  MAX_SCALE,
  showing,
  type View,
  wholeView,
  zoomed,
} from './fabric-geometry.ts';
import { type FabricPicture, paintFabric, placeCursor } from './fabric-painting.ts';
import { nodesOf, treeOf } from './fabric-tree.ts';
import { aClusterFabric, aFabricPlace } from './testing/a-cluster-fabric.ts';

const WINDOW = { width: 100, height: 50 };
const AT_ONCE: View = { x: 0, y: 0, scale: 1 };

describe('the scale at which all is seen', () => {
  it.each([
    ['is 1 for a drawing as large as the window', 100, 50, 1],
    ['is 1 for a smaller one, which is not enlarged', 10, 5, 1],
    ['is given by the width', 200, 50, 0.5],
    ['is given by the height', 100, 200, 0.25],
    ['is the smaller of both', 200, 200, 0.25],
  ])('%s', (_sentence, width, height, want) => {
    expect(fitting({ width, height }, WINDOW)).toBe(want);
  });
});

describe('a box', () => {
  const box = { x: 10, y: 10, width: 10, height: 10 };
  it.each<[string, View, boolean]>([
    ['inside the window is seen', AT_ONCE, true],
    ['that touches the left edge is seen', { ...AT_ONCE, x: 20 }, true],
    ['left of the window is not', { ...AT_ONCE, x: 20.1 }, false],
    ['that touches the right edge is seen', { ...AT_ONCE, x: -90 }, true],
    ['right of the window is not', { ...AT_ONCE, x: -90.1 }, false],
    ['above the window is not', { ...AT_ONCE, y: 20.1 }, false],
    ['below the window is not', { ...AT_ONCE, y: -40.1 }, false],
    ['beyond the window is seen when all is smaller', { x: -90.1, y: 0, scale: 0.5 }, true],
    ['inside the window is not when all is larger', { x: -41, y: 0, scale: 2 }, false],
  ])('%s', (_sentence, view, want) => {
    expect(isSeen(box, view, WINDOW)).toBe(want);
  });
});

describe('a view', () => {
  const large = { width: 200, height: 100 };
  it.each<[string, View, View]>([
    ['zooms about a point', zoomed(AT_ONCE, 2, { x: 50, y: 20 }), { x: 25, y: 10, scale: 2 }],
    ['zooms out about it', zoomed({ x: 25, y: 10, scale: 2 }, 0.5, { x: 50, y: 20 }), AT_ONCE],
    ['zooms no further than six times', zoomed(AT_ONCE, 100, { x: 0, y: 0 }), { x: 0, y: 0, scale: MAX_SCALE }],
    [
      'keeps its place at the largest scale',
      zoomed({ x: 9, y: 9, scale: 6 }, 2, { x: 60, y: 30 }),
      { x: 9, y: 9, scale: 6 },
    ],
    ['of the whole drawing shows all of it', wholeView(large, WINDOW), { x: 0, y: 0, scale: 0.5 }],
    [
      'of a small drawing has it in the middle, at the top',
      wholeView({ width: 40, height: 10 }, WINDOW),
      { x: -30, y: 0, scale: 1 },
    ],
    ['is kept at the left upper corner', kept({ x: -5, y: -5, scale: 1 }, large, WINDOW), AT_ONCE],
    [
      'is kept at the right lower corner',
      kept({ x: 999, y: 999, scale: 1 }, large, WINDOW),
      { x: 100, y: 50, scale: 1 },
    ],
    [
      'is kept at least as large as the whole',
      kept({ x: 0, y: 0, scale: 0.1 }, large, WINDOW),
      { x: 0, y: 0, scale: 0.5 },
    ],
    ['stays where a cell is in sight', showing({ x: 50, y: 20 }, AT_ONCE, WINDOW), AT_ONCE],
    [
      'moves right and down for a cell, as little as needed',
      showing({ x: 120, y: 60 }, AT_ONCE, WINDOW),
      { x: 30, y: 20, scale: 1 },
    ],
    [
      'moves left and up for one',
      showing({ x: 5, y: 5 }, { x: 20, y: 20, scale: 1 }, WINDOW),
      { x: 5, y: 5, scale: 1 },
    ],
    [
      'moves further when all is larger',
      showing({ x: 120, y: 5 }, { x: 0, y: 0, scale: 2 }, WINDOW),
      { x: 80, y: 0, scale: 2 },
    ],
  ])('%s', (_sentence, found, want) => {
    expect(found).toEqual(want);
  });
});

describe('colors of jobs', () => {
  it.each([
    [0, 'hsl(200 62% 40%)'],
    [1, 'hsl(338 62% 40%)'],
    [2, 'hsl(115 62% 40%)'],
  ])('job %d is %s', (index, color) => {
    expect(distinctColor(index)).toBe(color);
  });

  it('differ for the first 50 jobs, and neighbours lie far apart', () => {
    const hues = Array.from({ length: 50 }, (_, index) => Number(/\d+/.exec(distinctColor(index))?.[0]));
    expect(new Set(hues).size).toBe(50);
    const near = hues.slice(1).filter((hue, index) => Math.abs(hue - (hues[index] ?? 0)) < 90);
    expect(near).toEqual([]);
  });
});

interface Recorded {
  readonly element: HTMLCanvasElement;
  readonly filled: (readonly [color: unknown, ...rectangle: number[]])[];
  readonly texts: string[];
  frames: number;
  sizes: number;
}

/** A canvas that records what is painted; colors are the names of CSS variables. */
function aCanvas(): Recorded {
  const recorded: { -readonly [K in keyof Recorded]: Recorded[K] } = {
    element: {} as HTMLCanvasElement,
    filled: [],
    texts: [],
    frames: 0,
    sizes: 0,
  };
  const context = {
    fillStyle: '' as unknown,
    setTransform: () => undefined,
    clearRect: () => undefined,
    strokeRect: () => (recorded.frames += 1),
    fillRect: (...rectangle: number[]) => recorded.filled.push([context.fillStyle, ...rectangle]),
    fillText: (text: string) => recorded.texts.push(text),
  };
  let width = 0;
  recorded.element = {
    height: 0,
    get width() {
      return width;
    },
    set width(value) {
      recorded.sizes += 1;
      width = value;
    },
    getContext: () => context,
  } as unknown as HTMLCanvasElement;
  return recorded;
}

describe('the painted fabric', () => {
  beforeAll(() =>
    Object.assign(globalThis, {
      devicePixelRatio: 2,
      getComputedStyle: () => ({ getPropertyValue: (name: string) => name }),
    }),
  );
  afterAll(() => {
    Reflect.deleteProperty(globalThis, 'devicePixelRatio');
    Reflect.deleteProperty(globalThis, 'getComputedStyle');
  });

  const place = aFabricPlace({ island: 'ib-0', spine: 1, leaf: 2 });
  const jobs = [
    { id: 'a', project: null, name: 'a', nodes: [0], gpus: [4] },
    { id: 'b', project: null, name: 'b', nodes: [0, 1], gpus: [4, 16] },
  ];
  const fabric = aClusterFabric({ 'gpu-a': place, 'gpu-b': place, 'gpu-c': place }, jobs);
  const nodes = nodesOf({ ...fabric, nodes: { ...fabric.nodes, usable: [true, true, false] } });
  const size = { width: 400, height: 300 };
  const geometry = layOutFabric(treeOf(nodes), size);
  const picture = (changes: Partial<FabricPicture> = {}): FabricPicture => ({
    geometry,
    view: AT_ONCE,
    widthPx: 400,
    heightPx: 300,
    shownJob: undefined,
    ...changes,
  });
  const widths = ({ filled }: Recorded, color: string): readonly number[] =>
    filled.flatMap(([of, , , width = 0]) => (of === color ? [width] : []));

  it.each<[string, number | undefined, string, readonly number[]]>([
    ['a cell of a free node', undefined, '--fabric-free', [10, 10]],
    ['a cell of a node that takes no jobs', undefined, '--fabric-unusable', [10]],
    ['half a cell of a job that holds half of a node', undefined, 'hsl(200 62% 40%)', [5]],
    ['at most the whole cell of one that claims more', undefined, 'hsl(338 62% 40%)', [5, 10]],
    ['the shown job in its color', 0, 'hsl(200 62% 40%)', [5]],
    ['other jobs in grey beside it', 0, '#94a3b866', [5, 10]],
  ])('has %s', (_what, shownJob, color, want) => {
    const canvas = aCanvas();
    paintFabric(canvas.element, picture({ shownJob }));
    expect(widths(canvas, color)).toEqual(want);
  });

  it.each<[string, View, readonly string[]]>([
    ['all names at full size', AT_ONCE, ['ib-0', 's1', 'l2']],
    ['the name of the island alone when it is small', { ...AT_ONCE, scale: 0.3 }, ['ib-0']],
    ['no name that nobody could read', { ...AT_ONCE, scale: 0.1 }, []],
    ['no name out of sight', { ...AT_ONCE, y: 2_000 }, []],
  ])('has %s', (_what, view, want) => {
    const canvas = aCanvas();
    paintFabric(canvas.element, picture({ view }));
    expect(canvas.texts).toEqual(want);
  });

  it('has nothing of a leaf out of sight', () => {
    const canvas = aCanvas();
    paintFabric(canvas.element, picture({ view: { ...AT_ONCE, x: 2_000 } }));
    expect([canvas.frames, canvas.filled]).toEqual([0, []]);
  });

  it('has two pixels for one of CSS on a dense screen, and sets the size once', () => {
    const canvas = aCanvas();
    paintFabric(canvas.element, picture());
    paintFabric(canvas.element, picture());
    expect([canvas.element.width, canvas.element.height, canvas.sizes, canvas.frames]).toEqual([800, 600, 1, 2]);
  });

  it.each<[string, number | undefined, View, object]>([
    ['is hidden without a node', undefined, AT_ONCE, { hidden: true, style: {} }],
    [
      'frames a node',
      0,
      AT_ONCE,
      { hidden: false, style: { left: '4px', top: '76px', width: '10px', height: '10px' } },
    ],
    [
      'follows the view',
      0,
      { x: 2, y: 6, scale: 2 },
      { hidden: false, style: { left: '4px', top: '140px', width: '20px', height: '20px' } },
    ],
  ])('has a cursor that %s', (_sentence, index, view, want) => {
    const cursor = { hidden: false, style: {} };
    const node = index === undefined ? undefined : geometry.leaves[0]?.leaf.nodes[index];
    placeCursor(cursor as unknown as HTMLElement, { geometry, view, node });
    expect(cursor).toEqual(want);
  });
});
