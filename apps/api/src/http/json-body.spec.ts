import { MAX_BODY_DEPTH, parseJsonBody } from './json-body.ts';

const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

describe('a body', () => {
  it.each([
    ['the deepest nesting that is allowed', nested(MAX_BODY_DEPTH)],
    ['brackets inside of strings, however many', JSON.stringify({ text: '['.repeat(1_000), more: 'a\\"[[[' })],
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
    ['half a document', '{"a":', /not JSON/],
  ])('must not hold %s', (_what, text, want) => {
    expect(() => parseJsonBody(text)).toThrow(want);
  });
});
