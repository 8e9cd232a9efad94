import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SeriesFrame } from '@coxswain/api-types';
import { createLogger } from '@coxswain/telemetry';
import { createAuthority, type Postgres, startPostgres, waitFor } from '@coxswain/local-cluster';
import { type ApiUnderTest, startApiUnderTest } from '../testing/api-under-test.ts';
import { SeriesStore } from './series-store.ts';
import { SeriesSubscriber } from './series-subscriber.ts';

/** An operator's series endpoint: what it sends is up to the test. */
interface FakeOperator {
  readonly url: string;
  readonly requests: URL[];
  readonly authorizations: (string | undefined)[];
  answer: (response: ServerResponse) => void;
  send(...frames: SeriesFrame[]): void;
  cut(): void;
  close(): Promise<void>;
}

let postgres: Postgres;
let api: ApiUnderTest;
let directory: string;
let leader: FakeOperator;
let follower: FakeOperator;
const stop = new AbortController();
let subscribing: Promise<void>;
const uid = randomUUID();

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-series-'));
  postgres = await startPostgres();
  api = await startApiUnderTest({ databaseUrl: await postgres.createDatabase('series') });
  const authority = await createAuthority('operator-ca');
  const { certPem, keyPem } = await authority.issue({ commonName: 'operator', hosts: ['127.0.0.1'] });
  writeFileSync(join(directory, 'ca.crt'), authority.certPem);
  writeFileSync(join(directory, 'token'), 'first-token\n');
  [leader, follower] = await Promise.all([fakeOperator(certPem, keyPem), fakeOperator(certPem, keyPem)]);
  follower.answer = (response) => {
    response.writeHead(503, { 'content-type': 'application/problem+json' });
    response.end(JSON.stringify({ status: 503, leaderUrl: leader.url }));
  };
  const { database, cluster } = api.running.infrastructure;
  const subscriber = new SeriesSubscriber({
    operator: {
      seriesUrls: [follower.url],
      caFile: join(directory, 'ca.crt'),
      tokenFile: join(directory, 'token'),
    },
    store: new SeriesStore(database, cluster),
    logger: createLogger({ program: 'test', level: 'silent' }),
    metrics: { frames: { inc: () => undefined } },
  });
  subscribing = subscriber.run(stop.signal);
});

afterAll(async () => {
  stop.abort();
  await subscribing;
  await Promise.all([leader?.close(), follower?.close(), api?.close()]);
  await postgres?.stop();
  rmSync(directory, { recursive: true, force: true });
});

const aStep = (overrides: Partial<Extract<SeriesFrame, { kind: 'step' }>>): SeriesFrame => ({
  kind: 'step',
  bootId: 'boot-1',
  sequence: 1,
  at: '2026-01-01T00:00:00Z',
  jobUid: uid,
  namespace: 'research',
  jobName: 'tiny',
  epoch: 1,
  step: 1,
  loss: null,
  tokens: null,
  stepTimeMs: 100,
  learningRate: null,
  gradNorm: null,
  ranks: [],
  ...overrides,
});
const rows = async <Row>(text: string): Promise<readonly Row[]> =>
  (await api.running.infrastructure.database.query<Row>(text)).rows;
const untilRows = (text: string, want: number): Promise<unknown> =>
  waitFor(async () => (await rows(text)).length === want, { what: `${want} rows of ${text}` });

describe('the series', () => {
  it('are read from the leader that a follower names, with the token of the moment', async () => {
    leader.send(aStep({ loss: 5.5, tokens: 1_000, ranks: [{ rank: 0, stepTimeMs: 90, timingsMs: { forward: 40 } }] }));
    await untilRows('SELECT * FROM steps WHERE step = 1', 1);
    expect(leader.authorizations.at(-1)).toBe('Bearer first-token');
    expect(await rows('SELECT rank, step FROM rank_steps')).toEqual([{ rank: 0, step: '1' }]);
  });

  it('are one row per step, whatever each pod knows of it', async () => {
    leader.send(
      aStep({ sequence: 2, step: 2, loss: 4.5, tokens: 1_000, stepTimeMs: 90 }),
      aStep({ sequence: 3, step: 2, stepTimeMs: 200, ranks: [{ rank: 1, stepTimeMs: 200, timingsMs: {} }] }),
    );
    await untilRows('SELECT * FROM steps WHERE step = 2 AND loss = 4.5 AND tokens = 1000 AND step_time_ms = 200', 1);
  });

  it('survive lines that are no frames', async () => {
    leader.send({ nonsense: true } as never, aStep({ sequence: 4, step: 3 }));
    await untilRows('SELECT * FROM steps WHERE step = 3', 1);
  });

  it('resume after what was read, and a frame that comes twice counts once', async () => {
    leader.cut();
    await waitFor(() => leader.requests.at(-1)?.searchParams.get('after') === '4', {
      what: 'the resumption',
    });
    leader.send(aStep({ sequence: 4, step: 3 }), aStep({ sequence: 5, step: 4 }));
    await untilRows('SELECT * FROM steps WHERE step >= 3', 2);
    expect(await rows('SELECT * FROM series_gaps')).toHaveLength(0);
  });

  it('record a jump of the numbers, and a new boot, as gaps', async () => {
    leader.send(aStep({ sequence: 10, step: 9 }));
    await untilRows('SELECT * FROM series_gaps WHERE missed_frames = 4', 1);
    leader.send(aStep({ bootId: 'boot-2', sequence: 1, step: 10 }));
    await untilRows('SELECT * FROM series_gaps WHERE missed_frames IS NULL', 1);
    await untilRows('SELECT * FROM steps WHERE step = 10', 1);
  });

  it('lose a frame that the database refuses, and nothing of anybody else', async () => {
    const boot = { bootId: 'boot-2' };
    leader.send(
      aStep({ ...boot, sequence: 2, step: 20, epoch: 3_000_000_000 }),
      aStep({ ...boot, sequence: 3, step: 21, ranks: [{ rank: 5, stepTimeMs: 1, timingsMs: { 'a\0b': 1 } }] }),
      aStep({ ...boot, sequence: 4, step: 22 }),
    );
    await untilRows('SELECT * FROM steps WHERE step IN (21, 22)', 2);
    await untilRows('SELECT * FROM rank_steps WHERE rank = 5', 1);
    expect(await rows('SELECT * FROM steps WHERE step = 20')).toHaveLength(0);
  });

  it('follow ranks that are started again in their pods from an earlier step', async () => {
    const ranks = [{ rank: 7, stepTimeMs: 90, timingsMs: {} }];
    leader.send(aStep({ bootId: 'boot-2', sequence: 5, step: 60, ranks }));
    await untilRows('SELECT * FROM rank_steps WHERE rank = 7 AND step = 60', 1);
    leader.send(aStep({ bootId: 'boot-2', sequence: 6, step: 41, at: '2026-01-01T00:05:00Z', ranks }));
    await untilRows('SELECT * FROM rank_steps WHERE rank = 7 AND step = 41', 1);
  });

  it('wait while the database is away', async () => {
    await postgres.pause();
    leader.send(aStep({ bootId: 'boot-2', sequence: 7, step: 11 }));
    await postgres.start();
    await untilRows('SELECT * FROM steps WHERE step = 11', 1);
  });

  it('give the newest epoch where attempts overlap', async () => {
    leader.send(aStep({ bootId: 'boot-2', sequence: 3, epoch: 2, step: 2, loss: 4.4 }));
    await untilRows('SELECT * FROM steps WHERE epoch = 2', 1);
    const token = await api.project('research');
    const { database, cluster } = api.running.infrastructure;
    const id = randomUUID();
    await database.query(
      `INSERT INTO jobs (id, cluster_id, uid, project_id, namespace, name, spec, state)
       SELECT $1, $2, $3, id, 'research', 'tiny', '{}', 'Running' FROM projects WHERE name = 'research'`,
      [id, cluster.id, uid],
    );
    const { body } = await api.send('GET', `/v1/projects/research/jobs/${id}/steps?limit=2`, { token });
    expect(
      (body.items as { epoch: number; step: number; loss: number | null }[]).map(({ epoch, step, loss }) => [
        epoch,
        step,
        loss,
      ]),
    ).toEqual([
      [1, 1, 5.5],
      [2, 2, 4.4],
    ]);
    expect(body.items[0].tokensPerSecond).toBe(10_000);
  });
});

async function fakeOperator(cert: string, key: string): Promise<FakeOperator> {
  const open = new Set<ServerResponse>();
  let waiting: SeriesFrame[] = [];
  const server: Server = createServer({ cert, key }, (request, response) => {
    operator.requests.push(new URL(request.url ?? '/', operator.url));
    operator.authorizations.push(request.headers.authorization);
    operator.answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const write = (response: ServerResponse, frames: readonly SeriesFrame[]): void => {
    for (const frame of frames) response.write(`${JSON.stringify(frame)}\n`);
  };
  const operator: FakeOperator = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    authorizations: [],
    answer: (response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      response.flushHeaders();
      open.add(response);
      response.on('close', () => open.delete(response));
      write(response, waiting);
      waiting = [];
    },
    send: (...frames) => {
      if (open.size === 0) waiting.push(...frames);
      for (const response of open) write(response, frames);
    },
    cut: () => {
      for (const response of open) response.destroy();
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return operator;
}
