import { SeriesRing } from './series-ring.ts';

describe('the series', () => {
  const frame = {
    at: '2026-01-01T00:00:00Z',
    jobUid: 'j',
    namespace: 'n',
    jobName: 'j',
    epoch: 1,
    step: 1,
    loss: null,
    tokens: null,
    stepTimeMs: 1,
    learningRate: null,
    gradNorm: null,
    ranks: [],
  };
  const sequences = (ring: SeriesRing, from: { bootId?: string; after?: number } = {}): number[] => {
    const cursor = ring.cursor(from);
    const seen: number[] = [];
    for (let line = cursor.next(); line !== undefined; line = cursor.next()) {
      seen.push((JSON.parse(line) as { sequence: number }).sequence);
    }
    return seen;
  };

  it.each([
    ['everything that is left to a new reader', {}, [3, 4, 5]],
    ['the rest to one that comes back', { bootId: 'b', after: 4 }, [5]],
    ['what is left to one that was away too long, who sees the jump', { bootId: 'b', after: 1 }, [3, 4, 5]],
    ['everything to one that knew an earlier process', { bootId: 'a', after: 4 }, [3, 4, 5]],
    ['nothing to one that claims the future', { bootId: 'b', after: 99 }, []],
  ])('gives %s', (_what, from, want) => {
    const ring = new SeriesRing({ bootId: 'b', limits: { frames: 3 } });
    for (let count = 0; count < 5; count += 1) ring.append(frame);
    expect(sequences(ring, from)).toEqual(want);
  });

  it('shows what was missed as a gap in its numbers before the next frame, one a second at most', () => {
    let nowMs = 0;
    const ring = new SeriesRing({ bootId: 'b', limits: { frames: 3 }, clock: { monotonicMs: () => nowMs } });
    ring.append(frame);
    for (const missed of [3, 4]) {
      ring.miss(missed);
      ring.append(frame);
    }
    expect(sequences(ring)).toEqual([1, 5, 6]);
    nowMs = 1_000;
    ring.append(frame);
    expect(sequences(ring)).toEqual([5, 6, 11]);
    expect(ring.newestSequence).toBe(11);
    ring.append(frame);
    ring.append(frame);
    expect(sequences(ring, { bootId: 'b', after: 6 })).toEqual([11, 12, 13]);
  });

  it('is bounded by its size as well as by its number of frames', () => {
    const ring = new SeriesRing({ bootId: 'b', limits: { characters: 500 } });
    for (let count = 0; count < 5; count += 1) ring.append(frame);
    expect(sequences(ring).length).toBeLessThan(3);
  });
});
