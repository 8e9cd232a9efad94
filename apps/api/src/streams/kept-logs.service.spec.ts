import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthority } from '@coxswain/local-cluster';
import { KeptLogsService, type KeptLog } from './kept-logs.service.ts';

const POD = { namespace: 'team', name: 'gpt-logs-1', jobUid: 'a-1' };
const ASKED = { jobUid: 'a-1', attempt: 2, rank: 3, grep: 'loss', maxBytes: 1000 };
const LABELS = { 'training.coxswain.dev/checkpoint-worker': 'logs' };

let directory: string;
let operator: Server;
let answer: { readonly status: number; readonly body: unknown };
let asked: string[];

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-kept-logs-'));
  const authority = await createAuthority('operator-ca');
  const { certPem, keyPem } = await authority.issue({ commonName: 'operator', hosts: ['127.0.0.1'] });
  writeFileSync(join(directory, 'ca.crt'), authority.certPem);
  writeFileSync(join(directory, 'token'), 'a-token\n');
  operator = createServer({ cert: certPem, key: keyPem }, (request, response) => {
    asked.push(`${request.method} ${decodeURIComponent(request.url ?? '').replaceAll('+', ' ')}`);
    response.writeHead(answer.status).end(JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => operator.listen(0, '127.0.0.1', resolve));
});

afterAll(() => {
  operator.close();
  rmSync(directory, { recursive: true, force: true });
});

beforeEach(() => {
  asked = [];
  answer = { status: 200, body: POD };
});

interface World {
  readonly phases?: readonly string[];
  readonly log?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly ownerUid?: string;
}

async function open({ phases = ['Running'], log = [], labels = LABELS, ownerUid = 'a-1' }: World = {}): Promise<{
  readonly kept: KeptLog;
  readonly paths: readonly string[];
  readonly text: string;
}> {
  const paths: string[] = [];
  const left = [...phases];
  const kube = {
    get: async <T>(path: string): Promise<T> => {
      paths.push(path);
      const metadata = { name: POD.name, labels, ownerReferences: [{ uid: ownerUid }] };
      return { metadata, status: { phase: left.length > 1 ? left.shift() : left[0] } } as T;
    },
    requestStream: async (path: string) => {
      paths.push(path);
      const parts = log.map((part) => Buffer.from(part));
      return {
        status: 200,
        headers: {},
        body: (async function* () {
          yield* parts;
        })(),
      };
    },
  };
  const url = `https://127.0.0.1:${(operator.address() as AddressInfo).port}`;
  const config = { seriesUrls: [url], caFile: join(directory, 'ca.crt'), tokenFile: join(directory, 'token') };
  const service = new KeptLogsService({ operator: config } as never, kube as never);
  const kept = await service.open(ASKED, new AbortController().signal);
  const parts: Uint8Array[] = [];
  if (kept.kind === 'log') for await (const part of kept.body) parts.push(part);
  return { kept, paths, text: Buffer.concat(parts).toString() };
}

const HEAD = '{"keptLogs":1,"segments":2,"attempts":[2]}\n';

describe('a kept log', () => {
  it('is what the pod writes that the operator names, without its first line', async () => {
    const { text, paths } = await open({
      phases: ['Pending', 'Running'],
      log: [HEAD.slice(0, 9), `${HEAD.slice(9)}[rank 3] lo`, 'ss 1\n'],
    });
    expect(text).toBe('[rank 3] loss 1\n');
    expect(asked).toEqual([`POST /v1/kept-logs?question=${JSON.stringify(ASKED)}`]);
    const pod = '/api/v1/namespaces/team/pods/gpt-logs-1';
    expect(paths).toEqual([pod, pod, `${pod}/log`]);
  });

  it.each<[string, World, RegExp]>([
    ['another program has the pod', { labels: {} }, /^another program uses the name/],
    ['the pod is of another job', { ownerUid: 'of-another-tenant', log: [HEAD, 'secret\n'] }, /^another program uses/],
    ['the pod failed', { phases: ['Failed'], log: ['exec format error\n'] }, /^the pod that reads it failed$/],
    ['the pod wrote nothing', { phases: ['Failed'] }, /failed$/],
    [
      'nothing of the attempt is kept',
      { log: ['{"keptLogs":1,"segments":0,"attempts":[4,5]}\n'] },
      /^nothing of it is kept; kept are logs of attempts 4, 5$/,
    ],
  ])('is not shown if %s', async (_what, world, why) => {
    expect((await open(world)).kept).toEqual({ kind: 'none', why: expect.stringMatching(why) as unknown });
  });

  it.each<[string, typeof answer, RegExp]>([
    [
      'rejects the request',
      { status: 404, body: { title: 'the job is not in the cluster any more' } },
      /not in the cluster/,
    ],
    ['does not know the route', { status: 404, body: '' }, /earlier release/],
    ['answers something else', { status: 200, body: { name: 7 } }, /^the operator does not answer/],
    ['has no leader', { status: 503, body: { title: 'another replica leads' } }, /another replica leads/],
  ])('is not shown if the operator %s', async (_what, given, why) => {
    answer = given;
    expect((await open()).kept).toEqual({ kind: 'none', why: expect.stringMatching(why) as unknown });
  });
});
