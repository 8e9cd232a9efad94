import { type ControlPlane, startControlPlane, waitFor } from '@coxswain/local-cluster';
import { type FaultProxy, type SharedPostgres, startFaultProxy } from '@coxswain/test-harness';
import { decodeJwt, decodeProtectedHeader, generateKeyPair, SignJWT } from 'jose';
import { SERVICE_ACCOUNT_RULES } from '../permissions.ts';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';

/*
 * Accounts of a real API server: it signs their tokens, and says whose they are. The API asks through a proxy that counts and can cut, with the rights
 * that the chart gives it and no others.
 */

let postgres: SharedPostgres;
let plane: ControlPlane;
let proxy: FaultProxy;
let api: ApiUnderTest;
let databaseUrl: string;
/** How far the API's clock is ahead. */
let aheadMs = 0;

beforeAll(async () => {
  postgres = migratedPostgres();
  plane = await startControlPlane({ scheduler: false, controllerManager: false });
  const certificate = await plane.issueCertificate({ commonName: 'proxy', hosts: ['127.0.0.1'] });
  proxy = await startFaultProxy({ upstream: plane, certificate, caPem: plane.caPem });
  for (const name of ['coxswain-system', 'research']) await plane.kubectl(['create', 'namespace', name]);
  for (const name of ['pipeline', 'stranger', 'leaver'])
    await plane.kubectl(['create', 'serviceaccount', name, '-n', 'research']);
  const COXSWAIN_KUBECONFIG = await plane.kubeconfigFor({
    namespace: 'coxswain-system',
    serviceAccount: 'coxswain-api',
    apiserverUrl: proxy.url,
  });
  await plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(rights()) });
  databaseUrl = await postgres.createDatabase('accounts');
  api = await startApiUnderTest({
    databaseUrl,
    clock: { now: () => new Date(Date.now() + aheadMs) },
    environment: {
      COXSWAIN_KUBECONFIG,
      COXSWAIN_SERVICE_ACCOUNTS: 'true',
      // What is counted here are questions to the API server.
      COXSWAIN_PROJECT_REQUESTS_PER_SECOND: '0',
      COXSWAIN_PROJECT_CONCURRENT_REQUESTS: '0',
    },
  });
  await api.project('research');
  await api.project('vision');
});

afterAll(async () => {
  await api?.close();
  await proxy?.close();
  await plane?.stop();
});

/** As the chart has it. */
function rights(): object {
  const metadata = { name: 'coxswain-api-accounts' };
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name };
  const subjects = [{ kind: 'ServiceAccount', name: 'coxswain-api', namespace: 'coxswain-system' }];
  return {
    apiVersion: 'v1',
    kind: 'List',
    items: [
      { apiVersion, kind: 'ClusterRole', metadata, rules: SERVICE_ACCOUNT_RULES },
      { apiVersion, kind: 'ClusterRoleBinding', metadata, roleRef, subjects },
    ],
  };
}

const nameOf = (account: string): string => `system:serviceaccount:research:${account}`;
const tokenOf = async (account: string, options: readonly string[] = ['--audience', 'coxswain-api']): Promise<string> =>
  (await plane.kubectl(['create', 'token', account, '-n', 'research', ...options])).trim();
const grant = (project: string, body: object): Promise<TestAnswer> =>
  api.send('POST', `/v1/projects/${project}/group-roles`, { token: api.adminToken, body });
const whoIs = (token: string): Promise<TestAnswer> => api.send('GET', '/v1/whoami', { token });
const becomes = (token: string, status: number): Promise<unknown> =>
  waitFor(async () => (await whoIs(token)).status === status, { what: `an answer ${status}` });
const questions = (): readonly string[] =>
  proxy.requests.map(({ path }) => path).filter((path) => /tokenreviews|jwks/.test(path));

describe('a service account', () => {
  it('without a role is told who it is and what to do', async () => {
    expect(await whoIs(await tokenOf('stranger'))).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining(`${nameOf('stranger')} has no role here`) },
    });
  });

  it('has the roles of its name and of its groups, over REST and GraphQL', async () => {
    const token = await tokenOf('pipeline');
    await grant('research', { kind: 'serviceAccount', group: nameOf('pipeline'), role: 'operator' });
    await grant('research', { kind: 'kubernetesGroup', group: 'system:serviceaccounts:research', role: 'viewer' });
    await grant('vision', { kind: 'kubernetesGroup', group: 'system:serviceaccounts', role: 'viewer' });
    const memberships = [
      { project: 'research', role: 'operator' },
      { project: 'vision', role: 'viewer' },
    ];
    const want = { name: nameOf('pipeline'), kind: 'serviceAccount', memberships };
    expect(await whoIs(token)).toMatchObject({ status: 200, body: want });
    const asked = await api.send('POST', '/graphql', { token, body: { query: '{ whoAmI { name kind } }' } });
    expect(asked.body).toEqual({ data: { whoAmI: { name: nameOf('pipeline'), kind: 'serviceAccount' } } });
  });

  it('is one and the same with each of its tokens: a request is done once under a key, and the audit knows who it was', async () => {
    await grant('research', { kind: 'serviceAccount', group: nameOf('pipeline'), role: 'operator' });
    const save = async (): Promise<TestAnswer> =>
      api.send('POST', '/v1/projects/research/layouts', {
        token: await tokenOf('pipeline'),
        headers: { 'idempotency-key': 'once' },
        body: { name: 'kept', layout: { tensorParallelDegree: 2 } },
      });
    const first = await save();
    expect(first.status).toBe(201);
    expect((await save()).body).toEqual(first.body);
    const audit = await api.send('GET', '/v1/projects/research/audit?verb=layout.create', { token: api.adminToken });
    expect(audit.body.items).toEqual([
      expect.objectContaining({ outcome: 'allowed', principal: nameOf('pipeline'), principalKind: 'serviceAccount' }),
    ]);
  });

  it('loses its role within seconds when that is taken', async () => {
    await plane.kubectl(['create', 'namespace', 'other']);
    await plane.kubectl(['create', 'serviceaccount', 'brief', '-n', 'other']);
    const group = 'system:serviceaccounts:other';
    const made = await grant('research', { kind: 'kubernetesGroup', group, role: 'viewer' });
    const token = (
      await plane.kubectl(['create', 'token', 'brief', '-n', 'other', '--audience', 'coxswain-api'])
    ).trim();
    expect((await whoIs(token)).body.memberships).toContainEqual({ project: 'research', role: 'viewer' });
    await api.send('DELETE', `/v1/projects/research/group-roles/${made.body.id}`, { token: api.adminToken });
    await waitFor(async () => !JSON.stringify((await whoIs(token)).body.memberships ?? []).includes('research'), {
      what: 'the role to go',
    });
  });

  it('that is deleted is refused when the answer of the API server is half a minute old, and it has itself forgotten it', async () => {
    await grant('research', { kind: 'serviceAccount', group: nameOf('leaver'), role: 'viewer' });
    const token = await tokenOf('leaver');
    expect((await whoIs(token)).status).toBe(200);
    await plane.kubectl(['delete', 'serviceaccount', 'leaver', '-n', 'research']);
    // The API server remembers for 10 s whom it let in.
    const isRefused = async (): Promise<boolean> => {
      aheadMs += 31_000;
      return (await whoIs(token)).status === 401;
    };
    await waitFor(isRefused, { what: 'the account to be refused', intervalMs: 2_000 });
  });
});

describe('roles', () => {
  it.each<[string, object, RegExp]>([
    [
      'a group that no account is in',
      { kind: 'kubernetesGroup', group: 'researchers' },
      /system:serviceaccounts:NAMESPACE/,
    ],
    [
      'an account by half its name',
      { kind: 'serviceAccount', group: 'pipeline' },
      /system:serviceaccount:NAMESPACE:NAME/,
    ],
    ['a group of an issuer where there is none', { kind: 'group', group: 'researchers' }, /no issuer of accounts/],
  ])('are not given to %s', async (_what, body, want) => {
    const answer = await grant('research', { ...body, role: 'viewer' });
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringMatching(want) } });
  });

  it('of a group of an issuer are no service account’s, whatever it is called', async () => {
    const group = 'system:serviceaccounts:research';
    const { database, cluster } = api.running.infrastructure;
    await database.query(
      "INSERT INTO group_roles (id, cluster_id, project_id, issuer, group_name, role) VALUES (gen_random_uuid(), $1, NULL, 'https://accounts.example.com', $2, 'clusterAdmin')",
      [cluster.id, group],
    );
    aheadMs += 2_000;
    const { body } = await whoIs(await tokenOf('stranger'));
    expect(body.role).toBe('viewer');
    const { items } = (await api.send('GET', '/v1/projects/-/group-roles', { token: api.adminToken })).body;
    expect(items).toEqual([expect.objectContaining({ kind: 'group', group, issuer: 'https://accounts.example.com' })]);
  });
});

describe('a token', () => {
  it.each<[string, () => Promise<string>]>([
    ['for the API server itself', () => tokenOf('pipeline', [])],
    ['for another program', () => tokenOf('pipeline', ['--audience', 'vault'])],
    ['of another cluster', async () => forged(await tokenOf('pipeline'), 'kid of another')],
    ['of another cluster that names our key', async () => forged(await tokenOf('pipeline'))],
    ['of another account, with a claim changed', async () => changed(await tokenOf('stranger'))],
  ])('%s is refused, and the API server is not asked', async (_what, make) => {
    await whoIs(await tokenOf('pipeline'));
    const token = await make();
    // What follows an unknown key is one reading of the keys in half a minute.
    await whoIs(token);
    proxy.clearRecords();
    for (let times = 0; times < 10; times++) expect((await whoIs(token)).status).toBe(401);
    expect(questions()).toEqual([]);
  });

  it('that is sent a thousand times is asked about once', async () => {
    const token = await tokenOf('pipeline');
    proxy.clearRecords();
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => whoIs(token)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(questions()).toHaveLength(1);
  });
});

describe('while the API server is away', () => {
  it('whoever it has to say something about is told to come again, others are let in, and so is everybody afterwards', async () => {
    const [known, unknown] = [await tokenOf('pipeline'), await tokenOf('pipeline')];
    await whoIs(known);
    await proxy.stopListening();
    const answer = await whoIs(unknown);
    expect(answer).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect([(await whoIs(known)).status, (await whoIs(api.adminToken)).status]).toEqual([200, 200]);
    await proxy.listenAgain();
    await becomes(unknown, 200);
  });
});

describe('where service accounts are not let in', () => {
  it('their tokens are refused, roles cannot be given to them, and nobody asks the API server', async () => {
    const other = await startApiUnderTest({ databaseUrl, adminToken: api.adminToken });
    try {
      expect((await other.send('GET', '/v1/whoami', { token: await tokenOf('pipeline') })).status).toBe(401);
      const body = { kind: 'serviceAccount', group: nameOf('pipeline'), role: 'viewer' };
      const asked = await other.send('POST', '/v1/projects/research/group-roles', { token: api.adminToken, body });
      expect(asked.body.detail).toMatch(/api\.serviceAccounts\.enabled/);
    } finally {
      await other.close();
    }
  });
});

/** The same token, signed by another cluster's key. */
async function forged(token: string, kid = decodeProtectedHeader(token).kid ?? ''): Promise<string> {
  const { privateKey } = await generateKeyPair('RS256');
  return new SignJWT(decodeJwt(token)).setProtectedHeader({ alg: 'RS256', kid }).sign(privateKey);
}

/** The same signature under the name of the account that has a role. */
function changed(token: string): string {
  const [head = '', , signature = ''] = token.split('.');
  const claims = { ...decodeJwt(token), sub: nameOf('pipeline') };
  return [head, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.');
}
