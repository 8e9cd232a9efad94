import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { aJobSpec, anAttempt } from '@coxswain/api-types/testing';
import { type Postgres, startPostgres } from '@coxswain/local-cluster';
import { buildSchema, getIntrospectionQuery, getNamedType, type GraphQLNamedType, isObjectType } from 'graphql';
import { aPlanRequest } from '../testing/a-plan-request.ts';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { MAX_ALIASES, MAX_FIELDS, MAX_ROOT_FIELDS } from './query-limits.ts';

const schema = buildSchema(readFileSync(resolve(import.meta.dirname, 'schema.generated.graphql'), 'utf8'));
const UID = '11111111-2222-4333-8444-555555555555';

let postgres: Postgres;
let api: ApiUnderTest;
let token: string;
let foreignToken: string;
let jobId: string;
let planId: string;

beforeAll(async () => {
  postgres = await startPostgres();
  api = await startApiUnderTest({ databaseUrl: await postgres.createDatabase('graphql') });
  token = await api.project('research');
  foreignToken = await api.project('rivals');
  const made = await api.send('POST', '/v1/projects/research/jobs', {
    token,
    body: { name: 'rich', spec: aJobSpec() },
  });
  jobId = made.body.id;
  await send('POST', '/jobs', { name: 'poor', spec: aJobSpec() });
  await send('POST', '/layouts', { name: 'wide', layout: { tensorParallelDegree: 4 } });
  await liveThrough(jobId);
  planId = (await api.send('POST', '/v1/plans', { token, body: aPlanRequest() })).body.id;
});

afterAll(async () => {
  await api?.close();
  await postgres?.stop();
});

const send = (method: 'GET' | 'POST', path: string, body?: unknown, as = token): Promise<TestAnswer> =>
  api.send(method, `/v1/projects/research${path}`, { token: as, ...(body === undefined ? {} : { body }) });
const ask = (query: string, variables: object = {}, as = token): Promise<TestAnswer> =>
  api.send('POST', '/graphql', { token: as, body: { query, variables } });
const post = (body: unknown): Promise<TestAnswer> => api.send('POST', '/graphql', { token, body });

/** Rows as the projector and the series store would have left them. */
async function liveThrough(id: string): Promise<void> {
  const { database, cluster } = api.running.infrastructure;
  const layout = { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree: 2 };
  const at = '2026-01-01T00:00:00Z';
  const status = {
    epoch: 2,
    restarts: { total: 1, charged: 1 },
    progress: { step: 7_000_000_000, totalSteps: 8_000_000_000, loss: 2.5, reportedAt: at },
    checkpoint: { name: 'rich-7', step: 7 },
    conditions: [
      {
        type: 'Running',
        status: 'True',
        reason: 'GangRunning',
        message: 'All ranks run.',
        observedGeneration: 1,
        lastTransitionTime: at,
      },
    ],
  };
  const placement = { jobName: 'rich', jobUid: UID, epoch: 2, layout, worldSize: 4, ranksPerPod: 2, nodes: ['a', 'b'] };
  const checkpoint = {
    jobName: 'rich',
    jobUid: UID,
    epoch: 1,
    step: 7,
    claimName: 'checkpoints',
    path: 'rich/e1/7',
    layout,
    format: 'torch_dcp',
    bytes: 5_000_000_000_000,
    files: 9,
    manifestSha256: 'a'.repeat(64),
  };
  const rows: readonly (readonly [string, readonly unknown[]])[] = [
    [`UPDATE jobs SET uid = $1, state = 'Running', status = $2 WHERE id = $3`, [UID, JSON.stringify(status), id]],
    [
      'INSERT INTO attempts (cluster_id, job_uid, epoch, attempt) VALUES ($1, $2, 1, $3)',
      [cluster.id, UID, JSON.stringify(anAttempt({ epoch: 1 }))],
    ],
    [
      `INSERT INTO job_events (job_id, key, type, severity, epoch, message, at)
       VALUES ($1, 'a', 'Placed', 'info', 1, 'Placed on 2 nodes.', now()), ($1, 'b', 'RankFailed', 'error', 1, 'Rank 3 failed.', now())`,
      [id],
    ],
    [
      `INSERT INTO steps (cluster_id, job_uid, epoch, step, loss, tokens, step_time_ms, grad_norm, at)
       SELECT $1, $2, 1, step, 3.5, 5000000000, 100, NULL, now() FROM generate_series(1, 20) AS step`,
      [cluster.id, UID],
    ],
    ['INSERT INTO series_gaps (cluster_id, boot_id, missed_frames) VALUES ($1, $2, NULL)', [cluster.id, 'boot']],
    [
      `INSERT INTO placements (cluster_id, uid, namespace, name, job_uid, epoch, spec, resource_version)
       VALUES ($1, 'placement', 'research', 'rich-e2', $2, 2, $3, 1)`,
      [cluster.id, UID, JSON.stringify(placement)],
    ],
    [
      `INSERT INTO rank_steps (cluster_id, job_uid, rank, epoch, step, step_time_ms, timings_ms, at) VALUES ($1, $2, 3, 2, 19, 100.5, '{}', now())`,
      [cluster.id, UID],
    ],
    [
      `INSERT INTO checkpoints (cluster_id, uid, namespace, name, job_uid, spec, state, resource_version, created_at)
       VALUES ($1, 'saved', 'research', 'rich-7', $2, $3, 'Complete', 1, now())`,
      [cluster.id, UID, JSON.stringify(checkpoint)],
    ],
  ];
  for (const [sql, parameters] of rows) await database.query(sql, parameters);
}

/** Every field of a type, and of the types of its fields. */
function everything(type: GraphQLNamedType): string {
  if (!isObjectType(type)) return '';
  const fields = Object.values(type.getFields()).map(
    (field) => `${field.name} ${everything(getNamedType(field.type))}`,
  );
  return `{ ${fields.join(' ')} }`;
}

function rootField(name: string): string {
  const field = schema.getQueryType()?.getFields()[name];
  if (field === undefined) throw new Error(`no field ${name}`);
  return everything(getNamedType(field.type));
}

/** GraphQL says null where REST leaves a field out. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const present = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(present.map(([key, inner]) => [key, withoutNulls(inner)]));
}

const P = 'project: "research"';
const QUERIES: readonly (readonly [field: string, args: () => string, url: () => string])[] = [
  ['whoAmI', () => '', () => '/v1/whoami'],
  ['projects', () => '', () => '/v1/projects'],
  ['project', () => '(name: "research")', () => '/v1/projects/research'],
  ['jobs', () => `(${P})`, () => '/v1/projects/research/jobs'],
  ['jobs', () => `(${P}, state: Running)`, () => '/v1/projects/research/jobs?state=Running'],
  ['jobs', () => `(${P}, pageSize: 1)`, () => '/v1/projects/research/jobs?pageSize=1'],
  ['job', () => `(${P}, id: "${jobId}")`, () => `/v1/projects/research/jobs/${jobId}`],
  ['checkpoints', () => `(${P}, jobId: "${jobId}")`, () => `/v1/projects/research/jobs/${jobId}/checkpoints`],
  ['layouts', () => `(${P})`, () => '/v1/projects/research/layouts'],
  ['plan', () => `(id: "${planId}")`, () => `/v1/plans/${planId}`],
  ['plans', () => `(${P}, pageSize: 1)`, () => '/v1/plans?project=research&pageSize=1'],
  ['planAccuracy', () => `(${P})`, () => '/v1/plans/accuracy?project=research'],
  ['events', () => `(${P}, jobId: "${jobId}", after: 0)`, () => `/v1/projects/research/jobs/${jobId}/events?after=0`],
  ['steps', () => `(${P}, jobId: "${jobId}")`, () => `/v1/projects/research/jobs/${jobId}/steps`],
  [
    'steps',
    () => `(${P}, jobId: "${jobId}", epoch: 1, fromStep: 3, limit: 2)`,
    () => `/v1/projects/research/jobs/${jobId}/steps?epoch=1&fromStep=3&limit=2`,
  ],
  ['ranks', () => `(${P}, jobId: "${jobId}")`, () => `/v1/projects/research/jobs/${jobId}/ranks`],
];

describe('a query', () => {
  it('has an equal for every field of Query', () => {
    expect(new Set(QUERIES.map(([field]) => field))).toEqual(
      new Set(Object.keys(schema.getQueryType()?.getFields() ?? {})),
    );
  });

  // More often than it takes to be compiled: interpreted and compiled, the answers are the same.
  it.each(QUERIES)('for %s answers what REST answers, interpreted and compiled', async (field, args, url) => {
    const rest = await api.send('GET', url(), { token });
    expect(rest.status).toBe(200);
    for (let time = 0; time < 8; time++) {
      const answer = await ask(`{ ${field}${args()} ${rootField(field)} }`);
      expect(answer.body.errors).toBeUndefined();
      expect(withoutNulls(answer.body.data[field])).toEqual(withoutNulls(rest.body));
    }
  });

  it.each(QUERIES.filter(([field]) => !['whoAmI', 'projects'].includes(field)))(
    'for %s by a token of another project is refused as REST refuses it, interpreted and compiled',
    async (field, args, url) => {
      const rest = await api.send('GET', url(), { token: foreignToken });
      expect(rest.status).toBe(404);
      for (let time = 0; time < 8; time++) {
        const { status, body } = await ask(`{ ${field}${args()} ${rootField(field)} }`, {}, foreignToken);
        expect({ status, data: body.data, errors: body.errors.length }).toEqual({ status: 200, data: null, errors: 1 });
        expect(body.errors[0]).toMatchObject({
          message: rest.body.detail,
          path: [field],
          extensions: { code: 'NOT_FOUND' },
        });
      }
    },
  );

  it.each([
    ['jobs', `(${P}, pageSize: 501)`, 'jobs?pageSize=501'],
    ['jobs', `(${P}, pageToken: "x")`, 'jobs?pageToken=x'],
    ['jobs', '(project: "nowhere")', '../nowhere/jobs'],
    ['job', `(${P}, id: "none")`, 'jobs/none'],
    ['steps', `(${P}, jobId: "none", limit: 0)`, 'jobs/none/steps?limit=0'],
    ['events', `(${P}, jobId: "none", after: -1)`, 'jobs/none/events?after=-1'],
  ])('for %s%s is refused with the sentence of REST', async (field, args, path) => {
    const rest = await send('GET', `/${path}`);
    const { body } = await ask(`{ ${field}${args} ${rootField(field)} }`);
    const wanted = { code: rest.body.code, ...(rest.body.errors === undefined ? {} : { errors: rest.body.errors }) };
    expect(body.errors).toMatchObject([{ message: rest.body.detail, extensions: wanted }]);
    expect(body.errors[0].extensions).toEqual(wanted);
  });
});

const CREATE =
  'mutation($project: String!, $input: JobCreateInput!, $key: String) { createJob(project: $project, input: $input, idempotencyKey: $key) { id name state version } }';
const create = (input: unknown, more: object = {}): Promise<TestAnswer> =>
  ask(CREATE, { project: 'research', input, ...more });

describe('a mutation', () => {
  const { engine, layout, model, training, data } = aJobSpec();

  it.each([
    ['a name that is none', { name: 'No Name', spec: aJobSpec() }],
    ['a degree of 0', { name: 'x', spec: { ...aJobSpec(), layout: { tensorParallelDegree: 0 } } }],
    ['degrees that do not divide', { name: 'x', spec: { ...aJobSpec(), layout: { tensorParallelDegree: 3 } } }],
    [
      'a variable of ours',
      { name: 'x', spec: { ...aJobSpec(), engine: { ...engine, env: [{ name: 'COXSWAIN_X', value: '' }] } } },
    ],
    ['a namespace of somebody else', { name: 'x', namespace: 'rivals', spec: aJobSpec() }],
    [
      'ten thousand arguments',
      { name: 'x', spec: { ...aJobSpec(), engine: { ...engine, args: Array(10_000).fill('a') } } },
    ],
    ['two faults at once', { name: 'X', spec: { ...aJobSpec(), terminationGracePeriodSeconds: 0 } }],
  ])('with %s is refused as REST refuses it', async (_what, input) => {
    const rest = await send('POST', '/jobs', input);
    const { body } = await create(input);
    expect(rest.status).toBeGreaterThanOrEqual(400);
    expect(body).toMatchObject({
      data: null,
      errors: [{ message: rest.body.detail, extensions: { code: rest.body.code, errors: rest.body.errors } }],
    });
  });

  it.each([
    [
      'an unknown field',
      { name: 'x', spec: { ...aJobSpec(), gpuCount: 8 } },
      /Field "gpuCount" is not defined by type "TrainingJobSpecInput"/,
    ],
    ['a wrong type', { name: 7, spec: aJobSpec() }, /String cannot represent a non string value: 7/],
    ['a missing part', { name: 'x' }, /Field "spec" of required type "TrainingJobSpecInput!" was not provided/],
  ])('with %s is refused by GraphQL itself, interpreted and compiled', async (_what, input, sentence) => {
    for (let time = 0; time < 8; time++) {
      const { status, body } = await create(input);
      expect(status).toBeLessThan(500);
      expect(body.errors[0]).toMatchObject({
        message: expect.stringMatching(sentence),
        extensions: { code: 'INVALID_REQUEST' },
      });
    }
  });

  it('fills the same defaults as REST, and takes null for a field that is left out', async () => {
    const bare = { engine, layout, model, training, data, checkpoint: { claimName: 'checkpoints' } };
    const byRest = await send('POST', '/jobs', { name: 'by-rest', spec: bare });
    const byGraphql = await create({
      name: 'by-graphql',
      namespace: null,
      spec: { ...bare, resources: null, restartPolicy: null },
    });
    expect(byGraphql.body.errors).toBeUndefined();
    const read = await send('GET', `/jobs/${byGraphql.body.data.createJob.id}`);
    expect(read.body.spec).toEqual(byRest.body.spec);
  });

  it('makes one job for one idempotency key, whether it comes by REST or by GraphQL', async () => {
    const body = { name: 'once', spec: aJobSpec() };
    const rest = await api.send('POST', '/v1/projects/research/jobs', {
      token,
      body,
      headers: { 'idempotency-key': 'k' },
    });
    const again = await create(body, { key: 'k' });
    expect(again.body.data.createJob.id).toBe(rest.body.id);
    const other = await create({ ...body, name: 'twice' }, { key: 'k' });
    expect(other.body.errors[0].extensions.code).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  it('steers a job from its making to its deletion, at the version it names', async () => {
    const id = (await create({ name: 'steered', spec: aJobSpec() })).body.data.createJob.id;
    const steer = async (field: string, more = ''): Promise<unknown> => {
      const { body } = await ask(
        `mutation { ${field}(${P}, id: "${id}"${more}) ${field === 'deleteJob' ? '' : '{ version spec { suspend cancel layout { dataParallelDegree } } }'} }`,
      );
      return body.errors?.[0].extensions.code ?? body.data[field];
    };
    expect(await steer('suspendJob', ', version: 9')).toBe('PRECONDITION_FAILED');
    expect(await steer('suspendJob', ', version: 1')).toMatchObject({ version: 2, spec: { suspend: true } });
    expect(
      await steer('resumeJob', ', input: { layout: { tensorParallelDegree: 2, dataParallelDegree: 1 } }'),
    ).toMatchObject({
      spec: { suspend: false, layout: { dataParallelDegree: 1 } },
    });
    expect(await steer('resumeJob')).toBe('NOT_SUSPENDED');
    expect(await steer('cancelJob')).toMatchObject({ spec: { cancel: true } });
    expect(await steer('deleteJob')).toBe(true);
    expect((await send('GET', `/jobs/${id}`)).body.state).toBe('Deleting');
  });

  it('makes projects, tokens that work, and layouts', async () => {
    const project = await ask(
      'mutation { createProject(input: { name: "third", namespaces: ["third"] }) { name namespaces } }',
      {},
      api.adminToken,
    );
    expect(project.body).toEqual({ data: { createProject: { name: 'third', namespaces: ['third'] } } });
    const made = await ask(
      'mutation { createToken(project: "third", input: { name: "t" }) { role token } }',
      {},
      api.adminToken,
    );
    expect(made.body.data.createToken.role).toBe('operator');
    const who = await ask('{ whoAmI { project } }', {}, made.body.data.createToken.token);
    expect(who.body).toEqual({ data: { whoAmI: { project: 'third' } } });
    const layoutMade = await ask(
      `mutation { createLayout(${P}, input: { layout: { dataParallelDegree: 8 } }) { worldSize } }`,
    );
    expect(layoutMade.body).toEqual({ data: { createLayout: { worldSize: 8 } } });
    expect(
      (await ask('mutation { createProject(input: { name: "fourth", namespaces: ["fourth"] }) { name } }')).body
        .errors[0].extensions.code,
    ).toBe('FORBIDDEN');
  });

  it('runs one after the other, and tells which failed', async () => {
    const { body } = await ask(
      `mutation { a: createLayout(${P}, input: { name: "same", layout: {} }) { name } b: createLayout(${P}, input: { name: "same", layout: {} }) { name } }`,
    );
    expect(body.errors).toMatchObject([{ path: ['b'], extensions: { code: 'NAME_TAKEN' } }]);
    expect((await send('GET', '/layouts')).body.items.map((item: { name: string }) => item.name)).toContain('same');
  });
});

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
      /over a million aliases/,
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
    ['a syntax tree', '{"kind":"Document"}', /must be a GraphQL document/],
    ['an empty syntax tree', ' {}', /must be a GraphQL document/],
    ['null', 'null', /must be a GraphQL document/],
    ['a number', '1', /must be a GraphQL document/],
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

  it('gives no more items than its budget in one answer', async () => {
    const { database, cluster } = api.running.infrastructure;
    await database.query(
      `INSERT INTO steps (cluster_id, job_uid, epoch, step, step_time_ms, at)
       SELECT $1, $2, 1, step, 100, now() FROM generate_series(21, 10000) AS step`,
      [cluster.id, UID],
    );
    const all = (count: number): string =>
      `{ ${repeated(count, (index) => `a${index}: steps(${P}, jobId: "${jobId}", limit: 10000) { items { step } }`)} }`;
    const five = await ask(all(5));
    expect(five.body.errors).toBeUndefined();
    const six = await ask(all(6));
    expect({ status: six.status, data: six.body.data }).toEqual({ status: 200, data: null });
    expect(six.body.errors[0]).toMatchObject({ extensions: { code: 'TOO_LARGE' } });
  });

  it('says nothing about the inside when something is wrong with it', async () => {
    await api.running.infrastructure.database.query('ALTER TABLE layouts RENAME TO layouts_away');
    try {
      for (let time = 0; time < 8; time++) {
        const { status, body } = await ask(`{ layouts(${P}) { items { id } } }`);
        expect(status).toBe(200);
        expect(body.errors).toMatchObject([{ path: ['layouts'], extensions: { code: 'INTERNAL' } }]);
        expect(JSON.stringify(body)).not.toMatch(/relation|SELECT|at .*\.ts/);
      }
    } finally {
      await api.running.infrastructure.database.query('ALTER TABLE layouts_away RENAME TO layouts');
    }
  });
});
