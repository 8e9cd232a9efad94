/** More than 400 lines: REST and GraphQL are asked the same, over one API and one database, which take seconds to start. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { JOB_DETAILS } from '@coxswain/api-types';
import { aJobSpec, anAttempt } from '@coxswain/api-types/testing';
import {
  buildSchema,
  getNamedType,
  isNonNullType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  isObjectType,
} from 'graphql';
import type { SharedPostgres } from '@coxswain/test-harness';
import { aPlanRequest } from '../testing/a-plan-request.ts';
import { SeriesStore } from '../series/series-store.ts';
import { aStepFrame } from '../series/testing/a-step-frame.ts';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';

const schema = buildSchema(readFileSync(resolve(import.meta.dirname, 'schema.generated.graphql'), 'utf8'));
const UID = '11111111-2222-4333-8444-555555555555';

let postgres: SharedPostgres;
let api: ApiUnderTest;
let token: string;
let foreignToken: string;
let jobId: string;
let planId: string;
let webhookId: string;
let layoutId: string;

beforeAll(async () => {
  postgres = migratedPostgres();
  api = await startApiUnderTest({
    databaseUrl: await postgres.createDatabase('graphql'),
    // What is used of a rate is another thing a millisecond later.
    environment: { COXSWAIN_PROJECT_REQUESTS_PER_SECOND: '0', COXSWAIN_PROJECT_WRITES_PER_MINUTE: '0' },
  });
  token = await api.project('research', 'admin');
  foreignToken = await api.project('rivals');
  const made = await api.send('POST', '/v1/projects/research/jobs', {
    token,
    body: { name: 'rich', spec: aJobSpec() },
  });
  jobId = made.body.id;
  await send('POST', '/jobs', { name: 'poor', spec: aJobSpec() });
  layoutId = (await send('POST', '/layouts', { name: 'wide', layout: { tensorParallelDegree: 4 } })).body.id;
  await liveThrough(jobId);
  planId = (await api.send('POST', '/v1/projects/research/plans', { token, body: aPlanRequest() })).body.id;
  webhookId = (await send('POST', '/webhooks', { url: 'https://hooks.example.com/' })).body.id;
  await send('POST', `/webhooks/${webhookId}/test`, {});
});

afterAll(async () => {
  await api?.close();
});

const send = (method: 'GET' | 'POST', path: string, body?: unknown, as = token): Promise<TestAnswer> =>
  api.send(method, `/v1/projects/research${path}`, { token: as, ...(body === undefined ? {} : { body }) });
const ask = (query: string, variables: object = {}, as = token): Promise<TestAnswer> =>
  api.send('POST', '/graphql', { token: as, body: { query, variables } });

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
  const incident = {
    id: '1.1',
    kind: 'Crash',
    epoch: 1,
    incarnation: 1,
    noticedAt: '2026-01-01T00:00:10.000Z',
    message: 'Rank 1 exited.',
    rank: 1,
    node: 'node-a',
    gpus: 4,
    action: 'RestartedInPods',
  };
  const rows: readonly (readonly [string, readonly unknown[]])[] = [
    [`UPDATE jobs SET uid = $1, state = 'Running', status = $2 WHERE id = $3`, [UID, JSON.stringify(status), id]],
    [
      'INSERT INTO attempts (cluster_id, job_uid, epoch, attempt) VALUES ($1, $2, 1, $3), ($1, $2, 2, $4)',
      [
        cluster.id,
        UID,
        JSON.stringify(anAttempt({ epoch: 1 })),
        JSON.stringify(anAttempt({ epoch: 2, placement: 'rich-e2' })),
      ],
    ],
    [
      `INSERT INTO job_events (job_id, key, type, severity, epoch, message, at)
       VALUES ($1, 'a', 'Placed', 'info', 1, 'Placed on 2 nodes.', now()), ($1, 'b', 'RankFailed', 'error', 1, 'Rank 3 failed.', now())`,
      [id],
    ],
    [
      `INSERT INTO incidents (cluster_id, job_id, key, kind, node, noticed_at, is_open, incident)
       VALUES ($1, $2, '1.1', 'Crash', 'node-a', now(), true, $3)`,
      [cluster.id, id, JSON.stringify(incident)],
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
  const frames = Array.from({ length: 20 }, (_, index) =>
    aStepFrame({ jobUid: UID, step: index + 1, loss: 3.5, tokens: 5_000_000_000 }),
  );
  await new SeriesStore(database, cluster).write(frames, []);
}

/** Every field of a type, and of the types of its fields; but for relations, which REST answers apart. */
function everything(type: GraphQLNamedType): string {
  if (!isObjectType(type)) return '';
  const relations = new Set(relationsOf(type));
  const fields = Object.values(type.getFields())
    .filter(({ name }) => !relations.has(name))
    .map((field) => `${field.name} ${everything(getNamedType(field.type))}`);
  return `{ ${fields.join(' ')} }`;
}

function relationsOf(type: GraphQLObjectType): readonly string[] {
  return type.extensionASTNodes.flatMap(({ fields }) => (fields ?? []).map(({ name }) => name.value));
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
/** GraphQL answers the details of a list that are selected; here every one is. */
const DETAILS = `fields=${JOB_DETAILS.join(',')}`;
const RENDERING = { engine: { name: 'command', command: ['train'] }, layout: { tensorParallelDegree: 2 } };
/** Bodies of those that REST is asked by POST. */
const BODIES: Readonly<Record<string, object>> = { rendering: RENDERING };
const QUERIES: readonly (readonly [field: string, args: () => string, url: () => string])[] = [
  ['whoAmI', () => '', () => '/v1/whoami'],
  ['engines', () => '', () => '/v1/engines'],
  ['projects', () => '', () => '/v1/projects'],
  ['project', () => '(name: "research")', () => '/v1/projects/research'],
  ['projectLimits', () => `(${P})`, () => '/v1/projects/research/limits'],
  ['tokens', () => `(${P})`, () => '/v1/projects/research/tokens'],
  ['webhooks', () => `(${P})`, () => '/v1/projects/research/webhooks'],
  [
    'webhookDeliveries',
    () => `(${P}, id: "${webhookId}")`,
    () => `/v1/projects/research/webhooks/${webhookId}/deliveries`,
  ],
  ['audit', () => `(${P})`, () => '/v1/projects/research/audit'],
  [
    'audit',
    () => `(${P}, verb: "job.create", outcome: allowed, pageSize: 1)`,
    () => '/v1/projects/research/audit?verb=job.create&outcome=allowed&pageSize=1',
  ],
  ['groupRoles', () => `(${P})`, () => '/v1/projects/research/group-roles'],
  ['jobs', () => `(${P})`, () => `/v1/projects/research/jobs?${DETAILS}`],
  ['jobs', () => `(${P}, state: Running)`, () => `/v1/projects/research/jobs?state=Running&${DETAILS}`],
  ['jobs', () => `(${P}, pageSize: 1)`, () => `/v1/projects/research/jobs?pageSize=1&${DETAILS}`],
  ['job', () => `(${P}, id: "${jobId}")`, () => `/v1/projects/research/jobs/${jobId}`],
  ['checkpoints', () => `(${P}, jobId: "${jobId}")`, () => `/v1/projects/research/jobs/${jobId}/checkpoints`],
  ['projectCheckpoints', () => `(${P}, pageSize: 1)`, () => '/v1/projects/research/checkpoints?pageSize=1'],
  ['checkpoint', () => `(${P}, uid: "saved")`, () => '/v1/projects/research/checkpoints/saved'],
  ['layouts', () => `(${P})`, () => '/v1/projects/research/layouts'],
  ['layout', () => `(${P}, id: "${layoutId}")`, () => `/v1/projects/research/layouts/${layoutId}`],
  ['plan', () => `(${P}, id: "${planId}")`, () => `/v1/projects/research/plans/${planId}`],
  ['plans', () => `(${P}, pageSize: 1)`, () => '/v1/projects/research/plans?pageSize=1'],
  ['planAccuracy', () => `(${P})`, () => '/v1/projects/research/plans/accuracy'],
  ['events', () => `(${P}, jobId: "${jobId}", after: 0)`, () => `/v1/projects/research/jobs/${jobId}/events?after=0`],
  ['steps', () => `(${P}, jobId: "${jobId}")`, () => `/v1/projects/research/jobs/${jobId}/steps`],
  [
    'steps',
    () => `(${P}, jobId: "${jobId}", epoch: 1, fromStep: 3, limit: 2)`,
    () => `/v1/projects/research/jobs/${jobId}/steps?epoch=1&fromStep=3&limit=2`,
  ],
  [
    'steps',
    () => `(${P}, jobId: "${jobId}", fromStep: 3, toStep: 18, maxPoints: 4)`,
    () => `/v1/projects/research/jobs/${jobId}/steps?fromStep=3&toStep=18&maxPoints=4`,
  ],
  ['incidents', () => `(${P}, pageSize: 1)`, () => '/v1/projects/research/incidents?pageSize=1'],
  ['jobIncidents', () => `(${P}, jobId: "${jobId}")`, () => `/v1/projects/research/jobs/${jobId}/incidents`],
  ['ranks', () => `(${P}, jobId: "${jobId}")`, () => `/v1/projects/research/jobs/${jobId}/ranks`],
  ['jobRendering', () => `(${P}, jobId: "${jobId}")`, () => `/v1/projects/research/jobs/${jobId}/rendering`],
  [
    'rendering',
    () => `(${P}, input: { engine: { name: "command", command: ["train"] }, layout: { tensorParallelDegree: 2 } })`,
    () => '/v1/projects/research/renderings',
  ],
];
const overRest = (field: string, url: string, as: string): Promise<TestAnswer> => {
  const body = BODIES[field];
  return api.send(body === undefined ? 'GET' : 'POST', url, { token: as, ...(body === undefined ? {} : { body }) });
};

/** For administrators of a cluster. */
const OF_FABRIC = ['fabric', 'gpus', 'fabricSnapshots', 'fabricSnapshot', 'fabricChanges'];

describe('a query', () => {
  it('has an equal for every field of Query', () => {
    // The fabric and its history take an administrator and a cluster: fabric/fabric.itest.ts asks for them. Goodput is told up to now, which is another each time: goodput/goodput.itest.ts.
    // Expected starts are another each time too: queue/queue.itest.ts compares them at a fixed time.
    const elsewhere = [...OF_FABRIC, 'goodput', 'queue', 'jobStart'];
    expect(new Set([...QUERIES.map(([field]) => field), ...elsewhere])).toEqual(
      new Set(Object.keys(schema.getQueryType()?.getFields() ?? {})),
    );
  });

  it.each(QUERIES)('for %s answers what REST answers, however often', async (field, args, url) => {
    const rest = await overRest(field, url(), token);
    expect(rest.status).toBe(200);
    for (let time = 0; time < 2; time++) {
      const answer = await ask(`{ ${field}${args()} ${rootField(field)} }`);
      expect(answer.body.errors).toBeUndefined();
      expect(withoutNulls(answer.body.data[field])).toEqual(withoutNulls(rest.body));
    }
  });

  it.each(QUERIES.filter(([field]) => !['whoAmI', 'engines', 'projects'].includes(field)))(
    'for %s by a token of another project is refused as REST refuses it',
    async (field, args, url) => {
      const rest = await overRest(field, url(), foreignToken);
      expect(rest.status).toBe(404);
      for (let time = 0; time < 2; time++) {
        const { status, body } = await ask(`{ ${field}${args()} ${rootField(field)} }`, {}, foreignToken);
        expect({ status, data: body.data, errors: body.errors.length }).toEqual({
          status: 200,
          data: { [field]: null },
          errors: 1,
        });
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
    ['jobs', `(${P}, labelSelector: "team in x")`, 'jobs?labelSelector=team%20in%20x'],
    ['jobs', `(${P}, q: "a_b")`, 'jobs?q=a_b'],
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

/** What REST answers about each relation of a job. */
const RELATIONS: readonly (readonly [field: string, args: string, url: () => string])[] = [
  ['checkpoints', '', () => `/jobs/${jobId}/checkpoints`],
  ['events', '', () => `/jobs/${jobId}/events`],
  ['steps', '(epoch: 1, fromStep: 3, limit: 2)', () => `/jobs/${jobId}/steps?epoch=1&fromStep=3&limit=2`],
  ['ranks', '', () => `/jobs/${jobId}/ranks`],
];

describe('a field that fails', () => {
  it('leaves its neighbours their answers', async () => {
    const { status, body } = await ask(
      `{ job(${P}, id: "none") { id } whoAmI { role } other: project(name: "rivals") { name } layout(${P}, id: "${layoutId}") { name } }`,
    );
    expect(status).toBe(200);
    expect(body.data).toEqual({ job: null, whoAmI: { role: 'admin' }, other: null, layout: { name: 'wide' } });
    // In the order in which they failed.
    expect(body.errors).toHaveLength(2);
    for (const field of ['job', 'other']) {
      expect(body.errors).toContainEqual(
        expect.objectContaining({ path: [field], extensions: { code: 'NOT_FOUND' } }) as unknown,
      );
    }
  });

  it('may be any field of the root', () => {
    for (const root of [schema.getQueryType(), schema.getMutationType()]) {
      for (const field of Object.values(root?.getFields() ?? {})) {
        expect({ field: field.name, isNullable: !isNonNullType(field.type) }).toEqual({
          field: field.name,
          isNullable: true,
        });
      }
    }
  });
});

describe('a relation', () => {
  const one = schema.getType('Job') as GraphQLObjectType;
  const item = schema.getType('JobSummary') as GraphQLObjectType;
  const selectionOf = (type: GraphQLObjectType, field: string): string => {
    const found = type.getFields()[field];
    if (found === undefined) throw new Error(`no field ${field}`);
    return everything(getNamedType(found.type));
  };

  it('has an equal in REST, and a list has none that a job lacks', () => {
    expect(new Set(RELATIONS.map(([field]) => field))).toEqual(new Set(relationsOf(one)));
    expect(relationsOf(one)).toEqual(expect.arrayContaining([...relationsOf(item)]));
  });

  it.each(RELATIONS)('%s%s answers what REST answers', async (field, args, url) => {
    const rest = await send('GET', url());
    expect(rest.body.items).not.toHaveLength(0);
    const selected = selectionOf(one, field);
    const { body } = await ask(`{ job(${P}, id: "${jobId}") { ${field}${args} ${selected} } }`);
    expect(body.errors).toBeUndefined();
    expect(withoutNulls(body.data.job[field])).toEqual(withoutNulls(rest.body));
  });

  it.each(RELATIONS.filter(([field]) => ['checkpoints', 'events'].includes(field)))(
    '%s of a list is that of each of its jobs',
    async (field, _args, url) => {
      const rest = await send('GET', url());
      const selected = selectionOf(item, field);
      const { body } = await ask(`{ jobs(${P}) { items { id ${field} ${selected} } } }`);
      expect(body.errors).toBeUndefined();
      for (const job of body.data.jobs.items) {
        const wanted = job.id === jobId ? rest.body : { items: [] };
        expect(withoutNulls(job[field])).toEqual(withoutNulls(wanted));
      }
    },
  );

  it('answers the newest, oldest of them first', async () => {
    const { body } = await ask(`{ job(${P}, id: "${jobId}") { events(limit: 1) { items { type } } } }`);
    expect(body.data.job.events.items).toEqual([{ type: 'RankFailed' }]);
  });

  it('refuses more than it may answer, and leaves the job its other fields', async () => {
    const { body } = await ask(`{ job(${P}, id: "${jobId}") { name events(limit: 101) { items { type } } } }`);
    expect(body.data).toEqual({ job: { name: 'rich', events: null } });
    expect(body.errors).toMatchObject([{ path: ['job', 'events'], extensions: { errors: [{ pointer: '/limit' }] } }]);
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
      data: { createJob: null },
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
  ])('with %s is refused by GraphQL itself', async (_what, input, sentence) => {
    for (let time = 0; time < 2; time++) {
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
        `mutation { ${field}(${P}, id: "${id}"${more}) ${field === 'deleteJob' ? '' : '{ specVersion spec { suspend cancel layout { dataParallelDegree } } }'} }`,
      );
      return body.errors?.[0].extensions.code ?? body.data[field];
    };
    expect(await steer('suspendJob', ', specVersion: 9')).toBe('PRECONDITION_FAILED');
    expect(await steer('suspendJob', ', specVersion: 1')).toMatchObject({ specVersion: 2, spec: { suspend: true } });
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
    expect(body.data).toEqual({ a: { name: 'same' }, b: null });
    expect(body.errors).toMatchObject([{ path: ['b'], extensions: { code: 'NAME_TAKEN' } }]);
    expect((await send('GET', '/layouts')).body.items.map((item: { name: string }) => item.name)).toContain('same');
  });
});
