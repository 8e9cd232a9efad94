import type { SeriesFrame } from '@coxswain/api-types';
import { type Gap, StreamPosition } from './stream-position.ts';
import { aStepFrame } from './testing/a-step-frame.ts';

const step = (sequence: number, bootId = 'a'): SeriesFrame => aStepFrame({ sequence, bootId });
const keepalive = (sequence: number, bootId = 'a'): SeriesFrame => ({
  kind: 'keepalive',
  bootId,
  sequence,
  at: '2026-01-01T00:00:00Z',
});

describe('reading the operator’s stream', () => {
  it.each<[string, readonly SeriesFrame[], readonly Gap[], { bootId: string; sequence: number }]>([
    ['misses nothing of frames in sequence', [step(1), step(2), step(3)], [], { bootId: 'a', sequence: 3 }],
    [
      'counts what a jump has left out',
      [step(1), step(5)],
      [{ bootId: 'a', missedFrames: 3 }],
      { bootId: 'a', sequence: 5 },
    ],
    [
      'counts what was before the first frame that is heard',
      [step(4)],
      [{ bootId: 'a', missedFrames: 3 }],
      { bootId: 'a', sequence: 4 },
    ],
    [
      'takes a frame that comes twice for no gap, and does not go back',
      [step(1), step(2), step(1)],
      [],
      { bootId: 'a', sequence: 2 },
    ],
    [
      'misses nothing by a keepalive, which repeats the newest number',
      [step(1), keepalive(1), step(2)],
      [],
      { bootId: 'a', sequence: 2 },
    ],
    [
      'moves not on by a keepalive: what it skips is still to come',
      [step(1), keepalive(9)],
      [],
      { bootId: 'a', sequence: 1 },
    ],
    [
      'cannot tell how much an earlier boot had left',
      [step(1), step(1, 'b')],
      [{ bootId: 'b', missedFrames: null }],
      { bootId: 'b', sequence: 1 },
    ],
    [
      'hears of a new boot by a keepalive too',
      [step(7), keepalive(0, 'b')],
      [
        { bootId: 'a', missedFrames: 6 },
        { bootId: 'b', missedFrames: null },
      ],
      { bootId: 'b', sequence: 0 },
    ],
  ])('%s', (_sentence, frames, gaps, resumeAfter) => {
    const position = new StreamPosition();
    expect(frames.flatMap((frame) => position.advance(frame))).toEqual(gaps);
    expect(position.resumeAfter).toEqual(resumeAfter);
  });

  it('begins anywhere before anything was heard', () => {
    expect(new StreamPosition().resumeAfter).toBeUndefined();
  });
});
