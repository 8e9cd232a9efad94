/** Records errors of predictions on left-out measurements: by row beside the measurements, and by cell for the planner. */
import {
  errorCells,
  leftOutCsv,
  leftOutFile,
  leftOutRows,
  readLeftOutRows,
  textOf,
  type RecordedLeftOut,
  type ScoredRows,
  type Summary,
} from '@coxswain/planner-calibration';
import { CalibrationErrors } from '@coxswain/planner/calibration';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';

const TARGET = fileURLToPath(new URL('../../libs/planner/src/calibration/errors.json', import.meta.url));

/** Writes the errors of rows that were left out of the fit, and updates `errors.json` with them. */
export async function recordErrors(
  leftOut: RecordedLeftOut,
  scored: ScoredRows,
  { paired }: Pick<Summary, 'paired'>,
): Promise<void> {
  writeFileSync(leftOutFile(leftOut), leftOutCsv(leftOutRows(scored, leftOut)));
  const before = CalibrationErrors.parse(JSON.parse(readFileSync(TARGET, 'utf8')));
  const errors: CalibrationErrors = {
    ...errorCells(recorded('groups'), recorded('sources')),
    pairedPct:
      leftOut === 'groups' && paired.medianPct !== null ? Number(paired.medianPct.toFixed(1)) : before.pairedPct,
  };
  writeFileSync(TARGET, await format(JSON.stringify(errors), { ...(await resolveConfig(TARGET)), parser: 'json' }));
}

function recorded(leftOut: RecordedLeftOut): ReturnType<typeof readLeftOutRows> {
  return readLeftOutRows(textOf(leftOutFile(leftOut)));
}
