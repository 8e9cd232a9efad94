import fc from 'fast-check';
import { addToAll, copyStretch, latest, RepeatingWaves, stretchRepeats } from './repeating-waves.ts';

/** Clocks of two ranks, wave after wave: an irregular start, then a period of `steps` in which both move on by `shiftS`. */
function clocksOf(start: readonly number[], steps: readonly number[], waves: number): Float64Array[] {
  const clocks: Float64Array[] = [];
  let firstS = 0;
  for (let wave = 0; wave < waves; wave++) {
    const stepS = start[wave] ?? steps[(wave - start.length) % steps.length] ?? 0;
    firstS += stepS;
    clocks.push(Float64Array.of(firstS, firstS + 10 + (wave < start.length ? wave : 0)));
  }
  return clocks;
}

/** Wave, lag and shift of the first repetition that is found. */
function found(clocks: readonly Float64Array[]): { wave: number; lag: number; shiftS: number } | undefined {
  const waves = new RepeatingWaves(new Float64Array(2));
  for (const [wave, clocksS] of clocks.entries()) {
    if (waves.repeats(wave, clocksS)) return { wave, lag: waves.lag, shiftS: waves.shiftS };
    waves.moveOn(wave, clocksS);
  }
  return undefined;
}

describe('RepeatingWaves', () => {
  it('sees a regular advance at the second wave', () => {
    expect(found(clocksOf([], [3], 10))).toEqual({ wave: 1, lag: 1, shiftS: 3 });
  });

  it('does not take two clocks that drift apart for a rhythm', () => {
    const drifting = Array.from({ length: 50 }, (_, wave) => Float64Array.of(3 * wave, 3.01 * wave));
    expect(found(drifting)).toBeUndefined();
  });

  it('finds the rhythm behind any irregular start', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 2, maxLength: 12 }), (start) => {
        const repetition = found(clocksOf(start, [2], 200));
        expect(repetition?.shiftS).toBe(2 * (repetition?.lag ?? 0));
        expect(repetition?.wave).toBeLessThan(4 * start.length + 4);
      }),
    );
  });

  it('finds a period that is longer than its patience, by remembering later waves', () => {
    const period = 5;
    // The second clock runs ahead by another amount in each wave of the period.
    const clocks = Array.from({ length: 60 }, (_, wave) => Float64Array.of(4 * wave, 4 * wave + (wave % period)));
    expect(found(clocks)).toMatchObject({ lag: period, shiftS: 4 * period });
  });

  it('takes clocks for equal that differ by rounding, and not by more', () => {
    const nearly = (differenceS: number) => {
      const waves = new RepeatingWaves(new Float64Array(2));
      waves.repeats(0, Float64Array.of(100, 200));
      return waves.repeats(1, Float64Array.of(110, 210 + differenceS));
    };
    expect([nearly(0), nearly(1e-11), nearly(1e-8)]).toEqual([true, true, false]);
  });

  it('keeps what it remembered while it is patient', () => {
    const waves = new RepeatingWaves(new Float64Array(1));
    waves.repeats(0, Float64Array.of(1));
    waves.repeats(3, Float64Array.of(7));
    expect([waves.lag, waves.shiftS]).toEqual([3, 6]);
  });
});

describe('a stretch of recorded times', () => {
  const recorded = () => Float64Array.of(1, 2, 4, 11, 12, 14, 0, 0, 0);

  it.each([
    ['the times of three entries ago, ten seconds later', { from: 3, length: 3 }, 3, 10, true],
    ['but not eleven seconds later', { from: 3, length: 3 }, 3, 11, false],
    ['nor those of two entries ago', { from: 3, length: 3 }, 2, 10, false],
    ['an empty one repeats anything', { from: 3, length: 0 }, 3, 99, true],
  ] as const)('repeats %s', (...[, stretch, lag, shiftS, want]) => {
    expect(stretchRepeats(recorded(), stretch, lag, shiftS)).toBe(want);
  });

  it('looks at its first and last entry', () => {
    for (const odd of [3, 5]) {
      const times = recorded();
      times[odd] = 99;
      expect(stretchRepeats(times, { from: 3, length: 3 }, 3, 10)).toBe(false);
    }
  });

  it('is copied on, later by the shift', () => {
    const times = recorded();
    copyStretch(times, { from: 3, length: 3 }, 3, 10);
    expect([...times]).toEqual([1, 2, 4, 11, 12, 14, 21, 22, 24]);
  });

  it('is copied whole onto entries that it overlaps', () => {
    const times = Float64Array.of(1, 2, 3, 4, 0);
    copyStretch(times, { from: 0, length: 4 }, 1, 100);
    expect([...times]).toEqual([1, 101, 102, 103, 104]);
  });
});

describe('clocks', () => {
  it('move on together, and the latest is the end', () => {
    const clocks = Float64Array.of(1, 5, 3);
    addToAll(clocks, 2);
    expect([...clocks]).toEqual([3, 7, 5]);
    expect(latest(clocks)).toBe(7);
    expect(latest(new Float64Array(0))).toBe(0);
  });
});
