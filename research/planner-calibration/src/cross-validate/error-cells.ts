/**
 * Errors of predictions for groups of similar runs.
 *
 * Rows of one source, model and GPU are siblings: what one of them is off, the others are off too. So the next run is no row drawn from its cell
 * but a row of a group that nobody has seen, and a cell of five groups tells about it as much as five numbers do. The percentiles are therefore
 * taken at Weibull's ranks, p (n + 1) of n groups. Where no cell has enough rows, what nobody has seen is a whole cell: each cell counts alike,
 * whatever its size, and n is their number. Of whole sources left out each source counts alike.
 *
 * Engines that run on PyTorch alone have few published runs, each from another source. A range of one of them contains the range of all of them, in
 * which each engine counts alike, so that ten rows of one model do not promise more than they know.
 */
import {
  ALL_PYTORCH,
  COVERAGE_PCT,
  isPyTorchEngine,
  MIN_CELL_ROWS,
  type CalibrationErrors,
  type ErrorCell,
} from '@coxswain/planner/calibration';
import { weightedQuantiles } from '../score/weighted-quantile.ts';
import type { LeftOutRow } from './left-out-row.ts';

/** What counts as one: rows alike within it, or each of it alike. */
interface Draws {
  readonly drawOf: (row: LeftOutRow) => string;
  readonly weigh: 'rows' | 'draws';
}

const GROUPS: Draws = { drawOf: ({ key }) => key, weigh: 'rows' };
const CELLS: Draws = { drawOf: ({ engineFamily, chip }) => `${engineFamily} ${chip}`, weigh: 'draws' };
const SOURCES: Draws = { drawOf: ({ key }) => key, weigh: 'draws' };

const FAMILIES: Draws = { drawOf: ({ engineFamily }) => engineFamily, weigh: 'draws' };
/** The first word of a group is its source. */
const SOURCES_OF_GROUPS: Draws = { drawOf: ({ key }) => key.split(' ', 1).join(), weigh: 'rows' };

/** Errors by cell, once with groups left out and once with whole sources. The errors of pairs of layouts are computed apart. */
export type CellErrors = Omit<CalibrationErrors, 'pairedPct'>;

/** Rows that errors are computed from. */
export interface RowsOfErrors {
  readonly byGroups: readonly LeftOutRow[];
  /** The same rows, left out by whole sources. */
  readonly bySources: readonly LeftOutRow[];
  /** Rows that no constant was fitted on. */
  readonly apart: readonly LeftOutRow[];
  /** Measured over predicted peaks of memory. */
  readonly memory: readonly LeftOutRow[];
}

/** All cells of errors. */
export function errorCells({ byGroups, bySources, apart, memory }: RowsOfErrors): CellErrors {
  const whole = cells(byGroups, ({ kind }) => ({ kind }), CELLS);
  const ofFamilies = cells(byGroups, ({ kind, engineFamily }) => ({ kind, engineFamily }), CELLS);
  const ofChips = cells(byGroups, ({ kind, engineFamily, chip }) => ({ kind, engineFamily, chip }), GROUPS);
  return {
    families: [...new Set(byGroups.map(({ engineFamily }) => engineFamily))].sort(),
    groupsLeftOut: [...whole, ...[...ofFamilies, ...ofChips].filter(({ n }) => n >= MIN_CELL_ROWS)],
    sourcesLeftOut: [...cells(bySources, ({ kind }) => ({ kind }), SOURCES)],
    pytorchEngines: pytorchCells([...bySources, ...apart], undefined),
    memory: [
      ...cells(memory, ({ kind }) => ({ kind }), FAMILIES),
      ...cells(
        memory.filter(({ engineFamily }) => !isPyTorchEngine(engineFamily)),
        ({ kind, engineFamily }) => ({ kind, engineFamily }),
        GROUPS,
      ).filter(({ n }) => n >= MIN_CELL_ROWS),
      ...pytorchCells(memory, ALL_PYTORCH),
    ],
  };
}

/** A cell for all engines on PyTorch, and one for each of them, whose range contains that of all. */
function pytorchCells(rows: readonly LeftOutRow[], nameOfAll: string | undefined): ErrorCell[] {
  const theirs = rows.filter(({ engineFamily }) => isPyTorchEngine(engineFamily));
  const all = cells(
    theirs,
    ({ kind }) => ({ kind, ...(nameOfAll === undefined ? {} : { engineFamily: nameOfAll }) }),
    FAMILIES,
  );
  const each = cells(theirs, ({ kind, engineFamily }) => ({ kind, engineFamily }), SOURCES_OF_GROUPS);
  const widened = each.map((cell) => {
    const pool = all.find(({ kind }) => kind === cell.kind);
    return { ...cell, low: Math.min(cell.low, pool?.low ?? 1), high: Math.max(cell.high, pool?.high ?? 1) };
  });
  return [...all, ...widened];
}

type CellName = Pick<ErrorCell, 'kind' | 'engineFamily' | 'chip'>;

function cells(rows: readonly LeftOutRow[], nameOf: (row: LeftOutRow) => CellName, draws: Draws): readonly ErrorCell[] {
  const byName = Map.groupBy(rows, (row) => Object.values(nameOf(row)).join('|'));
  return [...byName]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, alike]) => (alike[0] === undefined ? [] : [{ ...nameOf(alike[0]), ...figuresOf(alike, draws) }]));
}

function figuresOf(rows: readonly LeftOutRow[], draws: Draws): Omit<ErrorCell, keyof CellName> {
  const { weightOf, count } = weighing(rows, draws);
  const quantilesOf = (valueOf: (ratio: number) => number): ((share: number) => number) =>
    weightedQuantiles(rows.map((row) => ({ value: valueOf(row.measuredOverPredicted), weight: weightOf(row) })));
  const errorPct = quantilesOf((ratio) => 100 * Math.abs(1 / ratio - 1));
  const logarithm = quantilesOf(Math.log);
  const outside = (1 - COVERAGE_PCT / 100) / 2;
  return {
    n: rows.length,
    medianAbsPct: Number(errorPct(0.5).toFixed(1)),
    p90AbsPct: Number(errorPct(0.9).toFixed(1)),
    low: Number(Math.exp(Math.min(0, logarithm(weibullShare(outside, count)))).toPrecision(4)),
    high: Number(Math.exp(Math.max(0, logarithm(weibullShare(1 - outside, count)))).toPrecision(4)),
  };
}

/** Where `p (n + 1)` of n ranks lies among their middles, 0 to 1; outside of it where so few say nothing that far out. */
function weibullShare(p: number, n: number): number {
  return p + (p - 0.5) / n;
}

function weighing(
  rows: readonly LeftOutRow[],
  { drawOf, weigh }: Draws,
): { readonly weightOf: (row: LeftOutRow) => number; readonly count: number } {
  const sizes = new Map<string, number>();
  for (const row of rows) sizes.set(drawOf(row), (sizes.get(drawOf(row)) ?? 0) + 1);
  return { weightOf: (row) => (weigh === 'rows' ? 1 : 1 / (sizes.get(drawOf(row)) ?? 1)), count: sizes.size };
}
