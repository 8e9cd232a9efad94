/**
 * Factor on lower bounds against rounding errors. Sums in another order differ in their last digits, and a bound above the value of its own layout would prune
 * that layout.
 */
export const BOUND_MARGIN = 1 - 1e-9;
