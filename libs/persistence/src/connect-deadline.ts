/**
 * How long a connection to PostgreSQL may take, or its turn in the pool. A database that is away refuses at once; one that only works
 * on something else, or a process of ours that does, needs more than a moment, and an answer that comes late is better than a 503.
 */
export const CONNECT_DEADLINE_MS = 5_000;
