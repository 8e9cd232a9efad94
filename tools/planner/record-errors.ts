/** Writes how far predictions were from measurements to where the planner reads it. */
import type { Summary } from '@coxswain/planner-calibration';
import { CalibrationErrors, type ErrorFigures } from '@coxswain/planner/calibration';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';

const TARGET = fileURLToPath(new URL('../../libs/planner/src/calibration/errors.json', import.meta.url));

export async function recordErrors(
  kind: 'known' | 'unknown',
  summary: Pick<Summary, 'dense' | 'moe' | 'paired'>,
  families?: readonly string[],
): Promise<void> {
  const before = CalibrationErrors.parse(JSON.parse(readFileSync(TARGET, 'utf8')));
  const errors: CalibrationErrors = {
    ...before,
    ...(families === undefined ? {} : { families: [...families].sort() }),
    ...(summary.paired.medianPct === null ? {} : { pairedPct: digit(summary.paired.medianPct) }),
    [kind]: { dense: figuresOf(summary.dense), moe: figuresOf(summary.moe) },
  };
  writeFileSync(TARGET, await format(JSON.stringify(errors), { ...(await resolveConfig(TARGET)), parser: 'json' }));
}

function digit(value: number | null): number {
  return Number((value ?? 0).toFixed(1));
}

function figuresOf({ n, medianAbsPct, p90AbsPct }: Summary['dense']): ErrorFigures {
  return { n, medianAbsPct: digit(medianAbsPct), p90AbsPct: digit(p90AbsPct) };
}
