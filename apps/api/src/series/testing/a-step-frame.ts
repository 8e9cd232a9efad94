import type { StepFrame } from '@coxswain/api-types';

/** A step of the first attempt of a job, of which its pod knows the time alone. */
export function aStepFrame(overrides: Partial<StepFrame> = {}): StepFrame {
  return {
    kind: 'step',
    bootId: 'boot-1',
    sequence: 1,
    at: '2026-01-01T00:00:00Z',
    jobUid: 'uid',
    namespace: 'research',
    jobName: 'tiny',
    epoch: 1,
    step: 1,
    loss: null,
    tokens: null,
    stepTimeMs: 100,
    learningRate: null,
    gradNorm: null,
    ranks: [],
    ...overrides,
  };
}
