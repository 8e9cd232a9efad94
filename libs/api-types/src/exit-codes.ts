/**
 * How a launcher ends. The structured cause in the termination message decides first; the exit code decides when the message is missing.
 * An engine's own exit code is passed on; a signal n becomes 128 + n as in every shell.
 */
export const EXIT_CODES = {
  finished: { code: 0, meaning: 'Every local rank finished its work.', restart: 'none' },
  engineFailed: { code: 1, meaning: 'A rank failed (any code that is not listed here).', restart: 'charged' },
  launcherFailed: {
    code: 70,
    meaning: 'The launcher itself failed, e.g. it could not start a rank.',
    restart: 'charged',
  },
  rendezvousPortLost: { code: 71, meaning: 'The rendezvous port was taken by another process.', restart: 'free' },
  checkpointUnreadable: {
    code: 72,
    meaning:
      'The checkpoint to resume from is not what was saved (a size or a SHA-256 differs), or the engine refuses it.',
    restart: 'free',
  },
  fenced: {
    code: 73,
    meaning: 'The operator rejected this attempt: it has failed, or a later one exists.',
    restart: 'none',
  },
  checkpointIoError: {
    code: 74,
    meaning: 'The checkpoint to resume from cannot be read from this node (ENOENT, EIO, ESTALE, ...).',
    restart: 'free',
  },
  stopped: { code: 75, meaning: 'Saved and stopped because SIGTERM asked for it.', restart: 'free' },
  operatorUnreachable: {
    code: 76,
    meaning: 'No operator could be reached from this node in time, so no rank was ever started.',
    restart: 'free',
  },
  doNotRestart: { code: 93, meaning: 'A restart would fail the same way (bad flags, missing data).', restart: 'never' },
} as const satisfies Record<string, { code: number; meaning: string; restart: 'none' | 'charged' | 'free' | 'never' }>;

/** How a launcher ended. */
export type ExitKind = keyof typeof EXIT_CODES;

/** The kind of an exit code. Unknown codes are failures of the engine. */
export function exitKindOf(code: number): ExitKind {
  for (const kind of Object.keys(EXIT_CODES) as ExitKind[]) if (EXIT_CODES[kind].code === code) return kind;
  return 'engineFailed';
}

/** How a process ended, as part of a sentence: `exited with code 1`, `was killed by SIGKILL (exit code 137)`. */
export function howItEnded({
  exitCode,
  signal,
}: {
  readonly exitCode: number;
  readonly signal?: string | undefined;
}): string {
  return signal === undefined ? `exited with code ${exitCode}` : `was killed by ${signal} (exit code ${exitCode})`;
}
