import { request } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import { KEPT_LOGS_PATH, OBSERVE_PATH, REPORT_PATH, STACKS_PATH } from '@coxswain/api-types';
import { FakeClock } from '@coxswain/kube/testing';
import WebSocket from 'ws';
import type { Authentication } from './authenticator.ts';
import { createAuthority, issueServingCertificate, type KeyPair } from './authority.ts';
import { MessageDeduplicator } from './message-deduplicator.ts';
import { ProgressTracker } from './progress-tracker.ts';
import { Rendezvous } from './rendezvous.ts';
import type { KeptLogsReply, KeptLogsRequest } from '../kept-logs/kept-logs-readers.ts';
import { ObserverEndpoint } from './serve-observers.ts';
import { startReportServer, type ReportServer } from './report-server.ts';
import type { ReportPorts } from './session-ports.ts';
import { SeriesRing } from './series-ring.ts';
import type { StackAnswer, StackQuestion } from './stack-requests.ts';
import { WaitingLaunchers } from './waiting-launchers.ts';

const pod = {
  namespace: 'research',
  jobName: 'tiny',
  jobUid: 'job-1',
  epoch: 1,
  podIndex: 0,
  ranks: [0],
};
const ports: ReportPorts = {
  leadership: () => ({ leading: true, term: 1 }),
  findPod: async () => pod,
  isKnownPod: async () => true,
  currentEpoch: () => 1,
  isFenced: () => false,
  currentIncarnation: () => 1,
  recordCheckpoint: async () => 'recorded',
  onNews: () => undefined,
};
const known: Authentication = {
  kind: 'authenticated',
  identity: { username: 'u', namespace: 'research', pod: { name: 'p', uid: 'pod-1' } },
};
const hello = JSON.stringify({
  ...{ kind: 'hello', podUid: 'pod-1', epoch: 1, sequence: 1, rendezvous: null },
  ...{ jobUid: 'job-1', bootId: 'boot', podIndex: 0, launcherVersion: '1' },
});

let ca: KeyPair;
let serving: KeyPair;
beforeAll(async () => {
  ca = await createAuthority(new Date());
  serving = await issueServingCertificate(ca, { hosts: ['127.0.0.1'], now: new Date() });
});

const open: { terminate(): void }[] = [];
let server: ReportServer;
let clock: FakeClock;
afterEach(async () => {
  for (const socket of open.splice(0)) socket.terminate();
  await server.stop();
});

async function serve(
  options: {
    readonly authenticate?: () => Promise<Authentication>;
    readonly most?: number;
    readonly isObserved?: boolean;
    readonly stacks?: (question: StackQuestion) => StackAnswer;
    readonly keptLogs?: (request: KeptLogsRequest) => KeptLogsReply;
  } = {},
): Promise<void> {
  clock = new FakeClock();
  const authenticator = { authenticate: options.authenticate ?? (() => Promise.resolve(known)) };
  const series = new SeriesRing({ bootId: 'boot' });
  server = await startReportServer({
    listenHost: '127.0.0.1',
    listenPort: 0,
    ownUrl: 'https://replica:9443',
    serving,
    clock,
    silenceMs: 60_000,
    unidentified: { most: options.most ?? 10, helloWithinMs: 10_000 },
    series: { ring: series, authenticator, readers: [], leadership: () => ports.leadership(), clock },
    stacks: {
      authenticator,
      readers: ['u'],
      leadership: () => ports.leadership(),
      requests: { take: async (question) => options.stacks?.(question) ?? { kind: 'noGang' } },
    },
    keptLogs: {
      authenticator,
      readers: ['u'],
      leadership: () => ports.leadership(),
      open: async (request) => options.keptLogs?.(request),
    },
    observed: {
      endpoint: new ObserverEndpoint({
        authenticator,
        leadership: () => ports.leadership(),
        namespaces: ['research'],
        jobs: { receive: () => ({}), refusalOf: () => (options.isObserved === true ? undefined : 'unknown') },
        monotonicMs: () => clock.monotonicMs(),
        onUnknown: () => undefined,
      }),
      jobs: { authenticator, readers: [], leadership: () => ports.leadership(), jobs: { list: () => [], refused: 0 } },
    },
    sessions: {
      ports,
      authenticator,
      series,
      progress: new ProgressTracker(),
      health: { heartbeat: () => undefined, step: () => undefined, finished: () => undefined },
      rendezvous: new Rendezvous(),
      waiting: new WaitingLaunchers(),
      deduplicator: new MessageDeduplicator(),
      recordContact: () => undefined,
      recordLauncher: () => undefined,
      recordPreflight: () => undefined,
      recordTrained: () => undefined,
      recordStacks: () => undefined,
      now: () => clock.now(),
      sleep: async () => undefined,
      count: () => undefined,
    },
  });
}

interface Caller {
  readonly socket: WebSocket;
  readonly closed: Promise<void>;
  /** The kind of the next message. */
  received(): Promise<string>;
}

async function call(): Promise<Caller> {
  const socket = new WebSocket(`wss://127.0.0.1:${server.port}${REPORT_PATH}`, {
    ca: ca.certPem,
    headers: { authorization: 'Bearer token' },
  });
  open.push(socket);
  const received: string[] = [];
  let wake = (): void => undefined;
  socket.on('message', (data: Buffer) => {
    received.push((JSON.parse(data.toString()) as { readonly kind: string }).kind);
    wake();
  });
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  return {
    socket,
    closed,
    received: async () => {
      if (received.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      return received.shift() ?? '';
    },
  };
}

/** A connection that speaks TLS and nothing else. */
async function connectOnly(): Promise<{ readonly closed: Promise<void>; readonly send: (text: string) => void }> {
  const socket: TLSSocket = connect({ host: '127.0.0.1', port: server.port, ca: ca.certPem, servername: '' });
  open.push({ terminate: () => socket.destroy() });
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  await new Promise<void>((resolve) => socket.once('secureConnect', () => resolve()).once('close', () => resolve()));
  socket.resume();
  return { closed, send: (text) => void socket.write(text) };
}

describe('a place of the report endpoint', () => {
  it('is held for 10 s by a connection that says nothing', async () => {
    await serve();
    const { closed } = await connectOnly();
    await clock.advance(10_000);
    await closed;
  });

  it.each([
    ['each of a pod that is not observed', false, 0],
    ['all but two of one observed pod', true, 2],
  ])('of an observer is given up while its report arrives: %s', async (_which, isObserved, want) => {
    await serve({ isObserved });
    const closed: Promise<void>[] = [];
    for (let index = 0; index < 8; index += 1) {
      const connection = await connectOnly();
      connection.send(`POST ${OBSERVE_PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer t\r\n`);
      connection.send(`content-length: 200000\r\n\r\n${' '.repeat(100_000)}`);
      closed.push(connection.closed);
    }
    await Promise.all(closed.slice(0, 8 - want));
  });

  it('is not held longer by a caller that only pings', async () => {
    await serve();
    const caller = await call();
    const ponged = new Promise((resolve) => caller.socket.once('pong', resolve));
    await clock.advance(9_000);
    caller.socket.ping();
    await ponged;
    await clock.advance(1_000);
    await caller.closed;
  });

  it('is given up at the first frame that is not hello', async () => {
    await serve();
    const caller = await call();
    caller.socket.send('nonsense');
    expect(await caller.received()).toBe('refused');
    await caller.closed;
  });

  it.each([
    ['a long frame of a caller whose token is being looked at', true],
    ['a frame that never ends, of a caller that said nothing', false],
  ])('is given up when the server would have to hold much of a stranger: %s', async (_what, hasGreeted) => {
    await serve({ authenticate: () => new Promise(() => undefined) });
    const caller = await call();
    if (hasGreeted) caller.socket.send(hello);
    const pieces = hasGreeted ? 1 : 5;
    for (let sent = 0; sent < pieces; sent += 1) caller.socket.send('x'.repeat(100_000 / pieces), { fin: hasGreeted });
    await caller.closed;
    expect(server.connections).toBe(0);
  });

  it('is kept by a launcher that is known, however many frames it sends', async () => {
    await serve();
    const caller = await call();
    caller.socket.send(hello);
    expect(await caller.received()).toBe('welcome');
    for (let sent = 0; sent < 10; sent += 1) caller.socket.send('x'.repeat(20_000), { fin: false });
    caller.socket.send('x', { fin: true });
    const ponged = new Promise((resolve) => caller.socket.once('pong', resolve));
    caller.socket.ping();
    await ponged;
    expect(caller.socket.readyState).toBe(WebSocket.OPEN);
  });

  it('is kept by a launcher whose token takes long to be looked at, and by one that is known', async () => {
    const authentication = Promise.withResolvers<Authentication>();
    const asked = Promise.withResolvers<void>();
    await serve({
      authenticate: () => {
        asked.resolve();
        return authentication.promise;
      },
    });
    const caller = await call();
    caller.socket.send(hello);
    await asked.promise;
    await clock.advance(30_000);
    authentication.resolve(known);
    expect(await caller.received()).toBe('welcome');
    await clock.advance(20_000);
    expect(caller.socket.readyState).toBe(WebSocket.OPEN);
  });

  it('is held for 5 s by a launcher that was sent away and does not part', async () => {
    await serve();
    const [older, newer] = [await call(), await call()];
    older.socket.send(hello);
    expect(await older.received()).toBe('welcome');
    older.socket.pause();
    newer.socket.send(hello);
    expect(await newer.received()).toBe('welcome');
    await clock.advance(4_999);
    expect(server.connections).toBe(2);
    await clock.advance(1);
    // Ended by the socket itself, a few turns later.
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(server.connections).toBe(1);
    expect(newer.socket.readyState).toBe(WebSocket.OPEN);
  });

  it('is not taken by connections that say nothing, however many they are', async () => {
    await serve({ most: 2 });
    const caller = await call();
    caller.socket.send(hello);
    expect(await caller.received()).toBe('welcome');
    await connectOnly();
    await connectOnly();
    const one = await connectOnly();
    await one.closed;
    expect(caller.socket.readyState).toBe(WebSocket.OPEN);
    expect(server.connections).toBe(1);
  });
});

/** Asks as the API does. */
async function ask(path: string, query: string, headers: Readonly<Record<string, string>>): Promise<[number, object]> {
  const answered = Promise.withResolvers<[number, object]>();
  const url = `https://127.0.0.1:${server.port}${path}${query}`;
  const sent = request(url, { method: 'POST', ca: ca.certPem, headers, agent: false }, (response) => {
    let text = '';
    response.on('data', (chunk: Buffer) => (text += chunk.toString()));
    response.on('end', () => answered.resolve([response.statusCode ?? 0, JSON.parse(text) as object]));
  });
  sent.on('error', answered.reject);
  sent.end();
  return answered.promise;
}

describe('the pod that reads kept logs', () => {
  const TOKEN = { authorization: 'Bearer token' };
  const POD: KeptLogsReply = { kind: 'pod', pod: { namespace: 'team', name: 'gpt-logs-1', jobUid: 'a-1' } };
  const asked = (question: object): string => `?question=${encodeURIComponent(JSON.stringify(question))}`;
  const QUESTION = { jobUid: 'a-1', attempt: 2, maxBytes: 1000 };

  it.each<[string, string, Readonly<Record<string, string>>, KeptLogsReply, number]>([
    ['is named to the API', asked(QUESTION), TOKEN, POD, 200],
    ['is not named without a token', asked(QUESTION), {}, POD, 401],
    ['is not started for a question that names a folder', asked({ ...QUESTION, folder: '../other' }), TOKEN, POD, 400],
    ['is not started for half a question', asked({ jobUid: 'a-1' }), TOKEN, POD, 400],
    ['is not there for a job without a place for logs', asked(QUESTION), TOKEN, { kind: 'notKept' }, 404],
    ['has to wait for a claim', asked(QUESTION), TOKEN, { kind: 'waits', why: 'claim c is mounted on a' }, 409],
    ['has to wait for others', asked(QUESTION), TOKEN, { kind: 'busy' }, 429],
    // eslint-disable-next-line max-params -- a row of the table
  ])('%s', async (_sentence, query, headers, reply, status) => {
    const requests: KeptLogsRequest[] = [];
    await serve({
      authenticate: () => Promise.resolve({ kind: 'authenticated', identity: { username: 'u', namespace: 'system' } }),
      keptLogs: (request) => {
        requests.push(request);
        return reply;
      },
    });
    expect(await ask(KEPT_LOGS_PATH, query, headers)).toMatchObject([
      status,
      status === 200 ? { name: 'gpt-logs-1' } : {},
    ]);
    expect(requests).toEqual([400, 401].includes(status) ? [] : [QUESTION]);
  });
});

describe('stacks', () => {
  const TAKEN: StackAnswer = {
    kind: 'taken',
    stacks: { takenAt: '2026-01-01T00:00:00Z', epoch: 1, rankCount: 2, groups: [], silent: [], leftOut: '' },
  };
  const TOKEN = { authorization: 'Bearer token' };
  const api: Authentication = { kind: 'authenticated', identity: { username: 'u', namespace: 'system' } };
  const stranger: Authentication = { kind: 'authenticated', identity: { username: 'another', namespace: 'system' } };

  it.each<[string, string, Readonly<Record<string, string>>, Authentication, StackAnswer, number, object]>([
    ['are answered to the API', '?jobUid=a-1', TOKEN, api, TAKEN, 200, TAKEN.stacks],
    ['are told to nobody without a token', '?jobUid=a-1', {}, api, TAKEN, 401, { status: 401 }],
    [
      'are told to no other account',
      '?jobUid=a-1',
      TOKEN,
      stranger,
      TAKEN,
      403,
      { title: 'another is not allowed to read here' },
    ],
    ['are of one job', '', TOKEN, api, TAKEN, 400, { title: expect.stringMatching(/must have jobUid/) }],
    ['are of a rank that can be', '?jobUid=a&rank=-1', TOKEN, api, TAKEN, 400, { status: 400 }],
    ['are of a job that is there', '?jobUid=a', TOKEN, api, { kind: 'noGang' }, 404, { status: 404 }],
    [
      'are to be asked for later where they were a moment ago',
      '?jobUid=a&rank=3',
      TOKEN,
      api,
      { kind: 'later', why: 'asked', againInMs: 12.5 },
      429,
      { againInMs: 13 },
    ],
    // eslint-disable-next-line max-params -- a row of the table
  ])('%s', async (_sentence, query, headers, who, answer, status, want) => {
    const questions: StackQuestion[] = [];
    const stacks = (question: StackQuestion): StackAnswer => {
      questions.push(question);
      return answer;
    };
    await serve({ authenticate: () => Promise.resolve(who), stacks });
    expect(await ask(STACKS_PATH, query, headers)).toMatchObject([status, want]);
    expect(questions.length).toBe([200, 404, 429].includes(status) ? 1 : 0);
    if (status === 429) expect(questions).toEqual([{ jobUid: 'a', rank: 3 }]);
  });
});
