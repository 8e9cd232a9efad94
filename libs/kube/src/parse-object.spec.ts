import fc from 'fast-check';
import { parseObject } from './parse-object.ts';

const FIELDS = [
  { manager: 'kubelet', operation: 'Update', fieldsV1: { 'f:status': { 'k:{"name":"a}],\\"x"}': { '.': {} } } } },
  { manager: 'b', operation: 'Apply', fieldsV1: { 'v:"x\\\\"': {} } },
];

describe('the JSON of an object', () => {
  it.each<[string, object, object]>([
    [
      'loses what its managed fields list, wherever in the metadata they stand',
      { kind: 'Pod', metadata: { managedFields: FIELDS, name: 'p' }, spec: { a: [1] } },
      { kind: 'Pod', metadata: { managedFields: [], name: 'p' }, spec: { a: [1] } },
    ],
    [
      'in a watch event too',
      { type: 'ADDED', object: { metadata: { name: 'p', managedFields: FIELDS } } },
      { type: 'ADDED', object: { metadata: { name: 'p', managedFields: [] } } },
    ],
    [
      'keeps what bears the name elsewhere',
      { metadata: { name: 'p' }, spec: { managedFields: FIELDS } },
      { metadata: { name: 'p' }, spec: { managedFields: FIELDS } },
    ],
    [
      'keeps all where another object of that name comes first',
      { metadata: { template: { managedFields: FIELDS }, managedFields: FIELDS } },
      { metadata: { template: { managedFields: FIELDS }, managedFields: FIELDS } },
    ],
    [
      'keeps all where they hold an array',
      { metadata: { managedFields: [{ a: [[]], b: '"' }], name: 'p' } },
      { metadata: { managedFields: [{ a: [[]], b: '"' }], name: 'p' } },
    ],
    [
      'keeps a text that looks like them',
      { metadata: { annotations: { a: JSON.stringify({ managedFields: FIELDS }) } } },
      { metadata: { annotations: { a: JSON.stringify({ managedFields: FIELDS }) } } },
    ],
    ['has none, and stays', { metadata: { name: 'p' } }, { metadata: { name: 'p' } }],
  ])('%s', (_what, object, want) => {
    expect(parseObject(JSON.stringify(object))).toEqual(want);
  });

  it.each(['null', '1', '"managedFields"', '[]', '{"metadata":null}'])('%s is what JSON says', (text) => {
    expect(parseObject(text)).toEqual(JSON.parse(text));
  });

  it.each(['', '{', '{"metadata":{"managedFields":[{"a":', '{"metadata":{"managedFields":[{"a":{}}]'])(
    '%s is no JSON, as JSON.parse says',
    (text) => {
      expect(() => parseObject(text)).toThrow(SyntaxError);
    },
  );

  it('is, but for them, what JSON.parse makes of it, whatever stands in it', () => {
    const entries = fc.array(fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.constant({})), { minKeys: 1 }), {
      minLength: 1,
    });
    fc.assert(
      fc.property(fc.jsonValue(), entries, fc.string(), (spec, managedFields, name) => {
        const text = JSON.stringify({ metadata: { name, managedFields, labels: { name } }, spec });
        const { metadata, ...rest } = JSON.parse(text) as { metadata: object };
        expect(parseObject(text)).toEqual({ ...rest, metadata: { ...metadata, managedFields: [] } });
      }),
    );
  });
});
