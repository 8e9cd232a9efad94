import type { CheckpointResourceStatus } from '@coxswain/api-types';
import { aCheckpoint } from '@coxswain/checkpoint/testing';
import { progressOf } from './checkpoint-progress.ts';

const base = (step: number, progress?: CheckpointResourceStatus['progress']) => ({
  ...aCheckpoint({ step }),
  status: { state: 'Complete' as const, ...(progress === undefined ? {} : { progress }) },
});

it.each<[what: string, found: ReturnType<typeof progressOf>, want: ReturnType<typeof progressOf>]>([
  [
    'what the launcher reported, of ranks that began from scratch',
    progressOf({ fromStep: 0, loss: 2, lossStep: 9, tokens: 64 }, undefined),
    { loss: 2, lossStep: 9, tokens: 64 },
  ],
  [
    'what was trained while the save was being written',
    progressOf({ fromStep: 0, duringWrite: { steps: 3, ms: 9_000 } }, undefined),
    { stepsDuringWrite: 3, msDuringWrite: 9_000 },
  ],
  [
    'the tokens of the base as well',
    progressOf({ fromStep: 20, tokens: 64 }, base(20, { tokens: 100 })),
    { tokens: 164 },
  ],
  [
    'no tokens if those of the base are not known',
    progressOf({ fromStep: 20, loss: 2, lossStep: 30, tokens: 64 }, base(20)),
    { loss: 2, lossStep: 30 },
  ],
  ['no tokens if the base is gone', progressOf({ fromStep: 20, tokens: 64 }, undefined), {}],
  ['no tokens if the ranks began elsewhere', progressOf({ fromStep: 40, tokens: 64 }, base(20, { tokens: 100 })), {}],
])('records %s', (_what, found, want) => {
  expect(found).toEqual(want);
});
