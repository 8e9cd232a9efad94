import { fairShareOf } from './fair-share.ts';

describe('what one of many launchers may send', () => {
  it.each([
    [1, { stepsPerSecond: 20, gatherMs: 200 }],
    [128, { stepsPerSecond: 20, gatherMs: 256 }],
    [2_048, { stepsPerSecond: 1.5, gatherMs: 4_096 }],
    [20_000, { stepsPerSecond: 0.09375, gatherMs: 5_000 }],
  ])('of %i is told as a pace', (connections, pace) => {
    expect(fairShareOf(connections).pace).toEqual(pace);
  });

  it('is in all what the thread can bear, however many they are', () => {
    for (let connections = 1; connections <= 20_000; connections += 7) {
      const { pace, frames, kilobytes } = fairShareOf(connections);
      expect(connections * pace.stepsPerSecond).toBeLessThanOrEqual(3_072);
      expect(connections * frames.perSecond).toBeLessThanOrEqual(4_096);
      expect(connections * kilobytes.perSecond).toBeLessThanOrEqual(16_384);
    }
  });

  it('stays as it is while a few come and go', () => {
    expect(fairShareOf(1_100)).toEqual(fairShareOf(2_000));
  });
});
