/** The axis of a curve, and the marks that are painted over it: a recorder stands in for the canvas. */
import { type CurveMark, drawMarks, paddedRange } from './curve-painting.ts';

describe('the axis of a curve', () => {
  it.each<[string, number | null, number | null, readonly [number, number]]>([
    ['has a twentieth of room on both sides', 10, 30, [9, 31]],
    ['does not go below zero if no value does', 0.5, 20.5, [0, 21.5]],
    ['begins at zero if a value does', 0, 100, [0, 105]],
    ['has room below a negative value', -10, 10, [-11, 11]],
    ['has a flat line in its middle', 10, 10, [9, 11]],
    ['has a flat line of negative values in its middle', -10, -10, [-11, -9]],
    ['has a line at zero at its foot', 0, 0, [0, 1]],
    ['is there before a value', null, null, [0, 1]],
    ['is there with one end', 3, null, [0, 1]],
  ])('%s', (_sentence, low, high, want) => {
    const [from, to] = paddedRange(low, high);
    expect([from, to].map((value) => Number((value ?? NaN).toFixed(9)))).toEqual(want);
  });
});

interface Recorded {
  /** The lines, each from and to. */
  readonly lines: (readonly number[])[];
  readonly labels: (readonly [text: string, x: number, y: number, align: string])[];
  readonly dashes: (readonly number[])[];
  readonly colors: Set<string>;
  /** Calls of save without one of restore. */
  open: number;
}

/** Paints marks on a plot of 1,000 pixels from x 100 and y 20 that is 200 high; a step is ten pixels wide. */
function painted(...marks: readonly CurveMark[]): Recorded {
  const recorded: Recorded = { lines: [], labels: [], dashes: [], colors: new Set(), open: 0 };
  let from: readonly number[] = [];
  let to: readonly number[] = [];
  const context = {
    strokeStyle: '',
    fillStyle: '',
    font: '',
    textAlign: '',
    save: () => (recorded.open += 1),
    restore: () => (recorded.open -= 1),
    setLineDash: (dash: number[]) => recorded.dashes.push(dash),
    beginPath: () => (from = to = []),
    moveTo: (...point: number[]) => (from = point),
    lineTo: (...point: number[]) => (to = point),
    stroke: () => {
      recorded.colors.add(context.strokeStyle);
      recorded.lines.push([...from, ...to]);
    },
    fillText: (text: string, x: number, y: number) => {
      recorded.colors.add(context.fillStyle);
      recorded.labels.push([text, x, y, context.textAlign]);
    },
  };
  const plot = {
    ctx: context as unknown as CanvasRenderingContext2D,
    bbox: { left: 100, top: 20, width: 1_000, height: 200 },
    valToPos: (step: number) => 100 + 10 * step,
  };
  drawMarks(plot, marks, 'grey');
  return recorded;
}

const mark = (x: number, color?: string): CurveMark => ({
  ...{ x, label: `attempt at ${x}` },
  ...(color === undefined ? {} : { color }),
});

describe('the marks of a curve', () => {
  const setDensity = (devicePixelRatio: number): unknown => Object.assign(globalThis, { devicePixelRatio });
  beforeEach(() => setDensity(1));
  afterAll(() => Reflect.deleteProperty(globalThis, 'devicePixelRatio'));

  it('are none if nothing restarted', () => {
    expect(painted()).toMatchObject({ lines: [], labels: [], open: 0 });
  });

  it('are a line from top to bottom at their step, with a label to the right of its top', () => {
    const { lines, labels, colors, dashes } = painted(mark(30));
    expect(lines).toEqual([[400, 20, 400, 220]]);
    expect(labels).toEqual([['attempt at 30', 404, 32, 'left']]);
    expect([...colors]).toEqual(['grey']);
    expect(dashes).toEqual([[4, 4]]);
  });

  it('have their label to the left where there is no room at the right', () => {
    expect(painted(mark(94)).labels).toEqual([['attempt at 94', 1_044, 32, 'left']]);
    expect(painted(mark(95)).labels).toEqual([['attempt at 95', 1_046, 32, 'right']]);
  });

  it.each<[string, number, number]>([
    ['at the left edge is seen', 0, 1],
    ['left of it is not', -0.1, 0],
    ['at the right edge is seen', 100, 1],
    ['right of it is not', 100.1, 0],
  ])('one %s, as when the curve is zoomed', (_sentence, step, count) => {
    expect(painted(mark(step)).lines).toHaveLength(count);
  });

  it('keep their lines, not their labels, where they are close together', () => {
    const { lines, labels } = painted(mark(10), mark(12), mark(15.4), mark(20));
    expect(lines).toHaveLength(4);
    expect(labels.map(([text]) => text)).toEqual(['attempt at 10', 'attempt at 15.4']);
  });

  it('measure in pixels of the screen where it is dense', () => {
    setDensity(2);
    const { labels, dashes } = painted(mark(10), mark(20), mark(20.8));
    expect(labels).toEqual([
      ['attempt at 10', 208, 44, 'left'],
      ['attempt at 20.8', 316, 44, 'left'],
    ]);
    expect(dashes).toEqual([[8, 8]]);
  });

  it('have the color of their run if several are laid over each other', () => {
    expect([...painted(mark(10, 'red'), mark(20), mark(30, 'red')).colors]).toEqual(['red', 'grey']);
  });

  it('leave the canvas as they found it', () => {
    expect(painted(mark(1), mark(500)).open).toBe(0);
  });
});
