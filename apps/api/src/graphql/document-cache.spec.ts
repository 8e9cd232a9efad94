import { parse } from 'graphql';
import { DocumentCache, MAX_CACHE_BYTES, MAX_KEPT_CHARACTERS } from './document-cache.ts';

const kept = (texts: readonly string[]): DocumentCache => {
  const cache = new DocumentCache();
  for (const text of texts) cache.keep(text, parse(text));
  return cache;
};
const long = (index: number, length = MAX_KEPT_CHARACTERS): string => `{ a${index} } # `.padEnd(length, 'x');

describe('the documents that are kept', () => {
  it('are found by their text', () => {
    expect(kept(['{ a }']).get('{ a }')).toMatchObject({ kind: 'Document' });
    expect(kept(['{ a }']).get('{ b }')).toBeUndefined();
  });

  it('take no more memory than their bound, however many come', () => {
    const texts = Array.from({ length: 1_000 }, (_, index) => long(index));
    const cache = kept(texts);
    expect(cache.bytes).toBeLessThanOrEqual(MAX_CACHE_BYTES);
    expect(texts.filter((text) => cache.get(text) !== undefined).length).toBeLessThan(20);
  });

  it('are those that were asked for last', () => {
    const cache = kept(['{ often }']);
    for (let index = 0; index < 100; index++) {
      cache.get('{ often }');
      cache.keep(long(index), parse('{ a }'));
    }
    expect([cache.get('{ often }'), cache.get(long(0)), cache.get(long(99))].map(Boolean)).toEqual([true, false, true]);
  });

  it('are short', () => {
    const cache = kept([long(0, MAX_KEPT_CHARACTERS + 1)]);
    expect(cache.bytes).toBe(0);
  });
});
