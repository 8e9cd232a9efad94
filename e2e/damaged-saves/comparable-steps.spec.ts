import { comparableSteps } from './comparable-steps.ts';

describe('steps whose loss is compared after a resume', () => {
  it.each<[string, readonly number[], number, readonly number[]]>([
    ['are all later ones where each step is printed', [1, 2, 3, 4, 5], 3, [4, 5]],
    ['are without the first mean that the resume cuts', [48, 52, 56, 60], 50, [56, 60]],
    ['are with the first mean where the resume is at its start', [48, 52, 56, 60], 52, [56, 60]],
    ['are none where nothing was printed', [], 10, []],
    ['may come in any order', [60, 48, 56, 52], 50, [56, 60]],
  ])('%s', (_sentence, printed, resumedFrom, want) => {
    expect(comparableSteps(printed, resumedFrom)).toEqual(want);
  });
});
