import { LogTail } from './log-relay.ts';

type Happening = string | { readonly rank?: number; readonly step: number; readonly afterMs?: number };

/** Text is a line; a number is a step that a rank reports, by default 2 s later. */
function tailAfter(happenings: readonly Happening[], ranks = 1): readonly string[] {
  let nowMs = 0;
  const tail = new LogTail(ranks, () => nowMs);
  for (const one of happenings) {
    if (typeof one === 'string') tail.push([{ bytes: Buffer.from(one), cutBytes: 0 }]);
    else {
      nowMs += one.afterMs ?? 2_000;
      tail.noteStep(one.rank ?? 0, one.step);
    }
  }
  return tail.read();
}

const mark = (step: number): string => `[launcher] The rank trained on to step ${step} after the lines above.`;

describe('the last lines of a rank', () => {
  it.each<[string, readonly Happening[], readonly string[]]>([
    ['are as they were written', ['a', 'ValueError: b'], ['a', 'ValueError: b']],
    [
      'have a mark behind an error after which two steps came',
      ['ValueError: b', { step: 7 }, { step: 8 }, { step: 9 }, 'bye'],
      ['ValueError: b', mark(9), 'bye'],
    ],
    ['have none after one step, which may have been under way', ['ValueError: b', { step: 7 }], ['ValueError: b']],
    ['have none if the same step is reported twice', ['ValueError: b', { step: 7 }, { step: 7 }], ['ValueError: b']],
    [
      'have none if the steps come at once',
      ['ValueError: b', { step: 7, afterMs: 1 }, { step: 8, afterMs: 1 }],
      ['ValueError: b'],
    ],
    ['have none where nothing looks like an error', ['hello', { step: 7 }, { step: 8 }], ['hello']],
    [
      'have one mark, the newest',
      ['warning: a', { step: 1 }, { step: 2 }, 'error: b', { step: 3 }, { step: 4 }],
      ['warning: a', 'error: b', mark(4)],
    ],
    [
      'lose the mark with the lines before it',
      ['error: a', { step: 1 }, { step: 2 }, ...Array.from({ length: 20 }, (_, index) => `line ${index}`)],
      Array.from({ length: 20 }, (_, index) => `line ${index}`),
    ],
  ])('%s', (_sentence, happenings, want) => {
    expect(tailAfter(happenings)).toEqual(want);
  });

  it('of two ranks in one process have a mark once both have trained on', () => {
    const first: readonly Happening[] = ['ValueError: b', { rank: 0, step: 7 }, { rank: 0, step: 8 }];
    expect(tailAfter(first, 2)).toEqual(['ValueError: b']);
    const both = [...first, { rank: 1, step: 7 }, { rank: 1, step: 8 }];
    expect(tailAfter(both, 2)).toEqual(['ValueError: b', mark(8)]);
  });

  it('are at most twenty, the mark included', () => {
    const lines = Array.from({ length: 20 }, (_, index) => `error ${index}`);
    expect(tailAfter([...lines, { step: 1 }, { step: 2 }])).toHaveLength(20);
  });
});
