import type { ObservedLauncher } from './observed-launcher.ts';
import { hasReaped } from './incarnation.ts';

describe('whether nothing of an earlier incarnation runs in a pod, before incarnation 3 of epoch 2', () => {
  const fence = { epoch: 2, incarnation: 3 };
  it.each<[string, ObservedLauncher | undefined, boolean]>([
    ['it has reaped the last one', { epoch: 2, incarnation: 2, state: 'reaped' }, true],
    ['it has been given this one, and waits for the others', { epoch: 2, incarnation: 3, state: 'waiting' }, true],
    ['it runs this one', { epoch: 2, incarnation: 3, state: 'running' }, true],
    ['it runs the last one', { epoch: 2, incarnation: 2, state: 'running' }, false],
    ['it runs one long past', { epoch: 2, incarnation: 1, state: 'running' }, false],
    ['it was never given one', { epoch: 2, incarnation: 0, state: 'waiting' }, true],
    ['it reaped the same number in another epoch', { epoch: 1, incarnation: 2, state: 'reaped' }, false],
    ['it was never heard', undefined, false],
  ])('%s', (_sentence, launcher, want) => {
    expect(hasReaped(launcher, fence)).toBe(want);
  });
});
