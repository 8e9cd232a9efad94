import { sameStatus } from './same-status.ts';
import { aStatus } from '../testing/jobs.ts';

describe('two statuses', () => {
  const status = aStatus();
  const reversed = Object.fromEntries(Object.entries(status).toReversed()) as typeof status;

  it.each([
    ['say the same, whatever the order of their keys', status, reversed, true],
    [
      'say the same where a key is undefined in one and absent in the other',
      { ...status, plan: undefined },
      status,
      true,
    ],
    ['say the same where both are absent', undefined, undefined, true],
    ['differ where one is absent', status, undefined, false],
    [
      'say the same where a number that is none was stored as null',
      { ...status, loss: NaN },
      { ...status, loss: null },
      true,
    ],
    ['differ where one inherits a field of that name', { ...status, toString: 1 }, status, false],
    ['differ in a number', status, { ...status, epoch: 7 }, false],
    ['differ in the order of a list', { ...status, conditions: [1, 2] }, { ...status, conditions: [2, 1] }, false],
    [
      'differ deep inside',
      status,
      aStatus({ attempts: status.attempts?.map((one) => ({ ...one, message: 'x' })) }),
      false,
    ],
  ])('%s', (_sentence, left, right, want) => {
    expect(sameStatus(left as typeof status, right as typeof status)).toBe(want);
    expect(sameStatus(right as typeof status, left as typeof status)).toBe(want);
  });
});
