/**
 * The steps whose printed loss must be equal after a resume. Some engines print the mean of the steps since the line before (Trainer of Hugging Face,
 * `logging_steps`): after a resume in the middle of such a window the first line is a mean of fewer steps, and is left out.
 *
 * @param printed steps at which the undamaged run printed a loss, at equal distances
 */
export function comparableSteps(printed: readonly number[], resumedFrom: number): readonly number[] {
  const sorted = printed.toSorted((one, other) => one - other);
  const gaps = sorted.slice(1).map((step, index) => step - (sorted[index] ?? 0));
  const window = Math.min(...gaps);
  return sorted.filter((step) => step - window >= resumedFrom);
}
