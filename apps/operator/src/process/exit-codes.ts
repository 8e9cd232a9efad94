/** Exit codes of the operator. Its Deployment restarts it after each of them but the first. */
export const EXIT_CODES = {
  /** It was asked to stop and has released the lease. */
  stopped: 0,
  /** It cannot work with this configuration or this cluster, or a part of it failed. The last line of the log says what to do. */
  failed: 1,
  /** Its term as leader is over (the API server was away for longer than the lease, or the process stood still): one process leads once. */
  termOver: 75,
} as const;
