import { once } from 'node:events';
import { connect } from 'node:net';
import { aJobSpec } from '@coxswain/api-types/testing';
import { waitFor } from '@coxswain/local-cluster';
import type { SharedPostgres } from '@coxswain/test-harness';
import { type ApiUnderTest, startApiUnderTest } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';
import { MAX_PUBLIC_BODY_BYTES } from './guest-bodies.ts';
import { MAX_BODY_BYTES } from './json-body.ts';

/*
 * What is announced here is never sent: an answer that comes all the same was given before the body was read.
 */

let postgres: SharedPostgres;
let api: ApiUnderTest;
let member: string;

beforeAll(async () => {
  postgres = migratedPostgres();
  api = await startApiUnderTest({
    databaseUrl: await postgres.createDatabase('bodies'),
    environment: { COXSWAIN_PROJECT_CONCURRENT_REQUESTS: '1' },
  });
  member = await api.project('research', 'admin');
});

afterAll(async () => {
  await api?.close();
});

const JOBS = '/v1/projects/research/jobs';

/** Head of a request whose body holds so many bytes; what the server answers to it alone. */
async function answerToHead(
  path: string,
  { bytes, token, signal }: { bytes: number; token?: string; signal?: AbortSignal },
): Promise<string> {
  const { hostname, port } = new URL(api.running.url);
  const socket = connect(Number(port), hostname);
  try {
    const bearer = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`;
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\n${bearer}Content-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`,
    );
    const [first] = (await once(socket, 'data', { signal })) as [Buffer];
    return first.toString().split('\r\n')[0] ?? '';
  } finally {
    socket.destroy();
  }
}

describe('the body of a request', () => {
  it.each<[string, string, { bytes: number; token?: string }, RegExp]>([
    ['of a stranger', JOBS, { bytes: MAX_BODY_BYTES }, /401/],
    ['of a stranger with a token of the right form', JOBS, { bytes: MAX_BODY_BYTES, token: 'cxs_00000000_no' }, /401/],
    ['of a stranger to GraphQL', '/graphql', { bytes: MAX_BODY_BYTES }, /401/],
    ['to an address that is not there', '/nowhere', { bytes: MAX_BODY_BYTES }, /404/],
    ['of whoever signs in, when it is large', '/v1/sign-in/tokens', { bytes: MAX_PUBLIC_BODY_BYTES + 1 }, /413/],
  ])('%s is not read', async (_whose, path, request, want) => {
    expect(await answerToHead(path, request)).toMatch(want);
  });

  it('is read of one request at a time, where a project may have no more', async () => {
    const leave = new AbortController();
    const request = { bytes: MAX_BODY_BYTES, token: member, signal: leave.signal };
    const both = [answerToHead(JOBS, request), answerToHead(JOBS, request)];
    expect(await Promise.race(both)).toMatch(/429/);
    leave.abort();
    await Promise.allSettled(both);
    const body = { name: 'tiny', spec: aJobSpec() };
    await waitFor(async () => (await api.send('POST', JOBS, { token: member, body })).status === 201, {
      what: 'the place of who has gone',
    });
  });
});
