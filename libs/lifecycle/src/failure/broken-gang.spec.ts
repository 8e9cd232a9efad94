import type { Attempt } from '@coxswain/api-types';
import { isFenced } from './broken-gang.ts';

describe('what a launcher says of an attempt', () => {
  it.each<[string, Pick<Attempt, 'stage' | 'outcome' | 'reason'>, boolean]>([
    ['that runs counts', { stage: 'Released' }, false],
    ['that failed counts no more', { stage: 'Stopping', outcome: 'Failed', reason: 'EngineFailed' }, true],
    ['that is evicted counts while it stops', { stage: 'Stopping', outcome: 'Failed', reason: 'Evicted' }, false],
    ['that was evicted counts no more', { stage: 'Ended', outcome: 'Failed', reason: 'Evicted' }, true],
    ['that is being suspended counts', { stage: 'Stopping', outcome: 'Suspended', reason: 'SuspendRequested' }, false],
    ['that was suspended counts no more', { stage: 'Ended', outcome: 'Suspended', reason: 'SuspendRequested' }, true],
    ['that succeeded counts, though it may come late', { stage: 'Ended', outcome: 'Succeeded' }, false],
  ])('%s', (_sentence, attempt, want) => {
    expect(isFenced(attempt)).toBe(want);
  });
});
