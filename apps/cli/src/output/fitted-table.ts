import { columns } from './output.ts';
import { cutShown, shownLength } from './paint.ts';

/** A column of a table that fits the terminal. In a narrow terminal the columns of lowest worth are left out first. */
export interface FittedColumn<Row> {
  readonly title: string;
  readonly worth: number;
  readonly cell: (row: Row) => string;
}

/** A shorter last column is useless: the table drops another column instead. */
const LEAST_LAST_COLUMNS = 30;

/** One line per row, never wider than the terminal: drops the columns of lowest worth first, then cuts the last one. */
export function fittedTable<Row>(
  wanted: readonly FittedColumn<Row>[],
  rows: readonly Row[],
  widthColumns: number | undefined,
): string {
  const titles = wanted.map(({ title, worth }) => ({ title, worth }));
  return fittedRows(
    titles,
    rows.map((row) => wanted.map(({ cell }) => cell(row))),
    widthColumns,
  );
}

/** As {@link fittedTable}, of rows that are made already: each has a cell for each title. */
export function fittedRows(
  titles: readonly { readonly title: string; readonly worth: number }[],
  rows: readonly (readonly string[])[],
  widthColumns: number | undefined,
): string {
  let kept = titles.map(({ title, worth }, index) => ({ title, worth, index }));
  const cells = (): readonly (readonly string[])[] => [
    kept.map(({ title }) => title),
    ...rows.map((row) => kept.map(({ index }) => row[index] ?? '')),
  ];
  if (widthColumns === undefined) return columns(cells());
  while (kept.length > 3 && neededColumns(cells()) > widthColumns) {
    const least = Math.min(...kept.map(({ worth }) => worth));
    kept = kept.filter(({ worth }) => worth !== least);
  }
  return columns(cells())
    .split('\n')
    .map((line) => cutShown(line, widthColumns))
    .join('\n');
}

/** Columns of a terminal in which each line is whole, or has enough of its last cell. */
function neededColumns(rows: readonly (readonly string[])[]): number {
  const last = Math.max(...rows.map((row) => shownLength(row.at(-1) ?? '')));
  const lines = columns(rows.map((row) => [...row.slice(0, -1), '|'])).split('\n');
  const before = Math.max(...lines.map((line) => shownLength(line) - 1));
  return before + Math.min(last, LEAST_LAST_COLUMNS);
}
