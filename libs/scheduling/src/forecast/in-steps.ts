/** A computation in short steps. Between them its caller may do other work. */
export type InSteps<T> = Generator<undefined, T, undefined>;

/** Runs all steps at once. */
export function atOnce<T>(steps: InSteps<T>): T {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}
