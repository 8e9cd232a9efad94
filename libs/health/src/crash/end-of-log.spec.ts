import { endOfLog } from './end-of-log.ts';

const RAISED = ['Traceback (most recent call last):', '  File "/app/train.py", line 3, in main', 'ValueError: empty'];
const STEPS = ['step 28 loss 2.1', 'step 29 loss 2.0'];

describe('the end of the log of a rank that exited with 0', () => {
  it.each<[string, readonly string[], ReturnType<typeof endOfLog>]>([
    [
      'shows an exception that was caught',
      [...STEPS, ...RAISED],
      { error: 'ValueError: empty', isErrorLast: true, shownSteps: 2 },
    ],
    [
      'shows one behind which a wrapper goes on',
      [...RAISED, 'wrapper done'],
      { error: 'ValueError: empty', isErrorLast: false, shownSteps: 0 },
    ],
    [
      'shows no exception that the rank survived',
      [...RAISED, ...STEPS],
      { error: undefined, isErrorLast: false, shownSteps: 2 },
    ],
    ['shows steps', STEPS, { error: undefined, isErrorLast: false, shownSteps: 2 }],
    [
      'shows a loss that is not a number',
      [...STEPS, 'step 30/30 | loss: nan | lr 3e-4', 'bye'],
      { error: 'the loss is not a number: step 30/30 | loss: nan | lr 3e-4', isErrorLast: true, shownSteps: 2 },
    ],
    [
      'shows a loss that is a number again',
      ['step 27 loss inf', ...STEPS],
      { error: undefined, isErrorLast: false, shownSteps: 2 },
    ],
    ['shows nothing', [], { error: undefined, isErrorLast: false, shownSteps: 0 }],
  ])('%s', (_sentence, lines, want) => {
    expect(endOfLog(lines)).toEqual(want);
  });
});
