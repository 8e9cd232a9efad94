import type { CheckpointVerification } from '../checkpoint-contents.ts';

/** A verification by a launcher that found nothing. */
export function aVerification(overrides: Partial<CheckpointVerification> = {}): CheckpointVerification {
  return {
    level: 'V1',
    verdict: 'sound',
    at: '2026-01-01T00:06:00Z',
    by: 'Launcher',
    readBytes: 1,
    findings: [],
    ...overrides,
  };
}
