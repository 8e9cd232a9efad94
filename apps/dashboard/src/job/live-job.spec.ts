import type { StreamedChange } from '@coxswain/api-client';
import { aJob, aJobEvent, aStepPoint } from '@coxswain/api-types/testing';
import { NOTHING_RECEIVED, withChanges } from './live-job.ts';

const event = (id: number): StreamedChange => ({ kind: 'event', event: aJobEvent({ id }), lastEventId: String(id) });
const job = (version: number): StreamedChange => ({ kind: 'job', job: aJob({ version }) });

describe('what a page has heard of a job', () => {
  it('has each event once and in order, also after a connection was made again', () => {
    const first = withChanges(NOTHING_RECEIVED, [event(1), event(2)]);
    expect(withChanges(first, [event(2), event(4), event(3)]).events.map(({ id }) => id)).toEqual([1, 2, 3, 4]);
  });

  it.each([
    ['a newer version counts', [3, 4], 4],
    ['an older one that comes late does not', [4, 3], 4],
  ])('%s', (_sentence, versions, want) => {
    expect(withChanges(NOTHING_RECEIVED, versions.map(job)).job?.version).toBe(want);
  });

  it('keeps what the changes do not speak of, so that nothing is painted again', () => {
    const first = withChanges(NOTHING_RECEIVED, [event(1), job(1), { kind: 'step', point: aStepPoint() }]);
    const next = withChanges(first, [job(2)]);
    expect(next.events).toBe(first.events);
    expect(next.curve).toBe(first.curve);
  });
});
