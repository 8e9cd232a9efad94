import { firstMatch, lineMatches } from './line-pattern.ts';

describe('a pattern', () => {
  it.each<[string, string, string, boolean]>([
    ['is found anywhere', 'out of memory', 'CUDA out of memory. Tried', true],
    ['does not mind case', 'eaddrinuse', 'name: EADDRINUSE, message', true],
    [
      'has pieces with anything between them',
      'got*from peer*status=12',
      'Got completion from peer 1 with status=12',
      true,
    ],
    ['has its pieces in order', 'b*a', 'a then b', false],
    ['uses no character twice', 'aba*ba', 'ababa', true],
    ['nor where there are too few', 'aba*ba', 'aba', false],
    ['is no regular expression', 'a.c', 'abc', false],
    ['takes its own signs as they are', '(errno: 98', 'bind (errno: 98 - taken)', true],
    ['of nothing but stars is in every line', '*', '', true],
    ['is not found beyond 512 characters', 'end', `${'x'.repeat(512)}end`, false],
  ])('%s', (_sentence, pattern, line, want) => {
    expect(lineMatches(pattern, line)).toBe(want);
  });

  it('of a list is answered by the first line that one of them matches', () => {
    expect(firstMatch(['b', 'c'], ['a', 'c1', 'b1'])).toBe('c1');
    expect(firstMatch([], ['a'])).toBeUndefined();
  });
});
