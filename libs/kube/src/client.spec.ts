import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createKubeClientOver } from './client.ts';
import type { ClientLimits, KubeClient, Replacement } from './kube-client.ts';
import { fileCredentials } from './credentials.ts';
import {
  isConflict,
  isGone,
  isInvalid,
  isNotFound,
  isOutcomeUnknown,
  isRetryable,
  type KubeApiError,
} from './errors.ts';
import { resourcePath } from './paths.ts';
import { anObject, FakeClock, settle } from './testing/index.ts';
import { passGuard, type KubeTransport, type TransportAnswer, type TransportRequest } from './transport.ts';

const answer = (status: number, body: unknown, headers: Record<string, string> = {}): TransportAnswer => ({
  status,
  headers,
  body: (async function* () {
    yield Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  })(),
});

type Script = (request: TransportRequest) => Promise<TransportAnswer>;

function aClient(script: Script, limits: ClientLimits = {}) {
  const clock = new FakeClock();
  const sent: TransportRequest[] = [];
  let refreshed = 0;
  const transport: KubeTransport = {
    send: async (request) => {
      passGuard(request);
      sent.push(request);
      return script(request);
    },
    refreshCredentials: () => void (refreshed += 1),
    close: () => Promise.resolve(),
  };
  const client: KubeClient = createKubeClientOver(transport, {
    userAgent: 'test',
    fieldManager: 'me',
    clock,
    ...limits,
  });
  return { client, clock, sent, refreshed: () => refreshed };
}

const rejection = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => new Error('it succeeded'),
    (error: unknown) => error,
  );

const untilAborted = ({ signal }: TransportRequest): Promise<never> =>
  new Promise((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
  );

describe('resource paths', () => {
  it.each([
    [{ group: '', version: 'v1', plural: 'pods' }, '/api/v1/pods'],
    [{ group: '', version: 'v1', plural: 'pods', namespace: 'a', name: 'b' }, '/api/v1/namespaces/a/pods/b'],
    [{ group: 'x.dev', version: 'v1', plural: 'things', name: 'b' }, '/apis/x.dev/v1/things/b'],
    [
      { group: '', version: 'v1', plural: 'pods', namespace: 'a', name: '../../b?c' },
      '/api/v1/namespaces/a/pods/..%2F..%2Fb%3Fc',
    ],
  ])('of %j is %s', (address, want) => {
    expect(resourcePath(address)).toBe(want);
  });

  it.each(['', '.', '..'])('refuses the name "%s"', (name) => {
    expect(() => resourcePath({ group: '', version: 'v1', plural: 'pods', namespace: 'a', name })).toThrow(
      'resource path',
    );
  });
});

describe('the client', () => {
  it.each([
    { name: 'a 404', status: 404, is: [isNotFound] },
    { name: 'a conflict', status: 409, is: [isConflict] },
    { name: 'a 410', status: 410, is: [isGone] },
    { name: 'a 422', status: 422, is: [isInvalid] },
    { name: 'a 429', status: 429, is: [isRetryable] },
    { name: 'a 503', status: 503, is: [isRetryable, isOutcomeUnknown] },
  ])('$name without a Status body is still told for what it is', async ({ status, is }) => {
    const { client } = aClient(() => Promise.resolve(answer(status, '<html>')));
    const error = await rejection(client.get('/x'));
    for (const predicate of [isNotFound, isConflict, isGone, isInvalid, isRetryable, isOutcomeUnknown]) {
      expect([predicate.name, predicate(error)]).toEqual([predicate.name, is.includes(predicate)]);
    }
  });

  it.each([
    { name: 'the header', headers: { 'retry-after': '7' }, details: {}, want: 7_000 },
    { name: 'the details', headers: {}, details: { retryAfterSeconds: 3 }, want: 3_000 },
    { name: 'an absurd header, capped', headers: { 'retry-after': '999999' }, details: {}, want: 120_000 },
    { name: 'a date header, ignored', headers: { 'retry-after': 'Fri, 31 Dec' }, details: {}, want: undefined },
  ])('reads the wish to wait from $name', async ({ headers, details, want }) => {
    const { client } = aClient(() => Promise.resolve(answer(429, { kind: 'Status', details }, headers as never)));
    expect((await rejection(client.get('/x'))) as KubeApiError).toMatchObject({ retryAfterMs: want });
  });

  it('gives up after its time limit, also when the body never ends, and says that the outcome is unknown', async () => {
    const hanging = aClient(untilAborted, { timeoutMs: 1_000 });
    const call = rejection(hanging.client.create('/x', {}));
    await hanging.clock.advance(1_000);
    expect(await call).toMatchObject({ status: 0, reason: 'Timeout' });
    expect([isOutcomeUnknown(await call), isRetryable(await call), hanging.clock.pending]).toEqual([true, true, 0]);
  });

  it.each([
    { given: { atMostMs: () => 400 }, limitMs: 400 },
    { given: { atMostMs: () => 400, timeoutMs: 300 }, limitMs: 300 },
    { given: { atMostMs: () => 9_000 }, limitMs: 1_000 },
  ])('gives a call the least of its limits: $limitMs ms', async ({ given, limitMs }) => {
    const { client, clock } = aClient(untilAborted, { timeoutMs: 1_000 });
    const outcome: { now?: unknown } = {};
    void rejection(client.get('/x', given)).then((error) => (outcome.now = error));
    await clock.advance(limitMs - 1);
    expect(outcome.now).toBeUndefined();
    await clock.advance(1);
    expect(outcome.now).toMatchObject({ reason: 'Timeout' });
  });

  it('tries once more with fresh credentials after a 401, for writes too', async () => {
    let first = true;
    const { client, refreshed, sent } = aClient(() => {
      const status = first ? 401 : 200;
      first = false;
      return Promise.resolve(answer(status, {}));
    });
    await client.create('/x', { a: 1 });
    expect([refreshed(), sent.length]).toEqual([1, 2]);
  });

  it('sends what it was told to: apply, merge patch, a delete that names its UID and version, a replacement of status', async () => {
    const { client, sent } = aClient(() => Promise.resolve(answer(200, {})));
    await client.apply('/x', { a: 1 }, { force: true, subresource: 'status' });
    await client.patch('/x', { a: 2 }, { type: 'merge' });
    await client.delete('/x', {
      uid: 'u',
      resourceVersion: '7',
      gracePeriodSeconds: 0,
      propagationPolicy: 'Background',
    });
    const whole = { ...anObject('x', { uid: 'u', version: 7 }), status: { state: 'New' } } as Replacement;
    await client.replace('/x', whole, { subresource: 'status' });
    expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'PATCH /x/status?fieldManager=me&force=true',
      'PATCH /x?fieldManager=me',
      'DELETE /x',
      'PUT /x/status?fieldManager=me',
    ]);
    expect(sent.map(({ headers }) => headers['content-type'])).toEqual([
      'application/apply-patch+yaml',
      'application/merge-patch+json',
      'application/json',
      'application/json',
    ]);
    expect(JSON.parse(sent[2]?.body ?? '')).toMatchObject({
      preconditions: { uid: 'u', resourceVersion: '7' },
      gracePeriodSeconds: 0,
    });
    expect(JSON.parse(sent[3]?.body ?? '')).toEqual(whole);
  });

  it.each(['uid', 'resourceVersion'] as const)(
    'replaces nothing that was not read: without %s no byte is sent',
    async (lacking) => {
      const { client, sent } = aClient(() => Promise.resolve(answer(200, {})));
      const { metadata, ...rest } = anObject('x', { version: 7 });
      const blind = { ...rest, metadata: { ...metadata, [lacking]: undefined } } as unknown as Replacement;
      expect(await rejection(client.replace('/x', blind))).toMatchObject({
        message: expect.stringContaining(lacking) as string,
      });
      expect(sent).toEqual([]);
    },
  );

  it('asks a write’s guard after every wait, and sends nothing when it refuses', async () => {
    const { client, sent } = aClient(() => Promise.resolve(answer(200, {})));
    const guard = (): never => {
      throw new RangeError('not leading');
    };
    expect(await rejection(client.create('/x', {}, { guard }))).toBeInstanceOf(RangeError);
    expect(sent).toEqual([]);
  });

  it('keeps to its limits: so many at once, so many a second, in order; a lease renewal passes them all', async () => {
    const { client, clock, sent } = aClient(untilAborted, { maxInFlight: 2, rate: { perSecond: 1, burst: 3 } });
    for (let n = 0; n < 5; n += 1) void rejection(client.get(`/${n}`, { timeoutMs: 10_000 }));
    void rejection(client.get('/lease', { lane: 'lease', timeoutMs: 10_000 }));
    await settle();
    expect(sent.map(({ path }) => path).sort()).toEqual(['/0', '/1', '/lease']);
    await clock.advance(10_000);
    expect(sent.map(({ path }) => path).slice(3)).toEqual(['/2', '/3']);
  });

  it.each([
    {
      name: 'the creates of a large gang hold up no status, no delete, no live read and no list',
      busy: { lane: 'bulk', turnOf: 'large' },
      others: { lane: 'control' },
    },
    { name: 'nor a TokenReview', busy: { lane: 'bulk', turnOf: 'large' }, others: { lane: 'identity' } },
    { name: 'launchers that connect hold up no status', busy: { lane: 'identity' }, others: { lane: 'control' } },
    { name: 'deletes of one job hold up no TokenReview', busy: { lane: 'control' }, others: { lane: 'identity' } },
    { name: 'nothing holds up a lease', busy: { lane: 'control' }, others: { lane: 'lease' } },
  ] as const)('lanes: $name', async ({ busy, others }) => {
    const { client, sent } = aClient(untilAborted, { maxInFlight: 2, lanes: { bulk: 4 } });
    for (let n = 0; n < 1_000; n += 1) void rejection(client.create(`/busy/${n}`, {}, busy));
    await settle();
    const places = busy.lane === 'bulk' ? 4 : 2;
    expect(sent).toHaveLength(places);
    void rejection(client.get('/other', others));
    await settle();
    expect(sent.slice(places).map(({ path }) => path)).toEqual(['/other']);
  });

  it('lanes: who comes with ten calls behind a thousand of somebody else gets every second turn', async () => {
    const turns: (() => void)[] = [];
    const { client, sent } = aClient(() => new Promise((resolve) => turns.push(() => resolve(answer(200, {})))), {
      lanes: { bulk: 2 },
    });
    const create = (turnOf: string, n: number): void =>
      void rejection(client.create(`/${turnOf}/${n}`, {}, { lane: 'bulk', turnOf }));
    for (let n = 0; n < 1_000; n += 1) create('large', n);
    for (let n = 0; n < 10; n += 1) create('small', n);
    while (sent.length < 30) {
      turns.shift()?.();
      await settle();
    }
    const order = sent.map(({ path }) => path.replace('?fieldManager=me', ''));
    expect(order.slice(0, 6)).toEqual(['/large/0', '/large/1', '/large/2', '/small/0', '/large/3', '/small/1']);
    expect(order.slice(0, 22).filter((path) => path.startsWith('/small/'))).toHaveLength(10);
    expect(order.slice(22).every((path) => path.startsWith('/large/'))).toBe(true);
  });

  it('lanes: forgets whose turn it was when the caller gives up', async () => {
    const { client, clock, sent } = aClient(untilAborted, { lanes: { bulk: 1 } });
    const stop = new AbortController();
    const create = (turnOf: string, signal?: AbortSignal): Promise<unknown> =>
      rejection(client.create(`/${turnOf}`, {}, { lane: 'bulk', turnOf, timeoutMs: 1_000, ...(signal && { signal }) }));
    void create('a');
    const b = create('b', stop.signal);
    void create('c');
    await settle();
    stop.abort();
    expect(await b).toMatchObject({ reason: 'Aborted' });
    await clock.advance(2_000);
    expect(sent.map(({ path }) => path)).toEqual(['/a?fieldManager=me', '/c?fieldManager=me']);
    expect(clock.pending).toBe(0);
  });

  it('forgets a caller that gave up while it waited for its turn', async () => {
    const { client, clock, sent } = aClient(untilAborted, { maxInFlight: 1 });
    const stop = new AbortController();
    void rejection(client.get('/0', { timeoutMs: 1_000 }));
    const second = rejection(client.get('/1', { signal: stop.signal }));
    void rejection(client.get('/2', { timeoutMs: 1_000 }));
    await settle();
    stop.abort();
    expect(await second).toMatchObject({ reason: 'Aborted' });
    await clock.advance(1_000);
    expect(sent.map(({ path }) => path)).toEqual(['/0', '/2']);
  });

  it.each([
    ['no JSON', 'hello'],
    ['no list', {}],
    ['null', 'null'],
  ])('calls a 200 with %s malformed instead of breaking', async (_what, body) => {
    const { client } = aClient(() => Promise.resolve(answer(200, body)));
    expect(await rejection(client.list('/x'))).toMatchObject({ status: 0, reason: 'MalformedAnswer' });
  });
});

describe('credentials from files', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const write = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const config = (user: unknown): string =>
    write(
      'config',
      JSON.stringify({
        clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1/' } }],
        users: [{ name: 'u', user }],
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
        'current-context': 'x',
      }),
    );

  it('follow a relative token file: when it is rewritten, within a second; when invalidated, at once; when gone, not at all', async () => {
    write('token', 'one\n');
    const clock = new FakeClock();
    const source = fileCredentials({ kubeconfigPath: config({ tokenFile: 'token' }) }, clock);
    const token = async (): Promise<string | undefined> => (await source.current()).headers['Authorization'];
    expect(await token()).toBe('Bearer one');
    write('token', 'second');
    expect(await token()).toBe('Bearer one');
    await clock.advance(1_000);
    expect(await token()).toBe('Bearer second');
    write('token', 'third!');
    source.invalidate();
    expect(await token()).toBe('Bearer third!');
    rmSync(join(directory, 'token'));
    await clock.advance(61_000);
    expect(await token()).toBe('Bearer third!');
    write('token', 'fourth');
    expect(await token()).toBe('Bearer fourth');
  });

  it('say what is missing, as something to try again', async () => {
    const source = fileCredentials({ kubeconfigPath: config({ tokenFile: 'absent' }) }, new FakeClock());
    expect(await rejection(source.current())).toMatchObject({ status: 0, reason: 'CredentialsUnavailable' });
  });
});
