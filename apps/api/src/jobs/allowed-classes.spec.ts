import { classProblem } from './allowed-classes.ts';

describe('a project', () => {
  it.each<[string, readonly string[], string | undefined]>([
    ['may use a class of its settings', ['high', 'urgent'], undefined],
    [
      'may use no other, and is shown which it may',
      ['high', 'low'],
      'project vision may not use PriorityClass urgent; it may use high, low. Name one of these, or leave the field out, or ask a cluster administrator for the class',
    ],
    [
      'may use none without the setting',
      [],
      'project vision may not use PriorityClass urgent; it may use none but the default. Leave the field out, or ask a cluster administrator for the class',
    ],
  ])('%s', (_sentence, allowed, want) => {
    expect(classProblem('urgent', 'vision', allowed)).toBe(want);
  });
});
