import { aJob, aJobEvent, aStepPoint } from '@coxswain/api-types/testing';
import { ApiClient, ApiProblem, ApiUnreachable, type StreamedChange } from './index.ts';
import { startFakeApi, type FakeAnswer, type FakeApi } from './testing/index.ts';

const at = { project: 'research', id: aJob().id };
const jobPath = `/v1/projects/research/jobs/${at.id}`;
const event = (name: string, data: unknown, id?: number): string =>
  `event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;

let fake: FakeApi | undefined;
async function api(
  routes: Readonly<Record<string, FakeAnswer | readonly FakeAnswer[]>>,
  signal?: AbortSignal,
): Promise<ApiClient> {
  fake = await startFakeApi(routes);
  return new ApiClient({ server: fake.url, token: 'cxs_secret', ...(signal === undefined ? {} : { signal }) });
}
afterEach(async () => {
  await fake?.close();
  fake = undefined;
});

describe('a call', () => {
  it('carries the token, and a new job its idempotency key', async () => {
    const client = await api({ 'POST /v1/projects/research/jobs': { json: aJob(), status: 201 } });
    const { name, spec } = aJob();
    expect(await client.createJob('research', { name, spec }, 'key-1')).toEqual(aJob());
    expect(fake?.requests[0]).toMatchObject({
      headers: { authorization: 'Bearer cxs_secret', 'idempotency-key': 'key-1', 'content-type': 'application/json' },
      body: { name, spec },
    });
  });

  it.each<[string, string, (client: ApiClient, key?: string) => Promise<unknown>]>([
    ['a project', '/v1/projects', (client, key) => client.createProject({ name: 'p', namespaces: ['p'] }, key)],
    [
      'a group’s role',
      '/v1/projects/p/group-roles',
      (client, key) => client.grantGroupRole('p', { kind: 'group', group: 'g', role: 'viewer' }, key),
    ],
    ['a job', '/v1/projects/p/jobs', (client, key) => client.createJob('p', { name: 'j', spec: aJob().spec }, key)],
    ['a plan', '/v1/projects/p/plans', (client, key) => client.createPlan('p', {} as never, key)],
  ])('that makes %s has an idempotency key: a fresh one unless one is given', async (_what, path, make) => {
    const problem = { status: 503, code: 'UNAVAILABLE', detail: 'later' };
    const client = await api({ [`POST ${path}`]: { problem } });
    for (const key of [undefined, undefined, 'key-1']) await make(client, key).catch(() => undefined);
    const keys = fake?.requests.map(({ headers }) => headers['idempotency-key']) ?? [];
    const fresh = expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown;
    expect(keys).toEqual([fresh, fresh, 'key-1']);
    expect(new Set(keys).size).toBe(3);
  });

  it('shows a job whose spec only the cluster would have taken, beside the others', async () => {
    const odd = { ...aJob(), spec: { ...aJob().spec, data: { claimName: 'corpus', path: 'a\nb' } } };
    const client = await api({ 'GET /v1/projects/research/jobs': { json: { items: [odd, aJob()] } } });
    const inList = ({
      jobsBefore: _,
      lastFailure: __,
      whyNotTraining: ___,
      ...summary
    }: ReturnType<typeof aJob>): object => summary;
    expect((await client.jobPage('research')).items).toEqual([odd, aJob()].map(inList));
  });

  it('escapes what it puts into a path', async () => {
    const client = await api({ 'GET /v1/projects/a%2Fb/jobs/c%3Fd': { json: aJob() } });
    expect((await client.job({ project: 'a/b', id: 'c?d' })).name).toBe('tiny-gpt');
  });

  it.each<[string, FakeAnswer, { status: number; code: string; message: RegExp }]>([
    [
      'a refusal has code, sentence and every field',
      {
        problem: {
          status: 422,
          code: 'INVALID_LAYOUT',
          detail: 'the layout does not fit',
          errors: [
            { pointer: '/spec/layout', detail: 'too many' },
            { pointer: '', detail: 'no name' },
          ],
        },
      },
      {
        status: 422,
        code: 'INVALID_LAYOUT',
        message: /^the layout does not fit \(INVALID_LAYOUT\)\n {2}\/spec\/layout: too many\n {2}\(body\): no name$/,
      },
    ],
    [
      'an answer of a proxy is shown as it is',
      { text: 'bad gateway', status: 502 },
      { status: 502, code: 'UNKNOWN', message: /502: bad gateway/ },
    ],
    [
      'a page instead of JSON is no Coxswain API',
      { text: '<!doctype html>' },
      { status: 200, code: 'UNKNOWN', message: /does not understand\. Is it a Coxswain API/ },
    ],
    [
      'an answer of another version is told with the field',
      { json: { ...aJob(), epoch: 'one' } },
      { status: 200, code: 'UNKNOWN', message: /at epoch/ },
    ],
  ])('%s', async (_sentence, answer, want) => {
    const client = await api({ [`GET ${jobPath}`]: answer });
    const problem = await client.job(at).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(ApiProblem);
    expect(problem).toMatchObject({ ...want, message: expect.stringMatching(want.message) as string });
  });

  it('says whom it could not reach', async () => {
    const client = await api({});
    await fake?.close();
    const url = fake?.url ?? '';
    await expect(client.whoAmI()).rejects.toThrow(ApiUnreachable);
    await expect(client.whoAmI()).rejects.toThrow(`Cannot reach ${url}: `);
  });

  it('ends with the reason of its signal when that aborts', async () => {
    const abort = new AbortController();
    const client = await api({ [`GET ${jobPath}/logs`]: { stream: 'line\n', end: 'never' } }, abort.signal);
    const read = async (): Promise<void> => {
      for await (const _chunk of await client.logs(at, { rank: 0, follow: true })) abort.abort(new Error('Ctrl-C'));
    };
    await expect(read()).rejects.toThrow('Ctrl-C');
  });
});

describe('lists', () => {
  it('are read page by page', async () => {
    const client = await api({
      'GET /v1/projects/research/jobs?state=Running&pageSize=100': { json: { items: [aJob()], nextPageToken: 'more' } },
      'GET /v1/projects/research/jobs?state=Running&pageSize=100&pageToken=more': {
        json: { items: [aJob({ name: 'last' })] },
      },
    });
    const names: string[] = [];
    for await (const job of client.jobs('research', { state: 'Running' })) names.push(job.name);
    expect(names).toEqual(['tiny-gpt', 'last']);
  });

  it('of steps are asked for as a whole, in so many points', async () => {
    const bucket = {
      lastStep: 9,
      steps: 9,
      loss: null,
      tokensPerSecond: null,
      stepTimeMs: { min: 1, max: 2 },
      gradNorm: null,
      learningRate: null,
    };
    const { bucket: _bucket, ...single } = aStepPoint({ step: 10 });
    const client = await api({
      [`GET ${jobPath}/steps?maxPoints=2`]: { json: { items: [aStepPoint({ bucket }), single], gaps: [] } },
    });
    const { items } = await client.steps(at, { maxPoints: 2 });
    expect(items.map((point) => point.bucket)).toEqual([bucket, null]);
  });
});

describe('a live stream', () => {
  it('gives events with their id, the job and its steps, and skips what it does not know', async () => {
    const stream =
      ': begin\n\n' +
      event('event', aJobEvent({ id: 7 }), 7) +
      event('job', aJob()) +
      event('weather', { sunny: true }) +
      event('step', aStepPoint());
    const client = await api({ [`GET ${jobPath}/events/stream`]: { stream, end: 'clean' } });
    const seen: StreamedChange[] = [];
    for await (const change of client.changes(at, { lastEventId: '6' })) seen.push(change);
    expect(seen).toEqual([
      { kind: 'event', event: aJobEvent({ id: 7 }), lastEventId: '7' },
      { kind: 'job', job: aJob(), lastEventId: '7' },
      { kind: 'step', point: aStepPoint(), lastEventId: '7' },
    ]);
    expect(fake?.requests[0]?.headers['last-event-id']).toBe('6');
  });

  it('that is cut in the middle gives what was whole, then says so', async () => {
    const stream = `${event('job', aJob())}event: step\ndata: {"ep`;
    const client = await api({ [`GET ${jobPath}/events/stream`]: { stream, end: 'cut' } });
    const kinds: string[] = [];
    const read = async (): Promise<void> => {
      for await (const change of client.changes(at, {})) kinds.push(change.kind);
    };
    await expect(read()).rejects.toThrow(ApiUnreachable);
    expect(kinds).toEqual(['job']);
  });

  it('is closed by whoever leaves the loop', async () => {
    const client = await api({ [`GET ${jobPath}/events/stream`]: { stream: event('job', aJob()), end: 'never' } });
    for await (const _change of client.changes(at, {})) break;
    // Only for what hangs.
    const deadlineMs = Date.now() + 60_000;
    while ((fake?.openStreams() ?? 0) > 0 && Date.now() < deadlineMs) await new Promise(setImmediate);
    expect(fake?.openStreams()).toBe(0);
  });
});
