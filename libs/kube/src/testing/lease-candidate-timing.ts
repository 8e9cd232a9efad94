/** How long a candidate of the tests holds a lease: long enough that a busy machine does not take it away. */
export const LEASE_DURATION_MS = 6_000;
