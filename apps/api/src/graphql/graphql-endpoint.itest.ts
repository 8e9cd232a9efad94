import { aJobSpec } from '@coxswain/api-types/testing';
import { Database } from '@coxswain/persistence';
import { getIntrospectionQuery } from 'graphql';
import type { SharedPostgres } from '@coxswain/test-harness';
import { SeriesStore } from '../series/series-store.ts';
import { aStepFrame } from '../series/testing/a-step-frame.ts';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';
import { MAX_ALIASES, MAX_FIELDS, MAX_ROOT_FIELDS } from './query-limits.ts';

const UID = '11111111-2222-4333-8444-555555555555';
const P = 'project: "research"';

let postgres: SharedPostgres;
let api: ApiUnderTest;
let databaseUrl: string;
let token: string;
let jobId: string;

beforeAll(async () => {
  postgres = migratedPostgres();
  databaseUrl = await postgres.createDatabase('graphql');
  api = await startApiUnderTest({ databaseUrl });
  token = await api.project('research');
  const body = { name: 'rich', spec: aJobSpec() };
  jobId = (await api.send('POST', '/v1/projects/research/jobs', { token, body })).body.id;
  await api.running.infrastructure.database.query('UPDATE jobs SET uid = $1 WHERE id = $2', [UID, jobId]);
});

afterAll(async () => {
  await api?.close();
});

/** Nothing of the API may change a table. */
async function asOwner(statement: string): Promise<void> {
  const owner = await Database.connect({ url: databaseUrl, applicationName: 'graphql test' });
  await owner.query(statement).finally(() => owner.close());
}
const ask = (query: string): Promise<TestAnswer> => post({ query, variables: {} });
const post = (body: unknown): Promise<TestAnswer> => api.send('POST', '/graphql', { token, body });

describe('the endpoint', () => {
  const repeated = (count: number, make: (index: number) => string): string =>
    Array.from({ length: count }, (_, index) => make(index)).join(' ');
  const laughs = repeated(
    30,
    (index) => `fragment F${index} on __Type { a: ofType { ...F${index + 1} } b: ofType { ...F${index + 1} } }`,
  );

  it.each([
    ['a deep query', `{ whoAmI { ${'... on WhoAmI { '.repeat(20)} name ${'}'.repeat(22)}`, /more than 16 levels deep/],
    ['a depth bomb', '{a'.repeat(7_400), /Syntax Error|tokens/],
    ['a bomb of lists', `{ jobs(project: ${'['.repeat(14_000)}`, /levels deep|tokens/],
    ['an alias bomb', `{ ${repeated(700, (index) => `a${index}:whoAmI{name}`)} }`, /tokens/],
    [
      'many aliases',
      `{ whoAmI { ${repeated(MAX_ALIASES + 1, (index) => `a${index}: name`)} } }`,
      new RegExp(`has ${MAX_ALIASES + 1} aliases; at most ${MAX_ALIASES}`),
    ],
    [
      'many fields at the root',
      `{ ${repeated(MAX_ROOT_FIELDS + 1, () => `whoAmI { name }`)} }`,
      new RegExp(`has ${MAX_ROOT_FIELDS + 1} fields at its root`),
    ],
    ['many fields', `{ whoAmI { ${'name '.repeat(MAX_FIELDS)} } }`, new RegExp(`has ${MAX_FIELDS + 1} fields`)],
    [
      'fragments that double thirty times',
      `{ __type(name: "Job") { ...F0 } } ${laughs} fragment F30 on __Type { name }`,
      /more than 16 levels deep/,
    ],
    [
      'a fragment in itself',
      '{ whoAmI { ...F } } fragment F on WhoAmI { name ...F }',
      /Cannot spread fragment "F" within itself/,
    ],
    [
      'a subscription',
      'subscription { jobs { id } }',
      /Schema is not configured to execute subscription|not defined|subscription/,
    ],
    [
      'two operations and no name',
      'query A { whoAmI { name } } query B { whoAmI { role } }',
      /Must provide operation name/,
    ],
    ['an unknown type', 'query($x: Nothing) { whoAmI { name } }', /Unknown type "Nothing"/],
    [
      'a missing variable',
      'query($p: String!) { project(name: $p) { name } }',
      /Variable "\$p" of required type "String!" was not provided/,
    ],
    ['no selection', '{ whoAmI }', /must have a selection of subfields/],
    ['no words', ' ', /Syntax Error/],
    ['a syntax tree', '{"kind":"Document"}', /Syntax Error/],
    ['an empty syntax tree', ' {}', /Syntax Error/],
    ['null', 'null', /Syntax Error/],
    ['a number', '1', /Syntax Error/],
  ])('refuses %s with a sentence, each time', async (_what, query, sentence) => {
    for (let time = 0; time < 8; time++) {
      const { status, body } = await ask(query);
      expect(status).toBeLessThan(500);
      expect(body.data ?? null).toBeNull();
      expect(body.errors[0]).toMatchObject({
        message: expect.stringMatching(sentence),
        extensions: { code: 'INVALID_REQUEST' },
      });
    }
  });

  it.each([
    ['a batch', [{ query: '{ whoAmI { name } }' }]],
    ['no query', {}],
    ['an unknown field', { query: '{ whoAmI { name } }', batch: true }],
    ['variables that are a list', { query: '{ whoAmI { name } }', variables: [] }],
    ['an operation name with a line end', { query: '{ whoAmI { name } }', operationName: 'a\nb' }],
    ['a long document', { query: `#${'x'.repeat(15_000)}` }],
    ['text', 'hello'],
  ])('refuses %s as a problem document', async (_what, body) => {
    const answer = await post(body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
    expect(answer.headers['content-type']).toContain('problem+json');
  });

  it('refuses a body of 2 MB with 413, another content type with 400, and GET with 404', async () => {
    expect((await post({ query: '{ whoAmI { name } }', variables: { x: 'x'.repeat(2_000_000) } })).status).toBe(413);
    const form = await api.send('POST', '/graphql', {
      token,
      body: 'query={a}',
      headers: { 'content-type': 'application/graphql' },
    });
    expect(form.status).toBe(400);
    expect((await api.send('GET', '/graphql?query=%7BwhoAmI%7Bname%7D%7D', { token })).status).toBe(404);
  });

  it.each([[undefined], ['cxs_00000000_wrong']])(
    'answers 401 to the token %s before it looks at the query',
    async (bad) => {
      for (const query of [getIntrospectionQuery(), '{ __typename }', 'hello']) {
        const answer = await api.send('POST', '/graphql', {
          body: { query },
          ...(bad === undefined ? {} : { token: bad }),
        });
        expect(answer).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
        expect(answer.headers['content-type']).toContain('problem+json');
      }
    },
  );

  it('shows its schema to whoever has a token', async () => {
    const { body } = await ask(getIntrospectionQuery());
    expect(body.errors).toBeUndefined();
    expect(body.data.__schema.types.map((type: { name: string }) => type.name)).toContain('TrainingJobSpecInput');
  });

  it('runs the operation that is named, however often another one of the same document has run', async () => {
    const query = 'query A { whoAmI { name } } query B { whoAmI { role } } # named';
    for (let time = 0; time < 8; time++) {
      expect((await post({ query, operationName: 'A' })).body).toEqual({ data: { whoAmI: { name: 'test' } } });
    }
    expect((await post({ query, operationName: 'B' })).body).toEqual({ data: { whoAmI: { role: 'operator' } } });
    expect((await post({ query, operationName: 'C' })).body.errors[0].message).toContain('Unknown operation named "C"');
  });

  it('refuses what costs too much before it asks the database', async () => {
    const { database, cluster } = api.running.infrastructure;
    const frames = Array.from({ length: 10_000 }, (_, index) => aStepFrame({ jobUid: UID, step: index + 1 }));
    await new SeriesStore(database, cluster).write(frames, []);
    const curves = (count: number): string =>
      `{ ${repeated(count, (index) => `a${index}: steps(${P}, jobId: "${jobId}", limit: 10000) { items { step loss tokens } }`)} }`;
    const few = await ask(curves(8));
    expect(few.body.errors).toBeUndefined();
    const many = await ask(curves(10));
    expect({ status: many.status, data: many.body.data }).toEqual({ status: 400, data: undefined });
    expect(many.body.errors[0]).toMatchObject({
      message: expect.stringContaining('the query costs 1400000; at most 1320000 is allowed'),
      extensions: { code: 'INVALID_REQUEST' },
    });
  });

  it('says nothing about the inside when something is wrong with it', async () => {
    await asOwner('ALTER TABLE layouts RENAME TO layouts_away');
    try {
      for (let time = 0; time < 8; time++) {
        const { status, body } = await ask(`{ layouts(${P}) { items { id } } }`);
        expect(status).toBe(200);
        expect(body.errors).toMatchObject([{ path: ['layouts'], extensions: { code: 'INTERNAL' } }]);
        expect(JSON.stringify(body)).not.toMatch(/relation|SELECT|at .*\.ts/);
      }
    } finally {
      await asOwner('ALTER TABLE layouts_away RENAME TO layouts');
    }
  });
});
