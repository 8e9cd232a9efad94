import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { MAX_REPORT_BYTES, OBSERVE_TOKEN_AUDIENCE, type ObservedJob, REPORT_TOKEN_AUDIENCE } from '@coxswain/api-types';
import type { Authentication } from './authenticator.ts';
import { ObserverEndpoint, type ObserverAccess, serveObservedJobs } from './serve-observers.ts';

const REPORT = { version: 1, bootId: 'b', ranks: [], processes: [], watermarks: [], processGroups: [], steps: [] };
const POD: Authentication = {
  kind: 'authenticated',
  identity: {
    username: 'system:serviceaccount:research:default',
    namespace: 'research',
    pod: { name: 'p', uid: 'u-1' },
  },
};

interface Answer {
  readonly status: number;
  /** Whether the connection ends with it. */
  readonly closes: boolean;
  /** Whether any of the request's body was read. */
  readonly isRead: boolean;
  readonly body: Record<string, unknown>;
}

class Setup {
  nowMs = 0;
  asked: string[] = [];
  unknown: string[] = [];
  readonly socket = Object.assign(new EventEmitter(), { destroy: () => undefined });
  /** Calls of `onIdentified`. */
  identified = 0;
  readonly access: ObserverAccess;

  constructor(more: Partial<ObserverAccess> = {}, answer: Authentication = POD) {
    this.access = {
      authenticator: {
        authenticate: (token, audiences) => {
          this.asked.push(`${token} ${audiences.join()}`);
          return Promise.resolve(audiences[0] === OBSERVE_TOKEN_AUDIENCE ? answer : { kind: 'refused' });
        },
      },
      leadership: () => ({ leading: true, term: 1, leftMs: 1_000 }),
      namespaces: ['research'],
      jobs: {
        refusalOf: (podUid) => (podUid === 'u-1' ? undefined : 'unknown'),
        receive: (podUid) => (podUid === 'u-1' ? { stacksWanted: { request: 1, maxBytes: 8_192 } } : undefined),
      },
      monotonicMs: () => this.nowMs,
      onUnknown: (podUid) => this.unknown.push(podUid),
      ...more,
    };
  }

  #endpoint: ObserverEndpoint | undefined;

  async post(body: string = JSON.stringify(REPORT), token: string | undefined = 't'): Promise<Answer> {
    this.#endpoint ??= new ObserverEndpoint(this.access);
    this.nowMs += 1_000;
    return answerOf(
      (call) =>
        (this.#endpoint as ObserverEndpoint).serve({ ...call, token, onIdentified: () => (this.identified += 1) }),
      body,
      this.socket,
    );
  }
}

async function answerOf(
  serve: (call: {
    request: IncomingMessage;
    response: ServerResponse;
    token: string;
    onIdentified: () => void;
  }) => Promise<void>,
  body = '',
  socket: object = {},
): Promise<Answer> {
  let answer: Answer = { status: 0, closes: false, isRead: false, body: {} };
  let head: Pick<Answer, 'status' | 'closes'> = answer;
  const response = {
    writeHead: (status: number, headers: Readonly<Record<string, string>>) =>
      (head = { status, closes: headers['connection'] === 'close' }),
    end: (text: string) =>
      (answer = { ...head, isRead: request.readableDidRead, body: JSON.parse(text) as Record<string, unknown> }),
  };
  const request = Object.assign(Readable.from([Buffer.from(body)]), { socket });
  await serve({
    request: request as unknown as IncomingMessage,
    response: response as unknown as ServerResponse,
    token: 't',
    onIdentified: () => undefined,
  });
  return answer;
}

describe('the endpoint of observers', () => {
  it('answers a report of a pod with what it should send, and checks its token once for each connection', async () => {
    const setup = new Setup();
    for (let times = 0; times < 3; times += 1)
      expect(await setup.post()).toMatchObject({
        status: 200,
        closes: false,
        body: { stacksWanted: { request: 1, maxBytes: 8_192 } },
      });
    expect(setup.asked).toEqual([`t ${OBSERVE_TOKEN_AUDIENCE}`]);
    await setup.post(undefined, 'renewed');
    expect(setup.asked).toEqual([`t ${OBSERVE_TOKEN_AUDIENCE}`, `renewed ${OBSERVE_TOKEN_AUDIENCE}`]);
    setup.nowMs += 600_000;
    await setup.post(undefined, 'renewed');
    expect(setup.asked).toHaveLength(3);
  });

  const unbound: Authentication = { kind: 'authenticated', identity: { username: 'u', namespace: 'research' } };
  it.each<[string, { readonly setup: Setup; readonly body?: string; readonly status: number; readonly title: RegExp }]>(
    [
      [
        'has a token for launchers alone',
        { setup: new Setup({}, { kind: 'refused' }), status: 401, title: /coxswain-observe/ },
      ],
      ['has a token of no pod', { setup: new Setup({}, unbound), status: 401, title: /not one of a pod/ }],
      [
        'cannot be identified now',
        { setup: new Setup({}, { kind: 'unavailable' }), status: 503, title: /cannot be checked/ },
      ],
      ['sends no JSON', { setup: new Setup(), body: '{', status: 400, title: /must be a report/ }],
      [
        'sends something else',
        { setup: new Setup(), body: JSON.stringify({ ...REPORT, more: 1 }), status: 400, title: /must be a report/ },
      ],
      [
        'sends too much',
        { setup: new Setup(), body: 'x'.repeat(MAX_REPORT_BYTES + 1), status: 400, title: /at most \d+ bytes/ },
      ],
    ],
  )('refuses a sender that %s', async (_sentence, { setup, body, status, title }) => {
    const answer = await setup.post(body);
    expect(answer).toMatchObject({ status, body: { title: expect.stringMatching(title) as string } });
  });

  it('of a follower names the leader', async () => {
    const setup = new Setup({ leadership: () => ({ leading: false, leaderUrl: 'https://leader:9443' }) });
    expect(await setup.post()).toMatchObject({ status: 503, body: { leaderUrl: 'https://leader:9443' } });
  });

  it.each<[string, Partial<ObserverAccess>, { readonly status: number; readonly title: RegExp }]>([
    [
      'does not know the pod, and has pods read again',
      { jobs: { receive: () => ({}), refusalOf: () => 'unknown' } },
      { status: 503, title: /does not know this pod/ },
    ],
    [
      'follows too many jobs',
      { jobs: { receive: () => ({}), refusalOf: () => 'full' } },
      { status: 503, title: /as many jobs of this namespace as it can/ },
    ],
    [
      'knows of a later attempt',
      { jobs: { receive: () => ({}), refusalOf: () => 'earlierAttempt' } },
      { status: 503, title: /later attempt/ },
    ],
    [
      'observes other namespaces',
      { namespaces: ['vision'] },
      { status: 403, title: /namespace research are not observed/ },
    ],
  ])('ends a connection before it reads from it if it %s', async (sentence, more, { status, title }) => {
    const setup = new Setup(more);
    const answer = await setup.post();
    expect(answer).toMatchObject({ status, closes: true, isRead: false });
    expect(answer.body['title']).toMatch(title);
    expect([setup.identified, setup.unknown]).toEqual([0, sentence.includes('read again') ? ['u-1'] : []]);
  });

  it('takes no more than some reports a second from one connection', async () => {
    const setup = new Setup();
    await setup.post();
    setup.nowMs -= 1_000;
    expect(await setup.post()).toMatchObject({ status: 429 });
    setup.nowMs -= 750;
    expect(await setup.post()).toMatchObject({ status: 200 });
  });
});

describe('all observed jobs', () => {
  const job = (namespace: string, letter = 'x'): ObservedJob =>
    ({ namespace, name: letter.repeat(1_000_000) }) as unknown as ObservedJob;
  const access = (username: string, jobs: readonly ObservedJob[] = []): Parameters<typeof serveObservedJobs>[0] => ({
    authenticator: {
      authenticate: (_token, audiences) =>
        Promise.resolve(
          audiences[0] === REPORT_TOKEN_AUDIENCE
            ? { kind: 'authenticated', identity: { username, namespace: 'coxswain-system' } }
            : { kind: 'refused' },
        ),
    },
    readers: ['system:serviceaccount:coxswain-system:coxswain-api'],
    leadership: () => ({ leading: true, term: 1, leftMs: 1_000 }),
    jobs: { list: () => jobs, refused: 3 },
  });
  const read = (jobs: readonly ObservedJob[]): Promise<Answer> =>
    answerOf((call) => serveObservedJobs(access('system:serviceaccount:coxswain-system:coxswain-api', jobs), call));

  it('are for the API, as many as fit, and say how many do not', async () => {
    const answer = await read(Array.from({ length: 8 }, () => job('research')));
    expect(answer).toMatchObject({ status: 200, body: { leftOut: 2 + 3 } });
    expect(answer.body['jobs']).toHaveLength(6);
  });

  it('fit in bytes, not in characters', async () => {
    expect((await read(Array.from({ length: 8 }, () => job('research', '字')))).body['jobs']).toHaveLength(2);
  });

  it('have a share for each namespace: the first one leaves room for the others', async () => {
    const jobs = [...Array.from({ length: 8 }, () => job('a')), job('b'), job('c')];
    const { body } = await read(jobs);
    expect((body['jobs'] as readonly ObservedJob[]).map(({ namespace }) => namespace).join('')).toBe('aaaabc');
  });

  it('are not for others', async () => {
    const answer = await answerOf((call) => serveObservedJobs(access('system:serviceaccount:research:default'), call));
    expect(answer).toMatchObject({ status: 403 });
  });
});
