import { definitionChanges, type ComparedDefinition } from './definition-changes.ts';
import { openApiChanges, type ComparedDocument, type ComparedOperation } from './openapi-changes.ts';
import { acceptedChanges, definitionsOfChart, recordedApi, RELEASED, unexplained } from './released-api.ts';
import type { Schema } from './schema.ts';

const text: Schema = { type: 'string' };

describe('resource definitions', () => {
  interface Parts {
    readonly scope?: string;
    readonly kind?: string;
    readonly shortNames?: readonly string[];
    readonly served?: boolean;
    readonly subresources?: object | undefined;
    readonly spec?: Schema;
    readonly status?: Schema | undefined;
  }
  const definition = (parts: Parts = {}): ComparedDefinition => {
    const { scope = 'Namespaced', kind = 'Job', shortNames = ['j'], served = true, spec = text } = parts;
    const { subresources, status } = { subresources: { status: {} }, status: text, ...parts };
    const properties = { spec, ...(status === undefined ? {} : { status }) };
    const schema = { openAPIV3Schema: { type: 'object', properties } };
    const version = { name: 'v1', served, ...(subresources === undefined ? {} : { subresources }), schema };
    return {
      metadata: { name: 'jobs' },
      spec: { scope, names: { kind, plural: 'jobs', shortNames }, versions: [version] },
    };
  };

  it.each<[string, readonly ComparedDefinition[], readonly string[]]>([
    ['nothing', [definition()], []],
    ['a resource', [], ['jobs: is gone']],
    ['a version', [definition({ served: false })], ['jobs v1: is no longer served']],
    ['the scope', [definition({ scope: 'Cluster' })], ['jobs: scope was Namespaced, and is now Cluster']],
    ['the kind', [definition({ kind: 'Run' })], ['jobs: kind was Job, and is now Run']],
    ['a short name', [definition({ shortNames: [] })], ['jobs: the short name j is gone']],
    ['the spec', [definition({ spec: { type: 'integer' } })], ['jobs v1.spec: was string, and is now integer']],
    ['the status', [definition({ status: undefined })], ['jobs v1.status: is gone']],
    [
      'what the status may be',
      [definition({ status: {} })],
      ['jobs v1.status: was string, and may now be of any type'],
    ],
    ['the status as a subresource', [definition({ subresources: undefined })], ['jobs v1: subresources are gone']],
  ])('break users who rely on %s', (_sentence, after, want) => {
    expect(definitionChanges([definition()], after)).toEqual(want);
  });

  it('may gain resources', () => {
    expect(definitionChanges([], [definition()])).toEqual([]);
  });
});

describe('an OpenAPI document', () => {
  const json = (schema: Schema): object => ({ content: { 'application/json': { schema } } });
  const operation = (parts: Partial<ComparedOperation> = {}): ComparedOperation => ({
    operationId: 'getJob',
    parameters: [
      { name: 'id', in: 'path', required: true, schema: text },
      { name: 'q', in: 'query', schema: text },
    ],
    requestBody: json(text),
    responses: { 200: json(text), 404: json(text) },
    ...parts,
  });
  const document = (operations: Readonly<Record<string, ComparedOperation>>): ComparedDocument => ({
    paths: { '/jobs': operations },
    components: { schemas: {} },
  });
  const [id, q] = operation().parameters ?? [];
  if (id === undefined || q === undefined) throw new Error('no parameters');

  it.each<[string, Readonly<Record<string, ComparedOperation>>, readonly string[]]>([
    ['nothing', { get: operation() }, []],
    ['an operation', {}, ['GET /jobs: is gone']],
    [
      'its name',
      { get: operation({ operationId: 'readJob' }) },
      ['GET /jobs: operationId was getJob, and is now readJob'],
    ],
    ['a parameter', { get: operation({ parameters: [id] }) }, ['GET /jobs query q: is gone']],
    [
      'a parameter that was optional',
      { get: operation({ parameters: [id, { ...q, required: true }] }) },
      ['GET /jobs query q: is required now'],
    ],
    [
      'the type of a parameter',
      { get: operation({ parameters: [id, { ...q, schema: { type: 'integer' } }] }) },
      ['GET /jobs query q: was string, and is now integer'],
    ],
    [
      'a body that was optional',
      { get: operation({ requestBody: { ...json(text), required: true } }) },
      ['GET /jobs: a body is required now'],
    ],
    [
      'what a body may be',
      { get: operation({ requestBody: json({ type: 'string', maxLength: 3 }) }) },
      ['GET /jobs body: maxLength was not set, and is now 3'],
    ],
    ['a success', { get: operation({ responses: { 404: json(text) } }) }, ['GET /jobs 200: is gone']],
    [
      'the form of an answer',
      { get: operation({ responses: { 200: {}, 404: json(text) } }) },
      ['GET /jobs 200: application/json is gone'],
    ],
    [
      'the type of an answer',
      { get: operation({ responses: { 200: json({}), 404: json(text) } }) },
      ['GET /jobs 200: was string, and may now be of any type'],
    ],
  ])('breaks programs that rely on %s', (_sentence, after, want) => {
    expect(openApiChanges(document({ get: operation() }), document(after))).toEqual(want);
  });

  it('may lose an error, and gain operations, parameters and fields', () => {
    const after = operation({
      parameters: [id, q, { ...q, name: 'more' }],
      responses: { 200: json(text), 202: json(text) },
    });
    expect(openApiChanges(document({ get: operation() }), document({ get: after, put: operation() }))).toEqual([]);
  });
});

describe('a breaking difference', () => {
  const reason = 'No release of Coxswain read the field.';

  it.each([
    ['fails without a reason', ['a: is gone'], [], ['a: is gone']],
    ['passes with one', ['a: is gone'], [{ change: 'a: is gone', reason }], []],
  ])('%s', (_sentence, found, accepted, want) => {
    expect(unexplained(found, accepted)).toEqual(want);
  });

  it('that is listed, and is not there, fails: the list would hide a later one', () => {
    expect(unexplained([], [{ change: 'a: is gone', reason }])).toEqual([
      expect.stringMatching(/accepted-changes\.json lists a difference that does not exist: a: is gone$/),
    ]);
  });

  it('has a reason where it is listed', () => {
    expect(acceptedChanges().every((one) => one.reason !== one.change)).toBe(true);
  });
});

it('a record has what is compared, and no descriptions; a field may be named like one', () => {
  const spec = {
    type: 'object',
    description: 'words',
    properties: { description: { type: 'string', title: 'words' } },
  };
  const openApi = { paths: {}, components: { schemas: { Spec: spec } } };
  const text = recordedApi({ definitions: [], openApi }, '1.0.0').get(RELEASED.openApi) ?? '';
  expect(JSON.parse(text)).toEqual({
    paths: {},
    components: { schemas: { Spec: { type: 'object', properties: { description: { type: 'string' } } } } },
  });
});

it('definitions of the chart do not differ from themselves', () => {
  const definitions = definitionsOfChart();
  expect(definitions.length).toBeGreaterThan(4);
  expect(definitionChanges(definitions, definitions)).toEqual([]);
});
