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
  readonly body: Record<string, unknown>;
}

class Setup {
  nowMs = 0;
  asked: string[] = [];
  unknown = 0;
  readonly socket = {};
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
      jobs: { receive: (podUid) => (podUid === 'u-1' ? { stacksWanted: { request: 1, maxBytes: 8_192 } } : undefined) },
      monotonicMs: () => this.nowMs,
      onUnknown: () => (this.unknown += 1),
      ...more,
    };
  }

  #endpoint: ObserverEndpoint | undefined;

  async post(body: string = JSON.stringify(REPORT), token: string | undefined = 't'): Promise<Answer> {
    this.#endpoint ??= new ObserverEndpoint(this.access);
    this.nowMs += 1_000;
    return answerOf((call) => (this.#endpoint as ObserverEndpoint).serve({ ...call, token }), body, this.socket);
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
  let answer: Answer = { status: 0, body: {} };
  let status = 0;
  const response = {
    writeHead: (code: number) => (status = code),
    end: (text: string) => (answer = { status, body: JSON.parse(text) as Record<string, unknown> }),
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
      expect(await setup.post()).toEqual({ status: 200, body: { stacksWanted: { request: 1, maxBytes: 8_192 } } });
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

  it('has pods read again if it does not know one', async () => {
    const setup = new Setup({ jobs: { receive: () => undefined } });
    expect(await setup.post()).toMatchObject({ status: 503 });
    expect(setup.unknown).toBe(1);
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
  const job = { namespace: 'research', name: 'x'.repeat(1_000_000) } as unknown as ObservedJob;
  const access = (username: string): Parameters<typeof serveObservedJobs>[0] => ({
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
    jobs: { list: () => Array.from({ length: 8 }, () => job) },
  });

  it('are for the API, as many as fit', async () => {
    const answer = await answerOf((call) =>
      serveObservedJobs(access('system:serviceaccount:coxswain-system:coxswain-api'), call),
    );
    expect(answer).toMatchObject({ status: 200, body: { leftOut: 2 } });
    expect(answer.body['jobs']).toHaveLength(6);
  });

  it('are not for others', async () => {
    const answer = await answerOf((call) => serveObservedJobs(access('system:serviceaccount:research:default'), call));
    expect(answer).toMatchObject({ status: 403 });
  });
});
