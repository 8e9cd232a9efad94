/** Records errors of predictions on left-out measurements: by row beside the measurements, and by cell for the planner. */
import {
  apartFile,
  errorCells,
  filesKeptApart,
  filesOrRepository,
  leftOutCsv,
  leftOutFile,
  leftOutRows,
  memoryRows,
  plannerPredictor,
  readLeftOutRows,
  readMeasurements,
  scoreRows,
  textOf,
  type RecordedLeftOut,
  type ScoredRows,
  type Summary,
} from '@coxswain/planner-calibration';
import { CALIBRATION, CalibrationErrors } from '@coxswain/planner/calibration';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';

const TARGET = fileURLToPath(new URL('../../libs/planner/src/calibration/errors.json', import.meta.url));
const QUALITIES: ReadonlySet<string> = new Set(['A', 'B']);

/** Writes the errors of rows that were left out of the fit, and updates `errors.json` with them. */
export async function recordErrors(
  leftOut: RecordedLeftOut,
  scored: ScoredRows,
  { paired }: Pick<Summary, 'paired'>,
): Promise<void> {
  writeFileSync(leftOutFile(leftOut), leftOutCsv(leftOutRows(scored, leftOut)));
  await writeCells(leftOut === 'groups' && paired.medianPct !== null ? Number(paired.medianPct.toFixed(1)) : undefined);
}

/** Writes the errors of rows that no constant was fitted on, with the constants that ship, and updates `errors.json` with them. */
export async function recordApart(): Promise<void> {
  const predictor = plannerPredictor(CALIBRATION);
  const apart = scoreRows(readMeasurements(filesKeptApart()).rows, predictor, QUALITIES);
  const fitted = scoreRows(readMeasurements(filesOrRepository([])).rows, predictor, QUALITIES);
  writeFileSync(apartFile('kept_apart'), leftOutCsv(leftOutRows(apart, 'groups')));
  writeFileSync(apartFile('memory'), leftOutCsv([...memoryRows(fitted), ...memoryRows(apart)]));
  await writeCells(undefined);
}

/** @param pairedPct absent: as it was */
async function writeCells(pairedPct: number | undefined): Promise<void> {
  const before = JSON.parse(readFileSync(TARGET, 'utf8')) as CalibrationErrors;
  const errors = CalibrationErrors.parse({
    ...errorCells({
      byGroups: readLeftOutRows(textOf(leftOutFile('groups'))),
      bySources: readLeftOutRows(textOf(leftOutFile('sources'))),
      apart: readLeftOutRows(textOf(apartFile('kept_apart'))),
      memory: readLeftOutRows(textOf(apartFile('memory'))),
    }),
    pairedPct: pairedPct ?? before.pairedPct,
  });
  writeFileSync(TARGET, await format(JSON.stringify(errors), { ...(await resolveConfig(TARGET)), parser: 'json' }));
}
