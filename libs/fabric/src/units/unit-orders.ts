import type { UnitGrid } from './unit-grid.ts';

/** One digit of a unit's place in an order: `(unit / stride % degree) / run`, or what is left of it within a run. */
interface Digit {
  readonly stride: number;
  readonly degree: number;
  readonly run: number;
  readonly part: 'run' | 'within';
}

const MOST_ORDERS = 160;
const MOST_LINE_ORDERS = 24;
const STRIP_WIDTHS = [2, 3, 4, 5, 6, 8, 12, 16] as const;

/**
 * Orders in which the units of a grid are assigned to switches so that neighbours stay together. Some go row by row along each order of the axes, there
 * and back or always from the start. Others go in strips of several widths, which become rectangles when they are cut.
 */
export function unitOrders(grid: UnitGrid, units: number): readonly Int32Array[] {
  const whole = grid.axes.map(({ stride, degree }): Digit => ({ stride, degree, run: 1, part: 'run' }));
  const rows = permutations(whole);
  const strips = grid.axes.flatMap(({ stride, degree }, axis) =>
    STRIP_WIDTHS.filter((run) => run < degree).flatMap((run) => {
      const others = permutations(whole.filter((_, other) => other !== axis));
      const digit = { stride, degree, run };
      return others.map((between): readonly Digit[] => [
        { ...digit, part: 'run' },
        ...between,
        { ...digit, part: 'within' },
      ]);
    }),
  );
  return [...rows, ...strips]
    .slice(0, MOST_ORDERS / 2)
    .flatMap((digits) => [orderOf(digits, units, false), orderOf(digits, units, true)]);
}

/** Orders in which each run of `size` units is a line, or a plane of lines: along the fastest axes of every order of the axes. */
export function lineOrders(
  grid: UnitGrid,
  units: number,
): readonly { readonly order: Int32Array; readonly size: number }[] {
  const whole = grid.axes
    .filter(({ degree }) => degree > 1)
    .map(({ stride, degree }): Digit => ({ stride, degree, run: 1, part: 'run' }));
  return permutations(whole)
    .slice(0, MOST_LINE_ORDERS)
    .flatMap((digits) => {
      const order = orderOf(digits, units, false);
      const sizes = digits.slice(1).map((_, at) => digits.slice(at + 1).reduce((size, { degree }) => size * degree, 1));
      return sizes.map((size) => ({ order, size }));
    });
}

function permutations(items: readonly Digit[]): readonly (readonly Digit[])[] {
  if (items.length <= 1) return [items];
  return items.flatMap((item) => permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]));
}

/** Units sorted by their digits, the first the slowest. `isSnake`: each digit turns back where the one before it moves on. */
function orderOf(digits: readonly Digit[], units: number, isSnake: boolean): Int32Array {
  const keys = new Float64Array(units);
  for (let unit = 0; unit < units; unit++) keys[unit] = keyOf(digits, unit, isSnake);
  return Int32Array.from({ length: units }, (_, unit) => unit).sort(
    (left, right) => (keys[left] ?? 0) - (keys[right] ?? 0) || left - right,
  );
}

function keyOf(digits: readonly Digit[], unit: number, isSnake: boolean): number {
  let key = 0;
  for (const { stride, degree, run, part } of digits) {
    const digit = Math.floor(unit / stride) % degree;
    const base = part === 'run' ? Math.ceil(degree / run) : run;
    const value = part === 'run' ? Math.floor(digit / run) : digit % run;
    // A key that is odd so far has made an odd number of turns.
    key = key * base + (isSnake && key % 2 === 1 ? base - 1 - value : value);
  }
  return key;
}
