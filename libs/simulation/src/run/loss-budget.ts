/** Where did the time of a run go? Each moment is in exactly one part. */

/** What training loses time to, in the order in which it happens around a fault. */
export const LOSSES = ['detect', 'locate', 'restart', 'lostWork', 'checkpointStall', 'straggler', 'planned'] as const;
/** One entry of {@link LOSSES}. */
export type Loss = (typeof LOSSES)[number];

/** Milliseconds. */
export type LossBudget = Readonly<Record<Loss | 'productive', number>>;

/** A budget in which every part is 0. */
export const NOTHING_SPENT: LossBudget = {
  productive: 0,
  detect: 0,
  locate: 0,
  restart: 0,
  lostWork: 0,
  checkpointStall: 0,
  straggler: 0,
  planned: 0,
};

/** Effective training time: what of the wall time was training that counts (ETTR). */
export function effectiveShare(budget: LossBudget): number {
  return budget.productive / wallMs(budget);
}

function wallMs(budget: LossBudget): number {
  return LOSSES.reduce((sum, loss) => sum + budget[loss], budget.productive);
}

/** Throws unless 1 - ETTR is the sum of the losses' shares of `lastedMs`, to 1e-6, and no part is below nothing. */
export function assertCloses(budget: LossBudget, lastedMs: number): void {
  const lost = LOSSES.reduce((sum, loss) => sum + budget[loss] / lastedMs, 0);
  const gap = 1 - budget.productive / lastedMs - lost;
  if (Math.abs(gap) > 1e-6)
    throw new Error(`the loss budget does not close: ${gap} of the run is in no part, or in two`);
  const below = [...LOSSES, 'productive' as const].find((part) => budget[part] < -1e-6 * lastedMs);
  if (below !== undefined) throw new Error(`the loss budget has ${budget[below]} ms of ${below}`);
}
