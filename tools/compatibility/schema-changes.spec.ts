import type { Schema } from './schema.ts';
import { SchemaComparison, type Direction } from './schema-changes.ts';

function changes(before: Schema, after: Schema, direction: Direction): readonly string[] {
  const named = { before: {}, after: {} };
  return new SchemaComparison(named).changes(before, after, { path: 'job', direction });
}

const text: Schema = { type: 'string' };
const count: Schema = { type: 'integer' };
const object = (properties: Schema['properties'] = {}, ...required: readonly string[]): Schema => ({
  type: 'object',
  properties,
  required,
});
const words = (...values: readonly string[]): Schema => ({ type: 'string', enum: values });
const kind = (word: string, more: Schema['properties'] = {}): Schema =>
  object({ kind: { type: 'string', const: word }, ...more }, 'kind');
const rule = (...rules: readonly string[]): Schema => ({
  'x-kubernetes-validations': rules.map((one) => ({ rule: one })),
});

describe('what users write', () => {
  it.each<[string, Schema, Schema, readonly string[]]>([
    ['a field that is gone', object({ a: text }), object(), ['job.a: is gone']],
    ['a field that is required now', object({ a: text }), object({ a: text }, 'a'), ['job.a: is required now']],
    ['a new field that is required', object(), object({ a: text }, 'a'), ['job.a: is required now']],
    ['another type', text, count, ['job: was string, and is now integer']],
    ['fewer types', { type: ['string', 'null'] }, text, ['job: was string or null, and is now string']],
    [
      'null, which is no longer taken',
      { type: 'string', nullable: true },
      text,
      ['job: was string or null, and is now string'],
    ],
    ['whole numbers alone', { type: 'number' }, count, ['job: was number, and is now integer']],
    ['one type where any was taken', {}, text, ['job: was of any type, and is now string']],
    ['a word that is gone', words('a', 'b'), words('a'), ['job: no longer has the value "b"']],
    ['words where any text was taken', text, words('a'), ['job: had any value of its type, and now only "a"']],
    ['a higher minimum', { minimum: 1 }, { minimum: 2 }, ['job: minimum was 1, and is now 2']],
    ['a maximum where none was', {}, { maximum: 9 }, ['job: maximum was not set, and is now 9']],
    ['shorter text', { maxLength: 9 }, { maxLength: 8 }, ['job: maxLength was 9, and is now 8']],
    ['fewer items', { maxItems: 9 }, { maxItems: 8 }, ['job: maxItems was 9, and is now 8']],
    ['another pattern', { pattern: 'a' }, { pattern: 'b' }, ['job: pattern was "a", and is now "b"']],
    ['a new format', {}, { format: 'uri' }, ['job: format was not set, and is now "uri"']],
    [
      'an exclusive bound',
      { exclusiveMinimum: false },
      { exclusiveMinimum: true },
      ['job: exclusiveMinimum was false, and is now true'],
    ],
    ['another default', { default: 1 }, { default: 2 }, ['job: default was 1, and is now 2']],
    ['no unknown fields any more', {}, { additionalProperties: false }, ['job: rejects unknown fields now']],
    ['a new rule', rule('a'), rule('a', 'b'), ['job: has a new rule: b']],
    ['a change within a list', { items: text }, { items: count }, ['job[]: was string, and is now integer']],
    [
      'a change within a map',
      { additionalProperties: text },
      { additionalProperties: count },
      ['job{}: was string, and is now integer'],
    ],
    ['a change within a field', object({ a: text }), object({ a: count }), ['job.a: was string, and is now integer']],
    ['a variant that is gone', { anyOf: [text, count] }, text, ['job: was integer, and is now string']],
    [
      'a change within one of two kinds',
      { oneOf: [kind('a', { x: text }), kind('b')] },
      { oneOf: [kind('a'), kind('b')] },
      ['job.x: is gone'],
    ],
  ])('breaks by %s', (_sentence, before, after, want) => {
    expect(changes(before, after, 'written')).toEqual(want);
  });

  it.each<[string, Schema, Schema]>([
    ['a new field', object(), object({ a: text })],
    ['a field that is required no longer', object({ a: text }, 'a'), object({ a: text })],
    ['a new word', words('a'), words('a', 'b')],
    ['any text where words were taken', words('a'), text],
    ['any number where whole ones were taken', count, { type: 'number' }],
    ['one more type', text, { type: ['string', 'null'] }],
    ['a lower minimum', { minimum: 2 }, { minimum: 1 }],
    ['a bound that is gone', { maximum: 9 }, {}],
    ['a rule that is gone', rule('a', 'b'), rule('a')],
    ['a default where none was', {}, { default: 1 }],
    ['one more variant', text, { anyOf: [text, count] }],
    ['variants in another order', { anyOf: [text, count] }, { anyOf: [count, text] }],
  ])('does not break by %s', (_sentence, before, after) => {
    expect(changes(before, after, 'written')).toEqual([]);
  });
});

describe('what users read', () => {
  it.each<[string, Schema, Schema, readonly string[]]>([
    ['a field that is gone', object({ a: text }), object(), ['job.a: is gone']],
    [
      'a field that may be absent now',
      object({ a: text }, 'a'),
      object({ a: text }),
      ['job.a: was always there, and is no longer'],
    ],
    ['null where none was', text, { type: ['string', 'null'] }, ['job: was string, and is now string or null']],
    ['a fraction where whole numbers were', count, { type: 'number' }, ['job: was integer, and is now number']],
    ['any type', text, {}, ['job: was string, and may now be of any type']],
    [
      'a change within a kind, although another has fewer fields',
      { anyOf: [kind('b'), kind('a', { x: text })] },
      { anyOf: [kind('b'), kind('a')] },
      ['job.x: is gone'],
    ],
  ])('breaks by %s', (_sentence, before, after, want) => {
    expect(changes(before, after, 'read')).toEqual(want);
  });

  it.each<[string, Schema, Schema]>([
    ['a new field', object(), object({ a: text }, 'a')],
    ['a new word', words('a'), words('a', 'b')],
    ['a field that is always there now', object({ a: text }), object({ a: text }, 'a')],
    ['tighter bounds', { maximum: 9 }, { maximum: 8 }],
    ['null that comes no longer', { type: ['string', 'null'] }, text],
    ['a new kind', { anyOf: [kind('a'), kind('b')] }, { anyOf: [kind('a'), kind('b'), kind('c', { x: text })] }],
  ])('does not break by %s', (_sentence, before, after) => {
    expect(changes(before, after, 'read')).toEqual([]);
  });
});

describe('named schemas', () => {
  const tree = (leaf: Schema): Schema => object({ leaf, next: { $ref: '#/components/schemas/Tree' } });
  const job: Schema = { $ref: '#/components/schemas/Tree' };

  it('that lead to themselves are compared once, under their name', () => {
    const comparison = new SchemaComparison({ before: { Tree: tree(text) }, after: { Tree: tree(count) } });
    const want = ['Tree (read).leaf: was string, and is now integer'];
    expect(comparison.changes(job, job, { path: 'any', direction: 'read' })).toEqual(want);
  });

  it('are read through parts of allOf', () => {
    const comparison = new SchemaComparison({
      before: { Tree: object({ leaf: text }, 'leaf') },
      after: { Tree: object({ leaf: text }) },
    });
    const whole = { allOf: [job, object({ more: text })] };
    const where = { path: 'job', direction: 'read' } as const;
    expect(comparison.changes(whole, whole, where)).toEqual(['job.leaf: was always there, and is no longer']);
  });

  it('that a document lacks are an error', () => {
    const comparison = new SchemaComparison({ before: {}, after: {} });
    expect(() => comparison.changes(job, text, { path: 'job', direction: 'read' })).toThrow(
      'leads to no schema of the document',
    );
  });
});
