import type { StepLine } from '../step-lines/printed-step.ts';
import { OwnCounts } from './own-counts.ts';

const line = (step: number | null): StepLine => ({
  ...{ step, loss: 1, gradNorm: null, learningRate: null, stepTimeMs: null, isOwnCount: true },
});

/** What comes, in order: a hook reports a step, or the program prints one. */
type Came = { readonly hook: number } | { readonly prints: number | null };

/** The steps that lines get. */
function placed(came: readonly Came[], counts = new OwnCounts(), everyMs = 100): readonly (number | null)[] {
  const lines = came.flatMap((one, index) =>
    'hook' in one ? counts.hear(one.hook) : counts.take({ rank: 0, line: line(one.prints) }, index * everyMs),
  );
  return lines.map((one) => one.line.step);
}

const hook = (step: number): Came => ({ hook: step });
const prints = (step: number | null): Came => ({ prints: step });

describe('the step of a line', () => {
  it.each<[string, readonly Came[], readonly (number | null)[]]>([
    ['is what it says if hooks count alike', [hook(1), prints(1), hook(2), prints(2)], [1, 2]],
    ['may be printed just before the hook reports', [hook(1), prints(2), hook(2), prints(3)], [2, 3]],
    [
      'is one more in a loop that counts from 0',
      [hook(1), prints(0), hook(2), prints(1), hook(3), prints(2)],
      [1, 2, 3],
    ],
    [
      'goes on where each epoch counts anew',
      [hook(9), prints(9), hook(10), prints(10), hook(11), prints(1), hook(12), prints(2)],
      [9, 10, 11, 12],
    ],
    [
      'is that of the hook where the program went on from a checkpoint of its own',
      [hook(10), prints(5_010), hook(20), prints(5_020)],
      [10, 20],
    ],
    ['is kept if one line is late', [hook(1), prints(1), hook(3), prints(2), hook(4), prints(4)], [1, 2, 4]],
    [
      'is corrected if two lines are as far off',
      [hook(1), prints(1), hook(3), prints(2), hook(4), prints(3), hook(5), prints(4)],
      [1, 2, 4, 5],
    ],
    ['is none if the line names none', [hook(1), prints(null)], [null]],
    ['is placed once the first hook reports', [prints(0), hook(1), prints(1)], [1, 2]],
    ['is not known before a hook reports', [prints(1), prints(2)], []],
  ])('%s', (_sentence, came, want) => {
    expect(placed(came)).toEqual(want);
  });

  it('is what the program says if no hook reports for two seconds', () => {
    expect(placed([prints(0), prints(1), prints(2), prints(3)], new OwnCounts(), 1_000)).toEqual([0, 1, 2, 3]);
  });

  it('is what the program says if it ends before that', () => {
    const counts = new OwnCounts();
    expect(placed([prints(0), prints(1)], counts)).toEqual([]);
    expect(counts.flush().map((one) => one.line.step)).toEqual([0, 1]);
  });

  it('is counted anew when other ranks start', () => {
    const counts = new OwnCounts();
    placed([hook(10), prints(5_010)], counts);
    counts.begin();
    expect(placed([hook(1), prints(1)], counts)).toEqual([1]);
  });
});
