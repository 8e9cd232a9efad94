import { Unpredicted } from './filled-values.ts';
import type { StatedCells, StatedColumn } from './measured-row.ts';

/** A whole number of at least `least`; undefined if the cell is empty. */
export function wholeNumber(cells: StatedCells, column: StatedColumn, least = 1): number | undefined {
  const text = cells[column];
  if (text === '') return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least && value <= 16_777_216) return value;
  throw new Unpredicted(`${column} is not a whole number`);
}

/** A whole number. Throws {@link Unpredicted} if the cell is empty. */
export function requiredNumber(cells: StatedCells, column: StatedColumn): number {
  const value = wholeNumber(cells, column);
  if (value === undefined) throw new Unpredicted(`${column} is not published`);
  return value;
}
