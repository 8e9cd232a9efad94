import {
  CALIBRATION,
  COVERAGE_PCT,
  ERRORS,
  errorsLike,
  isPyTorchEngine,
  memoryErrorsLike,
  type CalibrationErrors,
} from '@coxswain/planner/calibration';
import { filesKeptApart, filesOrRepository, readMeasurements, textOf } from '../rows/measurement-files.ts';
import { plannerPredictor } from '../score/predictor.ts';
import { scoreRows } from '../score/score-rows.ts';
import { errorCells, type RowsOfErrors } from './error-cells.ts';
import { apartFile, leftOutFile } from './left-out-files.ts';
import { leftOutCsv, leftOutRows, memoryRows, readLeftOutRows, type LeftOutRow } from './left-out-row.ts';

const RECORDED: RowsOfErrors = {
  byGroups: readLeftOutRows(textOf(leftOutFile('groups'))),
  bySources: readLeftOutRows(textOf(leftOutFile('sources'))),
  apart: readLeftOutRows(textOf(apartFile('kept_apart'))),
  memory: readLeftOutRows(textOf(apartFile('memory'))),
};

/** Step times that no constant knows: those kept apart, and those whose whole source was left out of the fit. */
const TIMES = [...RECORDED.apart, ...RECORDED.bySources].filter(({ engineFamily }) => isPyTorchEngine(engineFamily));
const PEAKS = RECORDED.memory.filter(({ engineFamily }) => isPyTorchEngine(engineFamily));

type IsLeftOut = (row: LeftOutRow) => boolean;

/** The errors without some rows. */
function errorsWithout(isLeftOut: IsLeftOut): CalibrationErrors {
  const kept = (rows: readonly LeftOutRow[]): readonly LeftOutRow[] => rows.filter((row) => !isLeftOut(row));
  const { byGroups, bySources, apart, memory } = RECORDED;
  const rest = { byGroups, bySources: kept(bySources), apart: kept(apart), memory: kept(memory) };
  return { ...errorCells(rest), families: ERRORS.families, pairedPct: 1 };
}

/** Of rows of a family, each judged by what the others say without what `withWhat` leaves out with it, the share in the interval of `stack`. */
function insidePct(
  rows: readonly LeftOutRow[],
  cellOf: typeof errorsLike,
  { withWhat, stack }: { readonly withWhat: (row: LeftOutRow) => IsLeftOut; readonly stack: string },
): number {
  const lies = rows.map((row) => {
    const errors = errorsWithout(withWhat(row));
    const { low, high } = cellOf(errors, { chip: row.chip, stack, hasExperts: row.kind === 'experts' });
    return low <= row.measuredOverPredicted && row.measuredOverPredicted <= high;
  });
  return (100 * lies.filter((each) => each).length) / lies.length;
}

const ofFamily = (rows: readonly LeftOutRow[], family: string): readonly LeftOutRow[] =>
  rows.filter(({ engineFamily }) => engineFamily === family);

describe(`of rows of engines on PyTorch at least ${COVERAGE_PCT} in 100 lie in the interval that is printed for them`, () => {
  const alone =
    (row: LeftOutRow): IsLeftOut =>
    ({ id }) =>
      id === row.id;

  it.each([
    ['deepspeed', 19],
    ['fsdp', 16],
    ['torchtitan', 18],
  ])('%s, each row judged without itself: step times', (family, count) => {
    const rows = ofFamily(TIMES, family);
    expect(rows).toHaveLength(count);
    expect(insidePct(rows, errorsLike, { withWhat: alone, stack: family })).toBeGreaterThanOrEqual(COVERAGE_PCT);
  });

  it.each([
    ['deepspeed', 3],
    ['fsdp', 16],
    ['torchtitan', 18],
  ])('%s, each row judged without itself: peaks of memory', (family, count) => {
    const rows = ofFamily(PEAKS, family);
    expect(rows).toHaveLength(count);
    expect(insidePct(rows, memoryErrorsLike, { withWhat: alone, stack: family })).toBeGreaterThanOrEqual(COVERAGE_PCT);
  });

  const itsFamily =
    (row: LeftOutRow): IsLeftOut =>
    ({ engineFamily }) =>
      engineFamily === row.engineFamily;

  it('an engine without a row, as Hugging Face is, judged by the others alone: step times', () => {
    const shares = ['deepspeed', 'fsdp', 'torchtitan'].map((family) =>
      insidePct(ofFamily(TIMES, family), errorsLike, { withWhat: itsFamily, stack: 'hugging-face' }),
    );
    expect(Math.min(...shares)).toBeGreaterThanOrEqual(COVERAGE_PCT);
  });
});

describe('the recorded errors of rows that no constant was fitted on', () => {
  const predictor = plannerPredictor(CALIBRATION);
  const scored = (files: readonly string[]): ReturnType<typeof scoreRows> =>
    scoreRows(readMeasurements(files).rows, predictor, new Set(['A', 'B']));

  it('are those of the constants that ship: record them with `npm run planner:score -- --record`', () => {
    const apart = scored(filesKeptApart());
    expect(leftOutCsv(leftOutRows(apart, 'groups'))).toBe(textOf(apartFile('kept_apart')));
    const memory = [...memoryRows(scored(filesOrRepository([]))), ...memoryRows(apart)];
    expect(leftOutCsv(memory)).toBe(textOf(apartFile('memory')));
  });
});
