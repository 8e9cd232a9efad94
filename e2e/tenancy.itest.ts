/** More than 400 lines: one table of what strangers try, over one system, which takes a minute to start. */
import { LABELS, SERIES_PATH, type Job } from '@coxswain/api-types';
import { waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { sleeperSpec, UNTIL_STOPPED } from './support/jobs.ts';
import { createProject, jobIn, submit, type TestProject } from './support/project.ts';
import { releaseSharedSystem, sharedSystem } from './support/shared-system.ts';

/** Stands in the victim's job; nobody else may ever read it. */
const CANARY = 'canary-7f3a9c';

let system: CoxswainSystem;
let mine: TestProject;
let theirs: TestProject;
/** Runs in the other project for as long as the test does. */
let victim: Job;
/** Of my project, by role. */
const tokens = { viewer: '', operator: '', admin: '' };
/** Opens the second page of the other project's jobs. */
let theirPageToken = '';

beforeAll(async () => {
  system = await sharedSystem();
  [mine, theirs] = await Promise.all([createProject(system, 'mine'), createProject(system, 'theirs')]);
  for (const role of ['viewer', 'operator', 'admin'] as const)
    tokens[role] = (await system.admin.createToken('mine', { name: role, role })).token;
  const spec = sleeperSpec({ steps: UNTIL_STOPPED, stepMs: 100, saveEvery: 20 });
  const env = [{ name: 'CANARY', value: CANARY }];
  victim = await submit(theirs, 'victim', { ...spec, engine: { ...spec.engine, env } });
  await submit(theirs, 'second', { ...spec, suspend: true });
  victim = await jobIn(theirs, victim.id, ['Running'], { and: ({ checkpoint }) => checkpoint !== null });
  theirPageToken = (await theirs.api.jobPage('theirs', { pageSize: 1 })).nextPageToken ?? '';
});

afterAll(async () => {
  await releaseSharedSystem();
});

interface Attack {
  readonly method?: string;
  readonly path: string;
  readonly token?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function send({ method = 'GET', path, token = mine.token, body, headers = {} }: Attack): Promise<Answer> {
  const response = await fetch(`${system.apiUrl}${path}`, {
    method,
    headers: {
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    signal: AbortSignal.timeout(60_000),
  });
  return { status: response.status, text: await response.text() };
}

const ofVictim = (rest = '', project = 'mine'): string => `/v1/projects/${project}/jobs/${victim.id}${rest}`;
const create = (change: object, spec: object = {}): Attack => ({
  method: 'POST',
  path: '/v1/projects/mine/jobs',
  body: {
    name: `job-${randomUUID()}`.slice(0, 40),
    spec: { ...sleeperSpec({ steps: 1 }), suspend: true, ...spec },
    ...change,
  },
});
const engine = (change: object): object => ({ engine: { ...sleeperSpec({ steps: 1 }).engine, ...change } });
const graphql = (query: string, token = mine.token): Attack => ({
  method: 'POST',
  path: '/graphql',
  token,
  body: { query },
});
const POST = { method: 'POST' };

describe('a stranger with a token of one project', () => {
  it.each<[string, () => Attack, number]>([
    ['reads another tenant’s job under its own project', () => ({ path: ofVictim() }), 404],
    ['reads it under the project of the other', () => ({ path: ofVictim('', 'theirs') }), 404],
    ['reads it under every project', () => ({ path: ofVictim('', '-') }), 404],
    ['lists every project’s jobs', () => ({ path: '/v1/projects/-/jobs' }), 404],
    ['lists the other project’s jobs', () => ({ path: '/v1/projects/theirs/jobs' }), 404],
    ['climbs out of its project’s path', () => ({ path: '/v1/projects/mine%2f..%2ftheirs/jobs' }), 404],
    ['writes the other project in capitals', () => ({ path: '/v1/projects/THEIRS/jobs' }), 404],
    ['follows its log', () => ({ path: ofVictim('/logs?rank=0&follow=true') }), 404],
    ['opens its event stream', () => ({ path: ofVictim('/events/stream') }), 404],
    ['reads its events', () => ({ path: ofVictim('/events') }), 404],
    ['reads its loss curve', () => ({ path: ofVictim('/steps') }), 404],
    ['reads its rank map', () => ({ path: ofVictim('/ranks') }), 404],
    ['reads its checkpoints', () => ({ path: ofVictim('/checkpoints') }), 404],
    ['suspends it', () => ({ ...POST, path: ofVictim('/suspend') }), 404],
    ['resumes it', () => ({ ...POST, path: ofVictim('/resume'), body: {} }), 404],
    ['cancels it', () => ({ ...POST, path: ofVictim('/cancel') }), 404],
    ['deletes it', () => ({ method: 'DELETE', path: ofVictim() }), 404],
    [
      'guesses its version by If-Match',
      () => ({ ...POST, path: ofVictim('/cancel'), headers: { 'if-match': '"1"' } }),
      404,
    ],
    [
      'turns the page of the other’s list',
      () => ({ path: `/v1/projects/mine/jobs?pageSize=1&pageToken=${theirPageToken}` }),
      400,
    ],
    ['lists the other’s tokens', () => ({ path: '/v1/projects/theirs/tokens', token: tokens.admin }), 404],
    ['makes a job in the other’s namespace', () => create({ namespace: 'theirs' }), 400],
    [
      'names who it would like to be',
      () => ({ path: '/v1/projects', token: '', headers: { 'x-remote-user': 'admin', 'x-forwarded-user': 'admin' } }),
      401,
    ],
    ['makes a job as a viewer', () => ({ ...create({}), token: tokens.viewer }), 403],
    [
      'makes a token as an operator',
      () => ({ ...POST, path: '/v1/projects/mine/tokens', token: tokens.operator, body: { name: 'x' } }),
      403,
    ],
    [
      'makes itself a cluster administrator',
      () => ({
        ...POST,
        path: '/v1/projects/mine/tokens',
        token: tokens.admin,
        body: { name: 'x', role: 'clusterAdmin' },
      }),
      400,
    ],
    [
      'takes a namespace by making a project',
      () => ({
        ...POST,
        path: '/v1/projects',
        token: tokens.admin,
        body: { name: 'grab', namespaces: ['coxswain-system'] },
      }),
      403,
    ],
    ['mounts a claim of another namespace', () => create({}, { data: { claimName: 'theirs/corpus', path: 'a' } }), 400],
    ['leaves its claim by a path', () => create({}, { data: { claimName: 'corpus', path: 'a/../../b' } }), 400],
    [
      'leaves it by a path that begins at the root',
      () => create({}, { data: { claimName: 'corpus', path: '/etc' } }),
      400,
    ],
    [
      'writes a variable of the operator',
      () => create({}, engine({ env: [{ name: 'COXSWAIN_EPOCH', value: '9' }] })),
      400,
    ],
    ['names a job in another script', () => create({ name: 'јоb' }), 400],
    ['names a job with 64 characters', () => create({ name: 'a'.repeat(64) }), 400],
    ['hides a NUL in an image', () => create({}, engine({ image: 'a\0b' })), 400],
    ['hides half of a character in a command', () => create({}, engine({ command: ['\ud83d'] })), 400],
    [
      'hides a NUL in the name of a layout',
      () => ({
        ...POST,
        path: '/v1/projects/mine/layouts',
        body: { name: '\0', layout: sleeperSpec({ steps: 1 }).layout },
      }),
      400,
    ],
    ['hides a NUL in a path', () => ({ path: '/v1/projects/%00/jobs', token: system.adminToken }), 400],
    ['hides a NUL in a GraphQL text', () => graphql('{ project(name: "\\u0000") { name } }', system.adminToken), 200],
    [
      'asks for a pause that is longer than numbers reach',
      () => ({
        ...create({}),
        body: `{"name":"huge","spec":${JSON.stringify(sleeperSpec({ steps: 1 })).replace('"delaySeconds":0', '"delaySeconds":1e400')}}`,
      }),
      400,
    ],
    ['asks for a rank that nobody has', () => ({ path: ofVictim('/logs?rank=99999999999999999999') }), 400],
    ['asks for a page without end', () => ({ path: '/v1/projects/mine/jobs?pageSize=1e9' }), 400],
    [
      'makes a token that has expired already',
      () => ({
        ...POST,
        path: '/v1/projects/mine/tokens',
        token: tokens.admin,
        body: { name: 'x', expiresAt: '1970-01-01T00:00:00Z' },
      }),
      400,
    ],
  ])('%s: refused', async (_sentence, attack, status) => {
    const answer = await send(attack());
    expect(answer).toMatchObject({ status });
    expect(answer.text).not.toContain(CANARY);
    expect(answer.text).not.toContain('INTERNAL');
  });

  it('gets nothing by asking for it under many names at once', async () => {
    const job = (name: string, project: string): string =>
      `${name}: job(project: "${project}", id: "${victim.id}") { name }`;
    const query = `{ ${job('a', 'mine')} ${job('b', 'theirs')} ${job('c', '-')} d: jobs(project: "-") { items { name } } }`;
    const { text } = await send(graphql(query));
    const { data, errors } = JSON.parse(text) as { data: object; errors: { extensions: { code: string } }[] };
    expect(Object.values(data ?? {}).filter((value) => value !== null)).toEqual([]);
    expect(new Set(errors.map(({ extensions }) => extensions.code))).toEqual(new Set(['NOT_FOUND']));
  });

  it('gets no answer that another token was given under the same Idempotency-Key', async () => {
    const key = 'one-key-for-all';
    const spec = sleeperSpec({ steps: 1 }, { suspend: true });
    const first = await theirs.api.createJob('theirs', { name: 'keyed', spec }, key);
    const second = await mine.api.createJob('mine', { name: 'keyed', spec }, key);
    expect(second).toMatchObject({ project: 'mine', namespace: 'mine' });
    expect(second.id).not.toBe(first.id);
  });

  it('holds 32 streams and no more', async () => {
    const job = await submit(mine, 'watched', sleeperSpec({ steps: 1 }, { suspend: true }));
    const gone = new AbortController();
    const open = (): Promise<Response> =>
      fetch(`${system.apiUrl}/v1/projects/mine/jobs/${job.id}/events/stream`, {
        headers: { authorization: `Bearer ${tokens.viewer}` },
        signal: gone.signal,
      });
    const statuses = (await Promise.all(Array.from({ length: 33 }, open))).map(({ status }) => status);
    gone.abort();
    expect(statuses.filter((status) => status === 200)).toHaveLength(32);
    expect(statuses).toContain(429);
  });

  it.each([
    ['an event stream', '/events/stream'],
    ['a followed log', '/logs?rank=0&follow=true'],
  ])('reads %s no longer than its token is valid', async (_sentence, rest) => {
    const { token, id } = await system.admin.createToken('theirs', { name: 'short', role: 'viewer' });
    const response = await fetch(`${system.apiUrl}${ofVictim(rest, 'theirs')}`, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(60_000),
    });
    expect(response.status).toBe(200);
    const ended = response.text().then(
      () => 'ended',
      (error: Error) => (error.name === 'TimeoutError' ? 'still open' : 'ended'),
    );
    await send({ method: 'DELETE', path: `/v1/projects/theirs/tokens/${id}`, token: system.adminToken });
    expect(await ended).toBe('ended');
  });

  it('is refused once its token has expired', async () => {
    const expiresAt = new Date(Date.now() + 6_000).toISOString();
    const made = await send({
      ...POST,
      path: '/v1/projects/mine/tokens',
      token: tokens.admin,
      body: { name: 'brief', expiresAt },
    });
    const { token } = JSON.parse(made.text) as { token: string };
    expect((await send({ path: '/v1/whoami', token })).status).toBe(200);
    await waitFor(async () => (await send({ path: '/v1/whoami', token })).status === 401, {
      what: 'the token to expire',
    });
  });

  it('reads no series of the operator with the token of a pod', async () => {
    const token = await system.plane.kubectl([
      '-n',
      'mine',
      'create',
      'token',
      'default',
      '--audience=coxswain-operator',
    ]);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const url = new URL(SERIES_PATH, system.operators[0]?.reportUrl);
      const headers = { authorization: `Bearer ${token.trim()}` };
      httpsRequest(url, { headers, rejectUnauthorized: false }, (response) => {
        response.destroy();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end();
    });
    expect([401, 403]).toContain(status);
  });
});

const kubectlCreate = (object: object): Promise<string> =>
  system.plane.kubectl(['create', '-f', '-'], { input: JSON.stringify(object) });
const API = 'training.coxswain.dev/v1alpha1';
const jobByName = (name: string): Promise<Job> =>
  waitFor(
    async () => {
      const found = (await mine.api.jobPage('mine')).items.find((job) => job.name === name);
      return found === undefined ? undefined : mine.api.job({ project: 'mine', id: found.id });
    },
    { what: `a row for ${name}` },
  );

describe('a stranger who may write resources of one namespace', () => {
  it('attaches no job of its own to another’s row by a label', async () => {
    await kubectlCreate({
      apiVersion: API,
      kind: 'TrainingJob',
      metadata: { name: 'victim', namespace: 'mine', labels: { [LABELS.jobId]: victim.id } },
      spec: { ...sleeperSpec({ steps: 1 }), suspend: true },
    });
    const row = await jobByName('victim');
    expect(row.id).not.toBe(victim.id);
    expect(await theirs.api.job({ project: 'theirs', id: victim.id })).toMatchObject({
      uid: victim.uid,
      namespace: 'theirs',
    });
  });

  it('changes nothing of another’s job by objects that carry its UID', async () => {
    const { layout } = victim.spec;
    const about = { jobName: 'victim', jobUid: victim.uid };
    const labels = { [LABELS.jobUid]: victim.uid };
    const checkpoint = { step: 999_999, claimName: 'c', path: 'p', format: 'x', bytes: 1, files: 1 };
    await kubectlCreate({
      apiVersion: API,
      kind: 'Checkpoint',
      metadata: { name: 'forged', namespace: 'mine', labels },
      spec: { ...about, ...checkpoint, layout, epoch: 1, manifestSha256: 'f'.repeat(64) },
    });
    for (const epoch of [1, 999])
      await kubectlCreate({
        apiVersion: API,
        kind: 'Placement',
        metadata: { name: `forged-${epoch}`, namespace: 'mine', labels },
        spec: { ...about, epoch, layout, worldSize: 4, ranksPerPod: 1, nodes: ['n', 'n', 'n', 'n'] },
      });
    const reference = { project: 'theirs', id: victim.id };
    const before = await theirs.api.job(reference);
    await jobIn(theirs, victim.id, ['Running'], {
      and: (job) => (job.checkpoint?.step ?? 0) > (before.checkpoint?.step ?? 0),
    });
    const [after, checkpoints, ranks, events] = await Promise.all([
      theirs.api.job(reference),
      theirs.api.checkpoints(reference),
      theirs.api.ranks(reference),
      theirs.api.jobEvents(reference),
    ]);
    expect(after.checkpoint?.step).toBeLessThan(999_999);
    expect(after.epoch).toBe(1);
    expect(checkpoints.items.map(({ namespace }) => namespace)).not.toContain('mine');
    expect(ranks.epoch).toBe(1);
    expect(ranks.items.map(({ node }) => node)).not.toContain('n');
    expect(JSON.stringify(events)).not.toMatch(/999|forged/);
    expect((await send({ path: ofVictim('/logs?rank=3&tailLines=1', 'theirs'), token: theirs.token })).status).toBe(
      200,
    );
  });

  it.each<[string, string, object]>([
    ['a NUL in a variable', 'with-nul', engine({ env: [{ name: 'A', value: 'a\0b' }] })],
    ['a path that only the cluster takes', 'odd-path', { checkpoint: { claimName: 'checkpoints', path: 'a\nb' } }],
    ['a name with dots', 'a.b.c', {}],
    ['a name of 63 characters whose 40th is a dash', `${'a'.repeat(39)}-${'b'.repeat(23)}`, {}],
  ])('has its job shown in spite of %s', async (_sentence, name, spec) => {
    await kubectlCreate({
      apiVersion: API,
      kind: 'TrainingJob',
      metadata: { name, namespace: 'mine' },
      spec: { ...sleeperSpec({ steps: 1 }), suspend: true, ...spec },
    });
    const { id } = await jobByName(name);
    expect(await mine.api.job({ project: 'mine', id })).toMatchObject({ name, namespace: 'mine' });
  });

  it('starts its program as it was written, with ranks that it cannot choose', async () => {
    const spec = sleeperSpec({ steps: 1 }, { layout: { dataParallelDegree: 1 } });
    const told = {
      ...spec,
      expects: 'Nothing' as const,
      engine: {
        ...spec.engine,
        command: ['sh', '-c', 'echo "$*" "<$RANK of $WORLD_SIZE>"', 'sh', '$(COXSWAIN_TOKEN_FILE)', '$$'],
        env: [{ name: 'LD_PRELOAD', value: '/nowhere.so' }],
      },
    };
    for (const name of ['RANK', 'WORLD_SIZE', 'LOCAL_RANK', 'MASTER_ADDR', 'MASTER_PORT']) {
      const env = [...told.engine.env, { name, value: '9' }];
      await expect(submit(mine, 'forger', { ...told, engine: { ...told.engine, env } })).rejects.toThrow(
        `remove ${name}`,
      );
    }
    const made = await submit(mine, 'forger', told);
    await jobIn(mine, made.id, ['Complete']);
    const { text } = await send({ path: `/v1/projects/mine/jobs/${made.id}/logs?rank=0` });
    expect(text).toContain('$(COXSWAIN_TOKEN_FILE) $$ <0 of 1>');
  });
});

it('leaves no secret in a log of ours, or in an event of another namespace', async () => {
  const spec = sleeperSpec({ steps: 1 }, { layout: { dataParallelDegree: 1 }, restartPolicy: { maxRestarts: 0 } });
  const command = ['sh', '-c', `echo ${CANARY} >&2; exit 93`];
  const { id } = await submit(theirs, 'blabber', { ...spec, engine: { ...spec.engine, command } });
  await jobIn(theirs, id, ['Failed']);
  const told = async (): Promise<string> => JSON.stringify(await theirs.api.jobEvents({ project: 'theirs', id }));
  await waitFor(async () => (await told()).includes(CANARY), { what: 'the job’s own events to quote it' });
  const events = await system.plane.kubectl(['-n', 'mine', 'get', 'events', '-o', 'json']);
  const logs = ['api.log', 'operator-0.log'].map((name) => readFileSync(join(system.logsDirectory, name), 'utf8'));
  const secrets = [
    CANARY,
    ...[system.adminToken, mine.token, theirs.token, tokens.admin].map((token) => token.slice(13)),
  ];
  for (const text of [events, ...logs]) for (const secret of secrets) expect(text.includes(secret)).toBe(false);
});
