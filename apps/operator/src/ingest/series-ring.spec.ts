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

  /** Numbers of the frames that are left, by namespace. */
  const left = (ring: SeriesRing): Record<string, number> => {
    const cursor = ring.cursor({});
    const counts: Record<string, number> = {};
    for (let line = cursor.next(); line !== undefined; line = cursor.next()) {
      const { namespace } = JSON.parse(line) as { namespace: string };
      counts[namespace] = (counts[namespace] ?? 0) + 1;
    }
    return counts;
  };

  it.each<[string, string, Readonly<Record<string, number>>]>([
    ['one namespace alone has all of it', 'a'.repeat(30), { a: 12 }],
    ['a modest one loses nothing to one that floods it', `${'a'.repeat(20)}bbb${'a'.repeat(50)}`, { a: 9, b: 3 }],
    ['a newcomer takes from the one that has most', `${'a'.repeat(9)}bbb${'a'.repeat(9)}cccc`, { a: 5, b: 3, c: 4 }],
    ['those that flood it share it', `${'ab'.repeat(40)}`, { a: 6, b: 6 }],
    ['it goes to those that go on when others stop', `${'a'.repeat(20)}${'b'.repeat(20)}`, { a: 6, b: 6 }],
  ])('is shared by namespace: %s', (_, namespaces, wanted) => {
    const ring = new SeriesRing({ bootId: 'b', limits: { frames: 12 } });
    for (const namespace of namespaces) ring.append({ ...frame, namespace });
    expect(left(ring)).toEqual(wanted);
  });

  it('keeps no share for a namespace that stopped half a minute ago', () => {
    let nowMs = 0;
    const ring = new SeriesRing({ bootId: 'b', limits: { frames: 12 }, clock: { monotonicMs: () => nowMs } });
    for (const namespace of 'aaaaaaaabbbb') ring.append({ ...frame, namespace });
    nowMs = 30_001;
    for (const namespace of 'b'.repeat(10)) ring.append({ ...frame, namespace });
    expect(left(ring)).toEqual({ b: 12 });
  });

  it('shows a reader what was dropped of one namespace as gaps, and gives all that is left in order', () => {
    const ring = new SeriesRing({ bootId: 'b', limits: { frames: 4 } });
    for (const namespace of 'abbaaaa') ring.append({ ...frame, namespace });
    expect(sequences(ring)).toEqual([2, 3, 6, 7]);
    expect(sequences(ring, { bootId: 'b', after: 3 })).toEqual([6, 7]);
  });
});
