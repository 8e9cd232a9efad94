import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { waitFor } from '@coxswain/local-cluster';
import type { SharedPostgres } from '@coxswain/test-harness';
import { type ApiUnderTest, startApiUnderTest } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';

let postgres: SharedPostgres;
let api: ApiUnderTest;
let member: string;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const connections: Socket[] = [];

beforeAll(async () => {
  postgres = migratedPostgres();
  api = await startApiUnderTest({
    databaseUrl: await postgres.createDatabase('connections'),
    environment: { COXSWAIN_MAX_CONNECTIONS: '12' },
  });
  member = await api.project('research', 'viewer');
});

afterAll(async () => {
  agent.destroy();
  for (const connection of connections) connection.destroy();
  await api?.close();
});

/** Opens a connection and begins a request that never comes to its end. */
async function aStranger(): Promise<Socket> {
  const { hostname, port } = new URL(api.running.url);
  const connection = connect(Number(port), hostname);
  connection.on('error', () => undefined);
  connections.push(connection);
  await once(connection, 'connect');
  connection.write('GET /v1/whoami HTTP/1.1\r\nHost: x\r\nX-Slow: ');
  return connection;
}

/** Asks on a connection that is kept, or on one of its own; the status. */
async function ask(on: Agent | undefined, token = member): Promise<number | undefined> {
  const url = new URL('/v1/whoami', api.running.url);
  const asked = request(url, {
    headers: { authorization: `Bearer ${token}` },
    agent: on ?? false,
  });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  return answer.statusCode;
}

const openOf = (all: readonly Socket[]): readonly boolean[] =>
  all.map(({ destroyed, closed }) => !destroyed && !closed);

describe('connections of strangers', () => {
  it('are a quarter of all at most: who came first makes room, and nobody else', async () => {
    expect(await ask(agent)).toBe(200);
    const kept = Object.values(agent.freeSockets).flat()[0];
    const strangers: Socket[] = [];
    for (let count = 0; count < 6; count++) strangers.push(await aStranger());
    await waitFor(() => openOf(strangers).filter(Boolean).length === 3, { what: 'three to be cut off' });
    expect(openOf(strangers)).toEqual([false, false, false, true, true, true]);
    expect(await ask(undefined)).toBe(200);
    expect(await ask(agent)).toBe(200);
    expect(Object.values(agent.freeSockets).flat()[0]).toBe(kept);
  });

  it('are none to whoever was let in on them, however many those are', async () => {
    const agents = Array.from({ length: 9 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
    for (const one of agents) expect(await ask(one)).toBe(200);
    for (const one of agents) expect([await ask(one), Object.values(one.freeSockets).flat().length]).toEqual([200, 1]);
    for (const one of agents) one.destroy();
  });

  it('stay strangers’ when a wrong token was sent on them', async () => {
    const wrong = Array.from({ length: 5 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
    for (const one of wrong) expect(await ask(one, 'cxs_00000000_no')).toBe(401);
    const kept = () => wrong.filter((one) => Object.values(one.freeSockets).flat().length === 1).length;
    await waitFor(() => kept() <= 3, { what: 'those that came first to be cut off' });
    for (const one of wrong) one.destroy();
    const { text } = await api.running.infrastructure.metrics.expose();
    expect(text).toMatch(/coxswain_api_connections_cut_total [1-9]/);
  });
});
