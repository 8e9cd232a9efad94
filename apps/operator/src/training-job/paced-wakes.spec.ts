import { FakeClock } from '@coxswain/kube/testing';
import { PacedWakes } from './paced-wakes.ts';

function aDesk(): { clock: FakeClock; due: string[]; timers: PacedWakes } {
  const clock = new FakeClock();
  const due: string[] = [];
  const timers = new PacedWakes({ clock, intervalMs: 1_000, onDue: (jobUid) => void due.push(jobUid) });
  return { clock, due, timers };
}

describe('a job of which there is news', () => {
  it('is due at once the first time', async () => {
    const { clock, due, timers } = aDesk();
    timers.news('a');
    await clock.advance(0);
    expect(due).toEqual(['a']);
  });

  it('is due once an interval, however often there is news, and the last news is not lost', async () => {
    const { clock, due, timers } = aDesk();
    for (let ms = 0; ms < 1_900; ms += 100) {
      timers.news('a');
      await clock.advance(100);
    }
    expect(due).toEqual(['a', 'a']);
    await clock.advance(1_000);
    expect(due).toEqual(['a', 'a', 'a']);
  });

  it('that may wait is due later, and sooner when there is news that may not', async () => {
    const { clock, due, timers } = aDesk();
    timers.news('a');
    await clock.advance(0);
    timers.news('a', 4_000);
    await clock.advance(3_000);
    expect(due).toEqual(['a']);
    timers.news('a');
    await clock.advance(0);
    expect(due).toEqual(['a', 'a']);
    timers.news('a');
    timers.news('a', 4_000);
    await clock.advance(1_000);
    expect([due, clock.pending]).toEqual([['a', 'a', 'a'], 0]);
  });

  it('of one job does not wait for another’s', async () => {
    const { clock, due, timers } = aDesk();
    timers.news('a');
    await clock.advance(0);
    timers.news('b');
    await clock.advance(0);
    expect(due).toEqual(['a', 'b']);
  });

  it('leaves nothing behind when the job is gone, due or not', async () => {
    const { clock, due, timers } = aDesk();
    timers.news('a');
    await clock.advance(0);
    timers.news('a');
    timers.forget('a');
    await clock.advance(10_000);
    expect([due, timers.size, clock.pending]).toEqual([['a'], 0, 0]);
  });

  it('is not due any more after the stop', async () => {
    const { clock, due, timers } = aDesk();
    timers.news('a');
    timers.stop();
    await clock.advance(10_000);
    expect([due, clock.pending]).toEqual([[], 0]);
  });
});
