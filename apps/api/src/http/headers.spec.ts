import { codeOf } from '../testing/code-of.ts';
import { idempotencyKeyOf } from './idempotency-key.ts';
import { isUuid } from './ids.ts';
import { MAX_PAGE_SIZE, pageQuery } from './page-query.ts';

describe('an Idempotency-Key', () => {
  it.each<[string | undefined, string | undefined]>([
    [undefined, undefined],
    ['a', 'a'],
    ['a'.repeat(200), 'a'.repeat(200)],
    ['3f1c2b9e/~!', '3f1c2b9e/~!'],
  ])('%j is taken', (header, want) => {
    expect(idempotencyKeyOf(header)).toBe(want);
  });

  it.each(['', ' ', 'a b', 'a'.repeat(201), 'ä', 'a\nb', 'a\0'])('%j is refused', (header) => {
    expect(codeOf(() => idempotencyKeyOf(header))).toBe('INVALID_REQUEST');
  });
});

describe('an id', () => {
  it.each(['3f1c2b9e-0000-4000-8000-000000000001', '3F1C2B9E-0000-4000-8000-000000000001'])('can be %s', (text) => {
    expect(isUuid(text)).toBe(true);
  });

  it.each([
    '',
    'x',
    '3f1c2b9e',
    '3f1c2b9e-0000-4000-8000-00000000000',
    ' 3f1c2b9e-0000-4000-8000-000000000001',
    "' OR 1=1",
  ])('cannot be %j', (text) => {
    expect(isUuid(text)).toBe(false);
  });
});

describe('the size of a page', () => {
  const sizeOf = (text: unknown): number | undefined => pageQuery.pageSize.safeParse(text).data;

  it.each<[unknown, number | undefined]>([
    [undefined, 50],
    ['1', 1],
    [String(MAX_PAGE_SIZE), MAX_PAGE_SIZE],
    [String(MAX_PAGE_SIZE + 1), undefined],
    ['0', undefined],
    ['-1', undefined],
    ['2.5', undefined],
    ['many', undefined],
  ])('asked as %j is %j', (text, want) => {
    expect(sizeOf(text)).toBe(want);
  });
});
