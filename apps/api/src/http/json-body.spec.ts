import { MAX_BODY_DEPTH, MAX_BODY_VALUES, parseJsonBody } from './json-body.ts';

const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

describe('a body', () => {
  it.each([
    ['the deepest nesting that is allowed', nested(MAX_BODY_DEPTH)],
    ['brackets inside of strings, however many', JSON.stringify({ text: '['.repeat(1_000), more: 'a\\"[[[' })],
    ['as many values as are allowed', JSON.stringify(Array.from({ length: MAX_BODY_VALUES - 1 }, () => 1))],
    ['commas inside of strings, however many', JSON.stringify([','.repeat(MAX_BODY_VALUES)])],
    ['the name of a prototype as a value', '["__proto__"]'],
    ['many brackets side by side', JSON.stringify(Array.from({ length: 10_000 }, () => ({})))],
  ])('may hold %s', (_what, text) => {
    expect(parseJsonBody(text)).toEqual(JSON.parse(text));
  });

  it('is no body when it is empty', () => {
    expect(parseJsonBody(' ')).toBeUndefined();
  });

  it.each([
    ['one level more than is allowed', nested(MAX_BODY_DEPTH + 1), /32 levels/],
    ['a hundred thousand levels, at once', nested(100_000), /32 levels/],
    ['a prototype, however deep', '{"a":{"__proto__":{}}}', /__proto__/],
    ['a prototype that is spelt otherwise', '[{"\\u005f_proto__":1}]', /__proto__/],
    ['a megabyte of empty objects', `[${'{},'.repeat(349_000)}{}]`, /50000 values/],
    [
      'one number more than is allowed',
      JSON.stringify(Array.from({ length: MAX_BODY_VALUES }, () => 1)),
      /50000 values/,
    ],
    ['half a document', '{"a":', /not JSON/],
  ])('must not hold %s', (_what, text, want) => {
    expect(() => parseJsonBody(text)).toThrow(want);
  });
});
