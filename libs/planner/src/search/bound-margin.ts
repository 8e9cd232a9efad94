/**
 * How far below what it bounds does a bound stay? Sums in another order differ in their last digits, and a bound above its own layout by those would drop a layout
 * that the warm start found in favour of itself. As a factor.
 */
export const SURELY = 1 - 1e-9;
