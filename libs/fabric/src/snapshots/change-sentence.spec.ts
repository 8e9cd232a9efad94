import { changeSentence, formatFactChange } from './change-sentence.ts';

describe('a change of the fabric', () => {
  it.each([
    ['2 nodes went: a, b', { kind: 'gone', nodeCount: 2, nodes: ['a', 'b'] }],
    ['1 node came: a', { kind: 'came', nodeCount: 1, nodes: ['a'] }],
    [
      '1,200 nodes changed: a, b, c, d and 1,196 more',
      { kind: 'changed', nodeCount: 1_200, nodes: ['a', 'b', 'c', 'd', 'e', 'f'] },
    ],
  ] as const)('is told as: %s', (sentence, { kind, nodeCount, nodes }) => {
    expect(changeSentence({ kind, nodeCount, nodes: [...nodes] })).toBe(sentence);
  });

  it.each([
    ['roce → infiniband', 'changed', { before: 'roce', after: 'infiniband' }],
    ['nobody says → roce', 'changed', { before: null, after: 'roce' }],
    ['roce', 'came', { before: null, after: 'roce' }],
    ['roce', 'gone', { before: 'roce', after: null }],
  ] as const)('says of a fact: %s (%s)', (sentence, kind, values) => {
    expect(formatFactChange(kind, values, '→')).toBe(sentence);
  });
});
