import { signInProblem } from './sign-in-problem.ts';

describe('a sign-in that failed', () => {
  it.each([
    ['no-role', /has no role here\. Ask an administrator/],
    ['start-again', /Please start again/],
    ['unavailable', /or use an API token/],
    ['refused', /was not completed/],
    ['constructor', /was not completed/],
    ['Call +1 555 0100 to unlock your account', /^The sign-in was not completed\. Please try again\.$/],
  ])('for %j is told in a sentence of ours', (word, want) => {
    expect(signInProblem(word)).toMatch(want);
  });
});
