import { storableJson, storableText } from './storable-json.ts';

describe('what is stored as JSON', () => {
  it.each<[string, unknown, unknown]>([
    ['keeps what every database takes', { text: 'a 🚣 "b"\n' }, { text: 'a 🚣 "b"\n' }],
    ['loses a NUL in a value', 'a\0b', 'a\uFFFDb'],
    ['loses a NUL in a key', { 'a\0b': 1 }, { 'a\uFFFDb': 1 }],
    ['loses each of several in a row', '\0\0', '\uFFFD\uFFFD'],
    ['loses half of a surrogate pair', '\ud83d!', '\uFFFD!'],
    ['keeps text that only speaks of a NUL', '\\u0000', '\\u0000'],
    ['loses a NUL behind a backslash', '\\\0', '\\\uFFFD'],
  ])('%s', (_sentence, value, want) => {
    expect(JSON.parse(storableJson(value))).toEqual(want);
  });

  it('is cleaned alike as plain text', () => {
    expect(storableText('a\0b\ud83d')).toBe('a\uFFFDb\uFFFD');
  });
});
