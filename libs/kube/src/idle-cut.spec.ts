import { idleCut } from './idle-cut.ts';
import { FakeClock } from './testing/fake-clock.ts';

function aCut(limits: readonly number[]): { clock: FakeClock; cut: AbortController; idle: ReturnType<typeof idleCut> } {
  const clock = new FakeClock();
  const cut = new AbortController();
  const left = [...limits];
  const limitMs = (): number => (left.length > 1 ? left.shift() : left[0]) ?? 0;
  return { clock, cut, idle: idleCut(cut, { clock, limitMs }) };
}

describe('a connection on which nothing arrives', () => {
  it('is cut when the limit has passed since the last byte, and no sooner', async () => {
    const { clock, cut, idle } = aCut([1_000]);
    idle.restart();
    await clock.advance(900);
    idle.restart();
    await clock.advance(999);
    expect(cut.signal.aborted).toBe(false);
    await clock.advance(1);
    expect([cut.signal.aborted, idle.fired(), clock.pending]).toEqual([true, true, 0]);
  });

  it('is cut sooner once a shorter limit counts', async () => {
    const { clock, idle } = aCut([10_000, 500]);
    idle.restart();
    idle.restart();
    await clock.advance(500);
    expect(idle.fired()).toBe(true);
  });

  it('takes one timer, however many bytes come, and none after the end', () => {
    const { clock, idle } = aCut([1_000]);
    for (let chunk = 0; chunk < 100; chunk += 1) idle.restart();
    expect(clock.pending).toBe(1);
    idle.cancel();
    expect(clock.pending).toBe(0);
    idle.restart();
    expect(clock.pending).toBe(1);
  });
});
