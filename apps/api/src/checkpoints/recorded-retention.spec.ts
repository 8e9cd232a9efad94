import type { Checkpoint } from '@coxswain/api-types';
import { aCheckpoint } from '@coxswain/checkpoint/testing';
import { recordedRetention } from './recorded-retention.ts';

const AT = '2026-01-01T00:00:00Z';
const ordered = { orderedAt: AT, stateBefore: 'Complete', because: 'A newer one stays.' } as const;
const base = aCheckpoint();
const because = 'It is pinned.';

describe('a row keeps of retention', () => {
  it.each<[string, object, ReturnType<typeof recordedRetention>]>([
    ['nothing if no policy decided', {}, null],
    [
      'what a policy decided',
      { retention: { action: 'Keep', because } },
      { decision: { keeps: true, because }, isBeingDeleted: false, isAbsent: false },
    ],
    [
      'a deletion rather than the decision before it',
      { retention: { action: 'Keep', because }, deletion: { ...ordered, problem: 'Its pod failed.' } },
      {
        decision: { keeps: false, because: ordered.because, problem: 'Its pod failed.' },
        isBeingDeleted: true,
        isAbsent: false,
      },
    ],
    ['that files are gone', { absent: { since: AT } }, { decision: null, isBeingDeleted: false, isAbsent: true }],
    [
      'only that it is being deleted, if a later release writes the deletion otherwise',
      { deletion: { orderedAt: AT } },
      { decision: null, isBeingDeleted: true, isAbsent: false },
    ],
  ])('%s', (_what, status, want) => {
    const object = { ...base, status: { state: 'Complete', ...status } } as Checkpoint;
    expect(recordedRetention(object)).toEqual(want);
  });

  it('that its object is being deleted', () => {
    const metadata = { ...base.metadata, deletionTimestamp: AT };
    expect(recordedRetention({ ...base, metadata })).toMatchObject({ isBeingDeleted: true });
  });
});
