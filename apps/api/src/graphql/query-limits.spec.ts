import { parse } from 'graphql';
import { MAX_ALIASES, MAX_FIELDS, MAX_QUERY_DEPTH, MAX_ROOT_FIELDS, requireModest } from './query-limits.ts';

const times = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => make(index)).join(' ');
const nested = (levels: number): string => '{ a '.repeat(levels) + '}'.repeat(levels);
const fragment = (body: string): string => `fragment F on T { ${body} }`;

describe('a document', () => {
  it.each([
    ['one field', '{ a }'],
    ['as many fields as are allowed', `{ a { ${times(MAX_FIELDS - 1, () => 'b')} } }`],
    ['as many root fields as are allowed', `{ ${times(MAX_ROOT_FIELDS, () => 'a')} }`],
    ['as many levels as are allowed', nested(MAX_QUERY_DEPTH)],
    ['as many aliases as are allowed', `{ a { ${times(MAX_ALIASES, (index) => `b${index}: b`)} } }`],
    ['a fragment in itself, which validation refuses', `{ a { ...F } } ${fragment('b ...F')}`],
    ['a fragment that is missing, which validation refuses', '{ a { ...G } }'],
  ])('with %s passes', (_what, query) => {
    expect(() => requireModest(parse(query))).not.toThrow();
  });

  it.each([
    ['a field too many', `{ a { ${times(MAX_FIELDS, () => 'b')} } }`, 'has 1501 fields; at most 1500'],
    ['a root field too many', `{ ${times(MAX_ROOT_FIELDS + 1, () => 'a')} }`, 'has 11 fields at its root; at most 10'],
    [
      'root fields in several operations',
      times(MAX_ROOT_FIELDS + 1, (index) => `query Q${index} { a }`),
      'has 11 fields at its root',
    ],
    ['root fields in a fragment', `{ ...F } ${fragment(times(11, () => 'a'))}`, 'has 11 fields at its root'],
    ['root fields in an inline fragment', `{ ... { ${times(11, () => 'a')} } }`, 'has 11 fields at its root'],
    ['an alias too many', `{ a { ${times(16, (index) => `b${index}: b`)} } }`, 'has 16 aliases; at most 15'],
    ['a level too many', nested(MAX_QUERY_DEPTH + 1), 'nested more than 16 levels deep'],
    [
      'a level too many in a fragment',
      `{ a { ...F } } ${fragment(nested(MAX_QUERY_DEPTH).slice(1, -1))}`,
      'levels deep',
    ],
    ['a level too many of inline fragments', `{ ${'... { '.repeat(16)} a ${'}'.repeat(16)} }`, 'levels deep'],
    [
      'a fragment of ten aliases, spread four times',
      `{ a { ...F b { ...F } c { ...F } d { ...F } } } ${fragment(times(10, (index) => `x${index}: x`))}`,
      'has 40 aliases',
    ],
    [
      'fragments that double forty times',
      `{ a { ...F0 } } ${times(40, (index) => `fragment F${index} on T { ...F${index + 1} ...F${index + 1} }`)} fragment F40 on T { z }`,
      'has over a million fields',
    ],
  ])('with %s is refused', (_what, query, sentence) => {
    expect(() => requireModest(parse(query))).toThrow(sentence);
  });
});
