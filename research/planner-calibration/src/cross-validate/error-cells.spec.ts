import {
  CALIBRATION,
  COVERAGE_PCT,
  ERRORS,
  errorsLike,
  MIN_CELL_ROWS,
  type CalibrationErrors,
} from '@coxswain/planner/calibration';
import fc from 'fast-check';
import { textOf } from '../rows/measurement-files.ts';
import { errorCells, type RowsOfErrors } from './error-cells.ts';
import { apartFile, leftOutFile } from './left-out-files.ts';
import { leftOutCsv, readLeftOutRows, type LeftOutRow } from './left-out-row.ts';

function row(overrides: Partial<LeftOutRow> = {}): LeftOutRow {
  return {
    id: 'one-1',
    key: 'one',
    chip: 'gh100',
    engineFamily: 'megatron-lm',
    kind: 'dense',
    measuredOverPredicted: 1,
    ...overrides,
  };
}

/** Measured over predicted time from 0.51 to 1.5 in even steps, each row a group of its own. */
function spread(n: number, overrides: Partial<LeftOutRow> = {}): readonly LeftOutRow[] {
  return Array.from({ length: n }, (_, at) =>
    row({ id: `r-${at}`, key: `g${at}`, measuredOverPredicted: 0.51 + (0.99 * at) / (n - 1), ...overrides }),
  );
}

/** The same rows left out by groups and by sources, and none besides. */
const rowsOf = (rows: readonly LeftOutRow[]): RowsOfErrors => ({
  byGroups: rows,
  bySources: rows,
  apart: [],
  memory: [],
});

const asked = (
  rows: readonly LeftOutRow[],
  { chip = 'gh100', stack = 'megatron-lm 0.16', hasExperts = false } = {},
): ReturnType<typeof errorsLike> =>
  errorsLike({ ...errorCells(rowsOf(rows)), pairedPct: 1 }, { chip, stack, hasExperts });

describe('the rows that an interval stands on', () => {
  const enough = spread(MIN_CELL_ROWS);
  const few = spread(MIN_CELL_ROWS - 1);
  const elsewhere = spread(40, { chip: 'ga100' });
  const others = spread(60, { engineFamily: 'nemo' });

  it.each<[string, readonly LeftOutRow[], Parameters<typeof asked>[1], string, number]>([
    ['are those of chip, family and kind, if there are 20', [...enough, ...elsewhere], {}, 'chip', 20],
    ['are those of the family where the chip has 19', [...few, ...elsewhere], {}, 'engineFamily', 59],
    [
      'are those of the family for a chip that nobody measured',
      [...enough, ...elsewhere],
      { chip: 'tomorrow' },
      'engineFamily',
      60,
    ],
    [
      'are those of the family for a chip with a name of the language',
      enough,
      { chip: '__proto__' },
      'engineFamily',
      20,
    ],
    ['are all of the kind where the family has 19', [...few, ...others], {}, 'allEngines', 79],
    ['are all of the kind, however few', few, {}, 'allEngines', 19],
    [
      'are those of other sources for an engine that was never fitted',
      enough,
      { stack: 'mine 1.0' },
      'otherSources',
      20,
    ],
    [
      'are those of other sources for an engine with a name of the language',
      enough,
      { stack: 'constructor' },
      'otherSources',
      20,
    ],
    ['are of a release whatever its number', enough, { stack: 'megatron-lm 99.9' }, 'chip', 20],
    [
      'never mix dense models and those with experts',
      [...enough, ...spread(30, { kind: 'experts' })],
      { hasExperts: true },
      'chip',
      30,
    ],
  ])('%s', (...[, rows, question, standsOn, n]) => {
    expect(asked(rows, question)).toMatchObject({ standsOn, n });
  });

  it('are said to be missing where no row of the kind is recorded', () => {
    expect(() => asked(enough, { hasExperts: true })).toThrow('no errors of experts models');
  });
});

describe('the interval of a cell', () => {
  const ratios = (...values: readonly number[]): readonly LeftOutRow[] =>
    values.flatMap((measuredOverPredicted, at) =>
      Array.from({ length: MIN_CELL_ROWS }, (_, sibling) =>
        row({ id: `r-${at}-${sibling}`, key: `g${at}`, measuredOverPredicted }),
      ),
    );

  it.each<[string, readonly LeftOutRow[], number, number]>([
    ['leaves a tenth of many groups out on each side', spread(1001), 0.6088, 1.401],
    ['is wider of fewer groups: the rank is p (n + 1)', spread(21), 0.5694, 1.441],
    ['reaches to the outermost row of five groups', ratios(0.8, 0.9, 1, 1.1, 1.2), 0.8, 1.2],
    ['is one of siblings, which are no groups', spread(1001, { key: 'one' }), 0.51, 1.5],
    ['holds the prediction where all rows took longer', ratios(1.1, 1.2), 1, 1.2],
    ['holds the prediction where all rows were faster', ratios(0.7, 0.9), 0.7, 1],
  ])('%s', (_sentence, rows, low, high) => {
    const got = asked(rows);
    expect(got.standsOn).toBe('chip');
    expect(got.low).toBeCloseTo(low, 2);
    expect(got.high).toBeCloseTo(high, 2);
  });

  it('counts cells alike where it falls back to several: a large one does not decide', () => {
    const large = spread(900, { engineFamily: 'nemo', measuredOverPredicted: 1 });
    const odd = ['a', 'b', 'c'].flatMap((chip) =>
      spread(5, { engineFamily: 'sailor', chip, measuredOverPredicted: 2 }),
    );
    expect(asked([...large, ...odd], { stack: 'sailor' })).toMatchObject({
      standsOn: 'allEngines',
      high: 2,
      medianAbsPct: 50,
    });
  });

  const anyRow = fc.record({
    id: fc.uuid(),
    key: fc.constantFrom('a', 'b', 'c', 'd'),
    chip: fc.constantFrom('gh100', 'ga100'),
    engineFamily: fc.constantFrom('megatron-lm', 'nemo'),
    kind: fc.constantFrom('dense' as const, 'experts' as const),
    measuredOverPredicted: fc.double({ min: 0.05, max: 20, noNaN: true }),
  });

  it('is a range around the prediction, in whatever order rows come, and never wider than they are', () => {
    fc.assert(
      fc.property(fc.array(anyRow, { maxLength: 60 }), (rows) => {
        const found = errorCells(rowsOf(rows));
        expect(errorCells(rowsOf([...rows].reverse()))).toEqual(found);
        for (const { low, high, n } of [...found.groupsLeftOut, ...found.sourcesLeftOut]) {
          expect(low).toBeLessThanOrEqual(1);
          expect(high).toBeGreaterThanOrEqual(1);
          expect(low).toBeGreaterThanOrEqual(0.0499);
          expect(high).toBeLessThanOrEqual(20.01);
          expect(n).toBeLessThanOrEqual(rows.length);
        }
      }),
    );
  });
});

const BY_GROUPS = readLeftOutRows(textOf(leftOutFile('groups')));
const BY_SOURCES = readLeftOutRows(textOf(leftOutFile('sources')));
const RECORDED: RowsOfErrors = {
  byGroups: BY_GROUPS,
  bySources: BY_SOURCES,
  apart: readLeftOutRows(textOf(apartFile('kept_apart'))),
  memory: readLeftOutRows(textOf(apartFile('memory'))),
};

describe('the errors that are recorded', () => {
  it('are of every row that the constants were fitted on', () => {
    expect(CALIBRATION.fittedOn).toBe(`${BY_GROUPS.length} published step times of quality A and B`);
    expect(BY_SOURCES.map(({ id }) => id)).toEqual(BY_GROUPS.map(({ id }) => id));
  });

  it('are those from which answers take their intervals', () => {
    expect(ERRORS).toEqual({ ...errorCells(RECORDED), pairedPct: ERRORS.pairedPct });
  });

  it('are read as they were written', () => {
    expect(leftOutCsv(BY_GROUPS)).toBe(textOf(leftOutFile('groups')));
  });

  it.each([
    ['a time of 0', 'one-1,one,gh100,nemo,dense,0'],
    ['a time that is no number', 'one-1,one,gh100,nemo,dense,much'],
    ['a kind that there is not', 'one-1,one,gh100,nemo,sparse,1'],
    ['no name', ',one,gh100,nemo,dense,1'],
  ])('are refused with %s', (_what, line) => {
    const [head = ''] = leftOutCsv([]).split('\n');
    expect(() => readLeftOutRows(`${head}\n${line}\n`)).toThrow();
  });
});

/** Each group is judged by what the others say: its own rows are in no percentile that it is held against. */
function coverage(
  rows: readonly LeftOutRow[],
  errorsWithout: (key: string) => CalibrationErrors,
): readonly (LeftOutRow & { readonly standsOn: string; readonly lies: boolean })[] {
  return [...Map.groupBy(rows, ({ key }) => key)].flatMap(([key, group]) => {
    const errors = errorsWithout(key);
    return group.map((each) => {
      const { standsOn, low, high } = errorsLike(errors, {
        chip: each.chip,
        stack: each.engineFamily,
        hasExperts: each.kind === 'experts',
      });
      const ratio = each.measuredOverPredicted;
      return { ...each, standsOn, lies: low <= ratio && ratio <= high };
    });
  });
}

describe(`of a hundred rows that were left out, in groups whose own rows no percentile knows, about ${COVERAGE_PCT} lie in their interval`, () => {
  const without = (key: string): CalibrationErrors => ({
    ...errorCells({ ...rowsOf(BY_GROUPS.filter((each) => each.key !== key)), bySources: [] }),
    families: ERRORS.families,
    pairedPct: 1,
  });
  const judged = coverage(BY_GROUPS, without);
  const sharePct = (rows: typeof judged): number => (100 * rows.filter(({ lies }) => lies).length) / rows.length;

  it.each<[string, (row: (typeof judged)[number]) => boolean]>([
    ['all', () => true],
    ['of dense models', ({ kind }) => kind === 'dense'],
    ['of models with experts', ({ kind }) => kind === 'experts'],
    ['with a cell of their own', ({ standsOn }) => standsOn === 'chip'],
  ])('%s', (_which, belongs) => {
    const rows = judged.filter(belongs);
    expect(rows.length).toBeGreaterThan(100);
    expect(sharePct(rows)).toBeGreaterThanOrEqual(75);
    expect(sharePct(rows)).toBeLessThanOrEqual(85);
  });

  const groupsOf = (rows: typeof judged): number[] => [...Map.groupBy(rows, ({ key }) => key).values()].map(sharePct);
  /** Rows of a group lie in it or out of it together: of so few groups a share is no surer than two standard deviations of a count of them. */
  const doubtPct = (groups: number): number => 2 * Math.sqrt((COVERAGE_PCT * (100 - COVERAGE_PCT)) / groups);

  it.each(['engineFamily', 'allEngines'])('as far as so few groups can tell, where rows fall back: %s', (level) => {
    const rows = judged.filter(({ standsOn }) => standsOn === level);
    expect(rows.length).toBeGreaterThan(100);
    expect(Math.abs(sharePct(rows) - COVERAGE_PCT)).toBeLessThan(doubtPct(groupsOf(rows).length));
  });

  it('as far as so few groups can tell, of groups whatever their size', () => {
    const shares = groupsOf(judged);
    const meanPct = shares.reduce((sum, share) => sum + share, 0) / shares.length;
    expect(Math.abs(meanPct - COVERAGE_PCT)).toBeLessThan(doubtPct(shares.length));
  });
});
