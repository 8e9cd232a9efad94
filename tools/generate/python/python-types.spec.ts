import type { Schema } from './openapi.ts';
import { PythonTypes, snakeCase } from './python-types.ts';

describe('a schema as a Python annotation', () => {
  it.each<[string, Schema, string]>([
    ['a text', { type: 'string' }, 'str'],
    ['a number that may be missing', { type: ['number', 'null'] }, 'float | None'],
    ['one of several words', { enum: ['a', 'b', null] }, 'Literal["a", "b"] | None'],
    [
      'words of two lists become one list',
      { anyOf: [{ enum: ['a'] }, { const: 'b' }, { type: 'null' }] },
      'Literal["a", "b"] | None',
    ],
    ['a list', { type: 'array', items: { type: 'integer' } }, 'list[int]'],
    ['a pair', { type: 'array', prefixItems: [{ type: 'integer' }, { type: 'string' }] }, 'tuple[int, str]'],
    ['a map', { type: 'object', additionalProperties: { type: 'boolean' } }, 'dict[str, bool]'],
    ['anything', {}, 'Any'],
    ['an object gets a name', { type: 'object', properties: { a: { type: 'string' } } }, 'Thing'],
    ['a named schema keeps its name', { $ref: '#/components/schemas/Job' }, 'Job'],
  ])('%s', (_what, schema, want) => {
    expect(new PythonTypes({ Job: { type: 'string' } }).annotation(schema, 'Thing')).toBe(want);
  });
});

describe('the module', () => {
  it('has fields that may be absent, their meaning, and names that Python does not take', () => {
    const types = new PythonTypes({
      Window: {
        type: 'object',
        properties: { from: { type: 'string' }, until: { $ref: '#/components/schemas/Time' } },
        required: ['from'],
      },
      Time: { type: 'object', properties: { at: { type: 'string', description: 'In "UTC"' } } },
    });
    types.annotation({ $ref: '#/components/schemas/Window' }, 'x');
    expect(types.module('HEAD')).toBe(
      [
        'HEAD\n',
        'class Time(TypedDict):\n    at: NotRequired[str]\n    """In "UTC" """\n\n',
        'Window = TypedDict(\n    "Window",\n    {\n        "from": "str",\n        "until": "NotRequired[Time]",\n    },\n)\n',
      ].join('\n'),
    );
  });

  it('ends where a type holds itself', () => {
    const types = new PythonTypes({
      Tree: {
        type: 'object',
        properties: { children: { type: 'array', items: { $ref: '#/components/schemas/Tree' } } },
      },
    });
    expect(types.annotation({ $ref: '#/components/schemas/Tree' }, 'x')).toBe('Tree');
    expect(types.module('')).toContain('children: NotRequired[list[Tree]]');
  });

  it('refuses two types of one name', () => {
    const types = new PythonTypes({});
    types.annotation({ type: 'object', properties: { a: { type: 'string' } } }, 'Thing');
    expect(() => types.annotation({ type: 'object', properties: { b: { type: 'string' } } }, 'Thing')).toThrow(/Thing/);
  });
});

it.each([
  ['pageToken', 'page_token'],
  ['If-Match', 'if_match'],
  ['from', 'from_'],
  ['Jobs_createToken', 'jobs_create_token'],
])('%s is %s in Python', (name, want) => {
  expect(snakeCase(name)).toBe(want);
});
