/**
 * How long a connection to PostgreSQL may take, or its turn in the pool. A database that is down refuses at once. A busy database, or a busy process
 * of ours, needs more time, and a late answer is better than a 503.
 */
export const CONNECT_DEADLINE_MS = 5_000;
