import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JobStacks } from '@coxswain/api-types';
import { createAuthority } from '@coxswain/local-cluster';
import { operatorStacks, type OperatorStacks } from './operator-stacks.ts';

const STACKS: JobStacks = {
  takenAt: '2026-01-01T00:00:00Z',
  epoch: 1,
  rankCount: 2,
  groups: [{ thread: 'MainThread', isMain: true, frames: ['step (train.py:1)'], ranks: '0-1', rankCount: 2 }],
  silent: [],
  leftOut: '',
};
const OF = { jobUid: 'a-1', rank: 3 };

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** Two replicas; each answers as it is told, and keeps what it was asked. */
const replicas: { readonly server: Server; readonly url: string; readonly asked: string[]; answer: Answer }[] = [];
let directory: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-stacks-'));
  const authority = await createAuthority('operator-ca');
  const { certPem, keyPem } = await authority.issue({ commonName: 'operator', hosts: ['127.0.0.1'] });
  writeFileSync(join(directory, 'ca.crt'), authority.certPem);
  writeFileSync(join(directory, 'token'), 'a-token\n');
  for (let index = 0; index < 2; index += 1) {
    const server = createServer({ cert: certPem, key: keyPem }, (request: IncomingMessage, response) => {
      const replica = replicas[index];
      replica?.asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
      const { status, body } = replica?.answer ?? { status: 500, body: '' };
      response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    replicas.push({ server, url, asked: [], answer: { status: 500, body: '' } });
  }
});

afterAll(() => {
  for (const { server } of replicas) server.close();
  rmSync(directory, { recursive: true, force: true });
});

const urlOf = (index: number): string => replicas[index]?.url ?? '';
const LEADER_IS_1 = (): object => ({ status: 503, title: 'another replica leads', leaderUrl: urlOf(1) });

function ask(answers: readonly Answer[], urls: readonly string[]): Promise<OperatorStacks> {
  answers.forEach((answer, index) => {
    const replica = replicas[index];
    if (replica !== undefined) replica.answer = answer;
  });
  for (const { asked } of replicas) asked.length = 0;
  const operator = { seriesUrls: urls, caFile: join(directory, 'ca.crt'), tokenFile: join(directory, 'token') };
  return operatorStacks(operator, OF, new AbortController().signal);
}

const TAKEN: Answer = { status: 200, body: STACKS };

describe('the operator that is asked for stacks', () => {
  it('is asked with the token of the moment, and answers', async () => {
    expect(await ask([TAKEN], [urlOf(0)])).toEqual({ kind: 'taken', stacks: STACKS });
    expect(replicas[0]?.asked).toEqual(['POST /v1/stacks?jobUid=a-1&rank=3 Bearer a-token']);
  });

  it('is the leader that a follower names, and is asked once', async () => {
    expect(await ask([{ status: 503, body: LEADER_IS_1() }, TAKEN], [urlOf(0)])).toMatchObject({
      kind: 'taken',
    });
    expect(replicas.map(({ asked }) => asked.length)).toEqual([1, 1]);
  });

  it.each<[string, Answer, object]>([
    [
      'refuses',
      { status: 429, body: { title: 'asked a moment ago', againInMs: 900 } },
      { kind: 'refused', status: 429, title: 'asked a moment ago', againInMs: 900 },
    ],
    [
      'is of a release that knows no stacks',
      { status: 404, body: 'there is /v2/report\n' },
      { kind: 'refused', status: 404, title: undefined },
    ],
    [
      'does not lead and knows no leader',
      { status: 503, body: { title: 'another replica leads' } },
      { kind: 'unreachable', why: 'another replica leads' },
    ],
    [
      'names itself as the leader',
      { status: 503, body: { title: 'x', leaderUrl: 'http://plain' } },
      { kind: 'unreachable', why: 'x' },
    ],
    ['answers something else', { status: 200, body: { hello: 'world' } }, { kind: 'unreachable' }],
    ['answers no JSON', { status: 200, body: '<html>' }, { kind: 'unreachable' }],
    [
      'answers without end',
      { status: 200, body: JSON.stringify({ ...STACKS, leftOut: 'x'.repeat(9_000_000) }) },
      { kind: 'unreachable', why: expect.stringMatching(/longer than/) },
    ],
  ])('may be one that %s', async (_sentence, answer, want) => {
    expect(await ask([answer], [urlOf(0)])).toMatchObject(want);
  });

  it('may be away, all of it or a replica', async () => {
    const nobody = 'https://127.0.0.1:1';
    expect(await ask([TAKEN], [nobody, urlOf(0)])).toMatchObject({ kind: 'taken' });
    expect(await ask([TAKEN], [nobody])).toMatchObject({
      kind: 'unreachable',
      why: expect.stringMatching(/ECONNREFUSED/),
    });
    expect(await ask([TAKEN], [])).toMatchObject({
      kind: 'unreachable',
      why: expect.stringMatching(/COXSWAIN_OPERATOR_SERIES_URLS/),
    });
  });
});
