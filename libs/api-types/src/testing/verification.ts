import type { CheckpointContents, CheckpointVerification } from '../checkpoint-contents.ts';

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

/** Contents of a checkpoint of weights alone. */
export function someContents(overrides: Partial<CheckpointContents> = {}): CheckpointContents {
  return {
    tensors: 2,
    chunks: 4,
    objects: 0,
    bytes: 64,
    dtypes: { float32: 2 },
    kinds: { parameter: { tensors: 2, bytes: 64 } },
    holds: { optimizer: false },
    isResumable: false,
    geometry: 'a'.repeat(64),
    ...overrides,
  };
}
