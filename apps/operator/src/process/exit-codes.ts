/** How the operator's process ends. Whoever runs it (a Deployment does) starts it again after each of them but the first. */
export const EXIT_CODES = {
  /** It was told to stop, and has given the lease back. */
  stopped: 0,
  /** It cannot work with this configuration or this cluster, or a part of it failed: the last line of the log says what to do. */
  failed: 1,
  /** Its term as leader is over (the API server was away for longer than the lease, or the process stood still): one process leads once. */
  termOver: 75,
} as const;
