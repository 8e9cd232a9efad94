import { FakeClock } from '@coxswain/kube/testing';
import { ProgressTimers } from './progress-timers.ts';

function aDesk(): { clock: FakeClock; due: string[]; timers: ProgressTimers } {
  const clock = new FakeClock();
  const due: string[] = [];
  const timers = new ProgressTimers({ clock, intervalMs: 1_000, onDue: (jobUid) => void due.push(jobUid) });
  return { clock, due, timers };
}

describe('progress of a job', () => {
  it('is due at once the first time', async () => {
    const { clock, due, timers } = aDesk();
    timers.progressed('a');
    await clock.advance(0);
    expect(due).toEqual(['a']);
  });

  it('is due once an interval, however often it is reported, and the last report is not lost', async () => {
    const { clock, due, timers } = aDesk();
    for (let ms = 0; ms < 1_900; ms += 100) {
      timers.progressed('a');
      await clock.advance(100);
    }
    expect(due).toEqual(['a', 'a']);
    await clock.advance(1_000);
    expect(due).toEqual(['a', 'a', 'a']);
  });

  it('of one job does not wait for another’s', async () => {
    const { clock, due, timers } = aDesk();
    timers.progressed('a');
    await clock.advance(0);
    timers.progressed('b');
    await clock.advance(0);
    expect(due).toEqual(['a', 'b']);
  });

  it('leaves nothing behind when the job is gone, due or not', async () => {
    const { clock, due, timers } = aDesk();
    timers.progressed('a');
    await clock.advance(0);
    timers.progressed('a');
    timers.forget('a');
    await clock.advance(10_000);
    expect([due, timers.size, clock.pending]).toEqual([['a'], 0, 0]);
  });

  it('is not due any more after the stop', async () => {
    const { clock, due, timers } = aDesk();
    timers.progressed('a');
    timers.stop();
    await clock.advance(10_000);
    expect([due, clock.pending]).toEqual([[], 0]);
  });
});
