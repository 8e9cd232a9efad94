import { columns } from './output.ts';

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
  let kept = wanted;
  const cells = (): readonly (readonly string[])[] => [
    kept.map(({ title }) => title),
    ...rows.map((row) => kept.map(({ cell }) => cell(row))),
  ];
  if (widthColumns === undefined) return columns(cells());
  while (kept.length > 3 && widthBeforeLast(cells()) + LEAST_LAST_COLUMNS > widthColumns)
    kept = withoutLeastWorth(kept);
  return columns(cells())
    .split('\n')
    .map((line) => shortened(line, widthColumns))
    .join('\n');
}

function withoutLeastWorth<Row>(kept: readonly FittedColumn<Row>[]): readonly FittedColumn<Row>[] {
  const least = Math.min(...kept.map(({ worth }) => worth));
  return kept.filter(({ worth }) => worth !== least);
}

function widthBeforeLast(rows: readonly (readonly string[])[]): number {
  const lines = columns(rows.map((row) => [...row.slice(0, -1), '|']));
  return Math.max(...lines.split('\n').map((line) => line.length - 1));
}

function shortened(line: string, widthColumns: number): string {
  return line.length <= widthColumns ? line : `${line.slice(0, Math.max(0, widthColumns - 1))}…`;
}
