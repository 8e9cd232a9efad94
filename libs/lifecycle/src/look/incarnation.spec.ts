import type { ObservedLauncher } from './observed.ts';
import { hasReaped } from './incarnation.ts';

describe('whether nothing of an earlier incarnation runs in a pod, before incarnation 3 of epoch 2', () => {
  const fence = { epoch: 2, incarnation: 3 };
  it.each<[string, ObservedLauncher | undefined, boolean]>([
    ['it has reaped the last one', { epoch: 2, incarnation: 2, state: 'reaped' }, true],
    ['it has been given this one, and waits for the others', { epoch: 2, incarnation: 3, state: 'waiting' }, true],
    ['it runs this one', { epoch: 2, incarnation: 3, state: 'running' }, true],
    ['it runs the last one', { epoch: 2, incarnation: 2, state: 'running' }, false],
    [
      'it has reaped the last but one, and may have been given the last',
      { epoch: 2, incarnation: 1, state: 'reaped' },
      false,
    ],
    ['it waits with the last one in its hands', { epoch: 2, incarnation: 2, state: 'waiting' }, false],
    [
      'it waits, and may have been given the last one a moment ago',
      { epoch: 2, incarnation: 0, state: 'waiting' },
      false,
    ],
    ['it reaped the same number in another epoch', { epoch: 1, incarnation: 2, state: 'reaped' }, false],
    ['it was never heard', undefined, false],
  ])('%s', (_sentence, launcher, want) => {
    expect(hasReaped(launcher, fence)).toBe(want);
  });
});
