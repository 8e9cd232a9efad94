/** How many verdicts about a run are reported to people? */
import type { HealthVerdict } from '@coxswain/health';

/** Advice of one kind that is reported at once. */
const MAX_ADVICE = 16;
/** After this time one more is reported. Early saves stand on advice, and ranks are asked to save at most as often. */
const REFILL_MS = 600_000;

/**
 * Bounds what is reported and never what is decided. Verdicts that may end a gang always pass and use nothing of the bound. Advice of each kind has a
 * bound that refills, so that advice is delayed and never lost for good.
 */
export class VerdictBudget {
  readonly #left = new Map<HealthVerdict['kind'], { advice: number; atMs: number }>();

  /** Whether the verdict is reported. `nowMs`: milliseconds of a monotonic clock. */
  admits({ kind, action }: Pick<HealthVerdict, 'kind' | 'action'>, nowMs: number): boolean {
    if (action === 'evict' || action === 'stop') return true;
    const left = this.#left.get(kind) ?? { advice: MAX_ADVICE, atMs: nowMs };
    const refills = Math.floor((nowMs - left.atMs) / REFILL_MS);
    left.advice = Math.min(MAX_ADVICE, left.advice + refills);
    left.atMs += refills * REFILL_MS;
    this.#left.set(kind, left);
    if (left.advice < 1) return false;
    left.advice -= 1;
    return true;
  }
}
