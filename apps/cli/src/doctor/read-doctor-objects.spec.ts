import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runOffline } from '../testing/run-offline.ts';

type Answer = readonly [status: number, body: object];

const listOf = (...items: readonly object[]): Answer => [
  200,
  { kind: 'AnyList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items },
];
const list = (...names: readonly string[]): Answer => listOf(...names.map((name) => ({ metadata: { name } })));
const failure = (code: number, reason: string, message: string): Answer => [
  code,
  { kind: 'Status', status: 'Failure', code, reason, message },
];

/** What the API server answers for each kind; every other kind is an empty list. */
let answers: Readonly<Record<string, Answer>>;
let server: Server;
let directory: string;
let kubeconfig: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    const plural = new URL(request.url ?? '/', 'http://localhost').pathname.split('/').at(-1) ?? '';
    const [status, body] = answers[plural] ?? list();
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  directory = mkdtempSync(join(tmpdir(), 'coxswain-doctor-'));
  kubeconfig = join(directory, 'kubeconfig');
  const { port } = server.address() as AddressInfo;
  const config = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c', users: [{ name: 'u', user: { token: 't' } }] },
    clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
  rmSync(directory, { recursive: true });
});

const POLICY = 'coxswain-priority-classes';
const SOUND = {
  fabrics: list('cluster'),
  validatingadmissionpolicies: list(POLICY),
  validatingadmissionpolicybindings: listOf({ metadata: { name: 'b' }, spec: { policyName: POLICY } }),
};

describe('the doctor of a cluster', () => {
  it.each<[string, Readonly<Record<string, Answer>>, number, string]>([
    ['finds nothing where nothing is missing', SOUND, 0, 'Nothing is missing'],
    ['reports what lists show', {}, 1, '! Fabric cluster does not exist'],
    [
      'reports a cluster without TrainingJobs',
      { trainingjobs: failure(404, 'NotFound', 'the server could not find the requested resource') },
      1,
      '! The cluster does not serve TrainingJobs',
    ],
    [
      'reports a kind that may not be listed, with the words of the API server',
      { ...SOUND, resourcequotas: failure(403, 'Forbidden', 'resourcequotas is forbidden: User "ada" cannot list') },
      1,
      '! ResourceQuota objects could not be read, so it is unknown how many GPUs each namespace may use: ',
    ],
  ])('%s', async (_sentence, given, code, want) => {
    answers = given;
    const outcome = await runOffline({}, 'doctor', '--kubeconfig', kubeconfig);
    expect([outcome.code, outcome.err, outcome.out]).toEqual([code, '', expect.stringContaining(want)]);
  });

  it('says which options choose another cluster if the server refuses the user', async () => {
    answers = { trainingjobs: failure(401, 'Unauthorized', 'Unauthorized') };
    const { code, err } = await runOffline({}, 'doctor', '--kubeconfig', kubeconfig);
    expect([code, err]).toEqual([2, expect.stringContaining('Choose another cluster with --kubeconfig or --context.')]);
  });
});
