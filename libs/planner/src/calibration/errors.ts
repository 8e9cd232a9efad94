/** How far were predictions from published measurements? */
import { z } from 'zod';
import { familyOfStack } from './calibration.ts';

const ErrorFigures = z.strictObject({
  n: z.int().nonnegative(),
  medianAbsPct: z.number().nonnegative(),
  p90AbsPct: z.number().nonnegative(),
});
const ByKind = z.strictObject({ dense: ErrorFigures, moe: ErrorFigures });

/** Errors of step times, in percent of the measured time. */
export const CalibrationErrors = z.strictObject({
  families: z.array(z.string()).describe('Families of engines that the constants were fitted on.'),
  known: ByKind.describe('Rows that the constants were fitted on.'),
  unknown: ByKind.describe('Rows of sources that the constants were not fitted on, by cross-validation.'),
  pairedPct: z
    .number()
    .positive()
    .describe(
      'Error of the ratio of the predicted times of two layouts of one job, of the median pair, by cross-validation: what they have in common cancels. Layouts nearer than this are tied.',
    ),
});
export type CalibrationErrors = z.infer<typeof CalibrationErrors>;
export type ErrorFigures = z.infer<typeof ErrorFigures>;

/** What to expect of a prediction: the error on rows like it, in-sample for a family of engines that was fitted, else on sources never seen. */
export function errorFor(
  errors: CalibrationErrors,
  run: { readonly stack: string; readonly hasExperts: boolean },
): ErrorFigures & { readonly basis: string } {
  const known = errors.families.includes(familyOfStack(run.stack));
  const kind = run.hasExperts ? 'mixture-of-experts' : 'dense';
  const figures = (known ? errors.known : errors.unknown)[run.hasExperts ? 'moe' : 'dense'];
  return {
    ...figures,
    basis: known
      ? `published step times of ${kind} models that the constants were fitted on`
      : `published step times of ${kind} models from sources that were not fitted`,
  };
}
