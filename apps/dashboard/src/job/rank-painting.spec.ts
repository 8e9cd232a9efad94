/** Which rank is painted in which color, and where: a recorder stands in for the canvas. */
import type { RankPlace } from '@coxswain/api-types';
import { aRankPlace } from '@coxswain/api-types/testing';
import { distinctColor } from '../distinct-color.ts';
import { groupRanks, layOutIsland, paceOf, seenRanks } from './rank-geometry.ts';
import { type Coloring, paintIsland } from './rank-painting.ts';

interface Filled {
  readonly color: string;
  readonly at: readonly number[];
}
interface Written {
  readonly text: string;
  readonly color: string;
  readonly font: string;
  readonly at: readonly number[];
}

interface Canvas {
  readonly element: HTMLCanvasElement;
  readonly filled: Filled[];
  readonly frames: Filled[];
  readonly texts: Written[];
  readonly scales: (readonly number[])[];
}

/** A canvas that records what is painted; colors are the names of CSS variables, and each letter is six pixels wide. */
function aCanvas(): Canvas {
  const context = {
    fillStyle: '',
    strokeStyle: '',
    font: '',
    textAlign: 'start',
    textBaseline: 'alphabetic',
    scale: (...factors: number[]) => canvas.scales.push(factors),
    strokeRect: (...at: number[]) => canvas.frames.push({ color: context.strokeStyle, at }),
    fillRect: (...at: number[]) => canvas.filled.push({ color: context.fillStyle, at }),
    fillText: (text: string, ...at: number[]) =>
      canvas.texts.push({ text, color: context.fillStyle, font: context.font, at }),
    measureText: (text: string) => ({ width: 6 * text.length }),
  };
  const element = { width: 0, height: 0, getContext: () => context } as unknown as HTMLCanvasElement;
  const canvas: Canvas = { element, filled: [], frames: [], texts: [], scales: [] };
  return canvas;
}

type Changes = (rank: number) => Partial<RankPlace>;
const none: Changes = () => ({});

interface Painting {
  readonly count?: number;
  readonly changes?: Changes;
  readonly coloring?: Coloring;
  readonly widthPx?: number;
  readonly switches?: readonly string[];
}

/** The canvas of a gang's only island. */
function painted({
  count = 4,
  changes = none,
  coloring = 'pace',
  widthPx = 400,
  switches = [],
}: Painting = {}): Canvas {
  const items = Array.from({ length: count }, (_, rank) => aRankPlace({ rank, ...changes(rank) }));
  const unplaced = { nvlinkDomain: null, island: null, nicType: null, switches: [...switches] };
  const nodes = items.map(({ node }) => ({ ...unplaced, name: node }));
  const places = seenRanks({ epoch: 1, items, nodes, bytesPerStep: null });
  const [island] = groupRanks(places);
  if (island === undefined) throw new Error('there is no island');
  const geometry = layOutIsland(island, { widthPx, totalRanks: count });
  const canvas = aCanvas();
  paintIsland(canvas.element, { geometry, widthPx, pace: paceOf(places), coloring });
  return canvas;
}

const TEAL = 'rgb(15 110 122)';
const AMBER = 'rgb(245 158 11)';
const RED = 'rgb(200 30 30)';
const GREY = '#64748b';

beforeAll(() =>
  Object.assign(globalThis, {
    devicePixelRatio: 2,
    getComputedStyle: () => ({ getPropertyValue: (name: string) => ` ${name}` }),
  }),
);
afterAll(() => {
  Reflect.deleteProperty(globalThis, 'devicePixelRatio');
  Reflect.deleteProperty(globalThis, 'getComputedStyle');
});

describe('the cell of a rank', () => {
  const colors = (painting: Painting): readonly string[] => painted(painting).filled.map(({ color }) => color);
  const thirdTakes =
    (stepTimeMs: number | null): Changes =>
    (rank) => ({ stepTimeMs: rank === 2 ? stepTimeMs : 100 });

  it.each<[string, number | null, string]>([
    ['teal if it takes as long as the median', 100, TEAL],
    ['teal if it is faster', 20, TEAL],
    ['amber if it takes half as long again', 150, AMBER],
    ['red if it takes twice as long', 200, RED],
    ['red if it takes ten times as long', 1_000, RED],
    ['grey if it is not measured', null, GREY],
    ['between teal and amber if it takes a quarter longer', 125, 'rgb(130 134 67)'],
    ['between amber and red if it takes three quarters longer', 175, 'rgb(223 94 21)'],
  ])('is %s', (_sentence, stepTimeMs, want) => {
    expect(colors({ changes: thirdTakes(stepTimeMs) })).toEqual([TEAL, TEAL, want, TEAL]);
  });

  it('is grey for every rank before a step', () => {
    expect(colors({ changes: () => ({ stepTimeMs: null }) })).toEqual([GREY, GREY, GREY, GREY]);
  });

  it('has the color of its pipeline stage if that is chosen, however slow it is', () => {
    const changes: Changes = (rank) => ({ pipelineIndex: rank >> 1, stepTimeMs: rank === 3 ? 900 : 100 });
    const [first, second] = [distinctColor(0), distinctColor(1)];
    expect(colors({ changes, coloring: 'stage' })).toEqual([first, first, second, second]);
  });

  it('stands beside those of its node, in the order of ranks', () => {
    expect(painted().filled.map(({ at }) => at)).toEqual([
      [8, 40, 44, 44],
      [54, 40, 44, 44],
      [8, 104, 44, 44],
      [54, 104, 44, 44],
    ]);
  });

  it.each([
    [32, 44],
    [33, 24],
    [257, 12],
    [2_049, 6],
  ])('of %d ranks is %d pixels wide', (count, cellPx) => {
    const sizes = new Set(painted({ count, widthPx: 1_000 }).filled.map(({ at }) => at.slice(2).join(' x ')));
    expect([...sizes]).toEqual([`${cellPx} x ${cellPx}`]);
  });

  it('is there for each of 16,384 ranks', () => {
    expect(painted({ count: 16_384, widthPx: 1_000 }).filled).toHaveLength(16_384);
  });
});

describe('the number of a rank', () => {
  const numbers = (painting: Painting): readonly Written[] =>
    painted(painting).texts.filter(({ text }) => /^\d+$/.test(text));

  it('is in the middle of its cell', () => {
    expect(numbers({}).map(({ text, at }) => [text, ...at])).toEqual([
      ['0', 30, 62],
      ['1', 76, 62],
      ['2', 30, 126],
      ['3', 76, 126],
    ]);
  });

  it.each<[string, number, boolean]>([
    ['is written for 256 ranks', 256, true],
    ['is left out for more, where nobody could read it', 257, false],
  ])('%s', (_sentence, count, isWritten) => {
    expect(numbers({ count, widthPx: 1_000 })).toHaveLength(isWritten ? count : 0);
  });

  it.each<[number | null, string]>([
    [100, '#fff'],
    [125, '#fff'],
    [150, '#0f172a'],
    [179, '#0f172a'],
    [180, '#fff'],
    [200, '#fff'],
    [null, '#fff'],
  ])('can be read on the color of a step of %d ms, in %s', (stepTimeMs, want) => {
    const changes: Changes = (rank) => ({ stepTimeMs: rank === 2 ? stepTimeMs : 100 });
    expect(numbers({ changes })[2]?.color).toBe(want);
  });

  it('is white on each stage', () => {
    const changes: Changes = (rank) => ({ pipelineIndex: rank, stepTimeMs: 50 * rank });
    expect(numbers({ changes, coloring: 'stage' }).map(({ color }) => color)).toEqual(['#fff', '#fff', '#fff', '#fff']);
  });
});

describe('the names on the map', () => {
  const names = (painting: Painting): readonly (readonly string[])[] =>
    painted(painting).texts.flatMap(({ text, color, font }) => (/^\d+$/.test(text) ? [] : [[text, color, font]]));
  const PLAIN = '11px system-ui, sans-serif';

  it('are those of the NVLink domain and its nodes', () => {
    expect(names({})).toEqual([
      ['nvl-a', '--ink', `600 ${PLAIN}`],
      ['node-0', '--muted', PLAIN],
      ['node-1', '--muted', PLAIN],
    ]);
  });

  it('are those of domains alone if there are many ranks, and none if there are very many', () => {
    expect(names({ count: 33 }).map(([text]) => text)).toEqual(['nvl-a']);
    expect(names({ count: 2_049, widthPx: 1_000 })).toEqual([]);
  });

  it('lose their beginning if they are too long, since nodes differ at the end', () => {
    const changes: Changes = () => ({ node: 'cluster-7-rack-12-node-0031', podIndex: 0 });
    const [, node] = names({ count: 2, changes }).map(([text]) => text);
    expect(node).toMatch(/^….*node-0031$/);
    expect(6 * (node ?? '').length).toBeLessThanOrEqual(2 * 46);
  });

  it('have the spine and the leaf above', () => {
    const [leaf] = names({ switches: ['tier-1=s1/tier-0=l2', 'tier-1=s1'] });
    expect(leaf).toEqual(['s1 › l2', '--muted', PLAIN]);
  });
});

describe('the canvas of an island', () => {
  it('has a frame for each NVLink domain, on whole pixels', () => {
    const { frames } = painted({ changes: (rank) => ({ nvlinkDomain: rank < 2 ? 'nvl-a' : 'nvl-b' }) });
    expect(frames).toEqual([
      { color: '--line', at: [0.5, 0.5, 105, 91] },
      { color: '--line', at: [114.5, 0.5, 105, 91] },
    ]);
  });

  it('has two pixels for one of CSS on a dense screen', () => {
    const { element, scales } = painted({ widthPx: 300 });
    expect([element.width, element.height, scales]).toEqual([600, 2 * 156, [[2, 2]]]);
  });

  it('stays as it is where a browser gives no context', () => {
    const element = { width: 7, height: 7, getContext: () => null } as unknown as HTMLCanvasElement;
    const geometry = { cellPx: 1, heightPx: 1, cells: [], boxes: [], labels: [] };
    paintIsland(element, { geometry, widthPx: 100, pace: paceOf([]), coloring: 'pace' });
    expect([element.width, element.height]).toEqual([7, 7]);
  });
});
