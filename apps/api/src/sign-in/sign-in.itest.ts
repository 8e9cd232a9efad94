/* More than 400 lines: everything about people is shown against one issuer, one API and one database, which are started once. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { waitFor } from '@coxswain/local-cluster';
import type { SharedPostgres } from '@coxswain/test-harness';
import { UnsecuredJWT } from 'jose';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';
import { CLI_CLIENT, PAGE_CLIENT, startIssuer, type TestIssuer } from './testing/an-issuer.ts';

const PAGE = 'https://coxswain.example.com';

let directory: string;
let postgres: SharedPostgres;
let issuer: TestIssuer;
let api: ApiUnderTest;
let databaseUrl: string;
let admin: string;
let addresses = 0;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-sign-in-'));
  const secretFile = join(directory, 'secret');
  writeFileSync(secretFile, `${PAGE_CLIENT.secret}\n`);
  postgres = migratedPostgres();
  issuer = await startIssuer(PAGE);
  databaseUrl = await postgres.createDatabase('people');
  api = await startApiUnderTest({
    databaseUrl,
    environment: {
      COXSWAIN_PUBLIC_URL: PAGE,
      COXSWAIN_OIDC_ISSUER_URL: issuer.url,
      COXSWAIN_OIDC_CLIENT_ID: PAGE_CLIENT.id,
      COXSWAIN_OIDC_CLIENT_SECRET_FILE: secretFile,
      COXSWAIN_OIDC_CLI_CLIENT_ID: CLI_CLIENT,
      COXSWAIN_OIDC_SCOPES: 'openid profile groups offline_access',
      COXSWAIN_OIDC_ADMIN_GROUP: 'platform',
      COXSWAIN_TRUSTED_PROXIES: 'loopback',
    },
  });
  admin = await api.project('research', 'admin');
  await api.project('vision');
  await grant('research', { group: 'researchers', role: 'submitter' });
});

afterAll(async () => {
  await api?.close();
  await issuer?.close();
  rmSync(directory, { recursive: true });
});

beforeEach(() => {
  issuer.accounts.clear();
  issuer.accounts.set('ada', ['researchers', 'chess']);
  issuer.accounts.set('root', ['platform']);
  issuer.accounts.set('stranger', ['knitting']);
});

const rolesUrl = (project: string): string => `/v1/projects/${project}/group-roles`;
const grant = (project: string, body: object, token = api.adminToken): Promise<TestAnswer> =>
  api.send('POST', rolesUrl(project), { token, body });
const sql = (text: string): Promise<unknown> => api.running.infrastructure.database.query(text);

/** The cookies that an answer sets, by name, with their attributes. */
function cookiesOf(answer: TestAnswer): ReadonlyMap<string, string> {
  const set = [answer.headers['set-cookie'] ?? []].flat().map(String);
  return new Map(set.map((one) => [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)]));
}
const valueOf = (cookie = ''): string => cookie.split(';')[0] ?? '';

/** Goes to the issuer and comes back; `change` is what somebody does to the addresses on the way. */
async function signIn(
  login: string,
  change: {
    readonly there?: (url: URL) => void;
    readonly back?: (url: URL) => void;
    readonly cookie?: string;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
) {
  const start = await api.send('GET', '/v1/sign-in/start?returnTo=/predictions');
  const there = new URL(String(start.headers['location']));
  change.there?.(there);
  const back = await issuer.visit(there.href, login);
  change.back?.(back);
  const pending = change.cookie ?? valueOf(cookiesOf(start).get('__Host-coxswain-sign-in'));
  const end = await api.send('GET', `${back.pathname}${back.search}`, {
    headers: { cookie: `__Host-coxswain-sign-in=${pending}`, ...change.headers },
  });
  const session = cookiesOf(end).get('__Host-coxswain-session');
  return { back, end, session, cookie: `__Host-coxswain-session=${valueOf(session)}`, at: end.headers['location'] };
}
const whoIs = (cookie: string): Promise<TestAnswer> => api.send('GET', '/v1/whoami', { headers: { cookie } });
const becomes = (cookie: string, status: number): Promise<unknown> =>
  waitFor(async () => (await whoIs(cookie)).status === status, { what: `an answer ${status}` });
const fromPage = (cookie: string) => ({ cookie, origin: PAGE, 'x-coxswain-request': '1' });

describe('a person', () => {
  it('signs in with an account of the issuer, goes on where he was, and is what his groups are', async () => {
    const { session, cookie, at } = await signIn('ada');
    expect(at).toBe('/predictions');
    expect(session).toMatch(/^cxs_\S+; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=86400$/);
    expect((await whoIs(cookie)).body).toEqual({
      name: 'ada',
      kind: 'person',
      role: 'submitter',
      project: 'research',
      memberships: [{ project: 'research', role: 'submitter' }],
    });
    await grant('vision', { group: 'chess', role: 'viewer' });
    const several = await waitFor(
      async () => {
        const { body } = await whoIs(cookie);
        return body.memberships.length === 2 ? body : undefined;
      },
      { what: 'the second project' },
    );
    expect(several).toMatchObject({ role: 'submitter', project: null });
    const { items } = (await api.send('GET', '/v1/projects', { headers: { cookie } })).body;
    expect(items.map(({ name }: { name: string }) => name)).toEqual(['research', 'vision']);
    const [own, foreign] = await Promise.all(
      ['vision', 'nowhere'].map((project) => api.send('GET', `/v1/projects/${project}/jobs`, { headers: { cookie } })),
    );
    expect([own?.status, foreign?.status]).toEqual([200, 404]);
  });

  it('of the installation’s group is a cluster administrator', async () => {
    const { cookie } = await signIn('root');
    expect((await whoIs(cookie)).body).toMatchObject({ role: 'clusterAdmin', kind: 'person', memberships: [] });
  });

  it('whose groups have no role is not let in, and leaves no session', async () => {
    expect(await signIn('stranger')).toMatchObject({ at: '/#sign-in=no-role', session: undefined });
  });

  it('is the same person each time: one principal, in the audit as well', async () => {
    await signIn('ada');
    await signIn('ada');
    const { rows } = await api.running.infrastructure.database.query<{ principal: string }>(
      "SELECT DISTINCT principal FROM audit WHERE action = 'session.begin' AND principal_name = 'ada'",
    );
    expect(rows).toHaveLength(1);
  });

  it('who signs out is refused at once, and his cookie is gone', async () => {
    const { cookie } = await signIn('ada');
    expect((await whoIs(cookie)).status).toBe(200);
    const out = await api.send('POST', '/v1/sign-out', { headers: fromPage(cookie) });
    expect(out.status).toBe(204);
    expect(cookiesOf(out).get('__Host-coxswain-session')).toMatch(/^;.* Max-Age=0$/);
    expect((await whoIs(cookie)).status).toBe(401);
  });

  it.each([
    ['from another site', { origin: 'https://evil.example.com', 'x-coxswain-request': '1' }],
    ['without the header of our page', { origin: PAGE }],
    ['without an origin', { 'x-coxswain-request': '1' }],
  ])('changes nothing by a request %s', async (_what, headers) => {
    const { cookie } = await signIn('ada');
    const body = { query: '{ whoAmI { name } }' };
    const forged = await api.send('POST', '/graphql', { headers: { cookie, ...headers }, body });
    expect(forged).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    const own = await api.send('POST', '/graphql', { headers: fromPage(cookie), body });
    expect(own.body).toEqual({ data: { whoAmI: { name: 'ada' } } });
  });

  it('is not let in by his cookie as a token, or by a token as his cookie', async () => {
    const { cookie, session } = await signIn('ada');
    expect((await api.send('GET', '/v1/whoami', { token: valueOf(session) })).status).toBe(401);
    expect((await whoIs(cookie.replace(valueOf(session), admin))).status).toBe(401);
  });

  it('whose session nobody used for long, or that is too old, signs in again', async () => {
    const [idle, old] = [(await signIn('ada')).cookie, (await signIn('ada')).cookie];
    const prefixOf = (cookie: string): string => /cxs_(\w{8})/.exec(cookie)?.[1] ?? '';
    await sql(`UPDATE sessions SET last_used_at = now() - interval '481 minutes' WHERE prefix = '${prefixOf(idle)}'`);
    await sql(`UPDATE sessions SET expires_at = now() WHERE prefix = '${prefixOf(old)}'`);
    expect([(await whoIs(idle)).status, (await whoIs(old)).status]).toEqual([401, 401]);
  });
});

describe('groups', () => {
  const anHourLater = (): Promise<unknown> =>
    sql("UPDATE sessions SET groups_read_at = now() - interval '61 minutes', reading_groups_at = NULL");

  it('are read again after an hour: who left one has its role no more, and who got another has that', async () => {
    await grant('vision', { group: 'painters', role: 'operator' });
    const { cookie } = await signIn('ada');
    issuer.accounts.set('ada', ['painters']);
    expect((await whoIs(cookie)).body.memberships).toEqual(
      expect.arrayContaining([{ project: 'research', role: 'submitter' }]),
    );
    for (const _time of [1, 2]) {
      await anHourLater();
      await waitFor(async () => (await whoIs(cookie)).body.project === 'vision', { what: 'the new group' });
    }
  });

  it('of an account that is closed end its session', async () => {
    const { cookie } = await signIn('ada');
    issuer.accounts.delete('ada');
    await anHourLater();
    await becomes(cookie, 401);
  });

  it('lose a role within seconds when it is taken from them', async () => {
    const made = await grant('research', { group: 'platoon', role: 'viewer' });
    issuer.accounts.set('ada', ['platoon']);
    const { cookie } = await signIn('ada');
    expect((await whoIs(cookie)).body.role).toBe('viewer');
    const gone = await api.send('DELETE', `${rolesUrl('research')}/${made.body.id}`, { token: admin });
    expect(gone.status).toBe(204);
    await becomes(cookie, 403);
  });

  it.each<[string, readonly [project: string, body: object], () => string, number]>([
    ['an administrator of the project', ['research', { group: 'g', role: 'operator' }], () => admin, 201],
    ['an administrator of another project', ['vision', { group: 'g', role: 'viewer' }], () => admin, 404],
    ['an administrator of a project, in the cluster', ['-', { group: 'g', role: 'clusterAdmin' }], () => admin, 404],
    ['a cluster administrator, in the cluster', ['-', { group: 'g', role: 'clusterAdmin' }], () => api.adminToken, 201],
    [
      'whoever would have a project make cluster administrators',
      ['research', { group: 'g', role: 'clusterAdmin' }],
      () => api.adminToken,
      400,
    ],
    ['whoever would have the cluster make viewers', ['-', { group: 'g', role: 'viewer' }], () => api.adminToken, 400],
  ])('are given roles by %s', async (_who, [project, body], token, status) => {
    expect((await grant(project, body, token())).status).toBe(status);
  });

  it('have one role in a project, the last that was given, over REST and GraphQL', async () => {
    await grant('research', { group: 'movers', role: 'viewer' });
    await grant('research', { group: 'movers', role: 'operator' });
    const { items } = (await api.send('GET', rolesUrl('research'), { token: admin })).body;
    const movers = items.filter(({ group }: { group: string }) => group === 'movers');
    expect(movers).toEqual([expect.objectContaining({ role: 'operator', project: 'research', issuer: issuer.url })]);
    const query = 'mutation ($id: ID!) { revokeGroupRole(project: "research", id: $id) }';
    const { body } = await api.send('POST', '/graphql', {
      token: admin,
      body: { query, variables: { id: movers[0].id } },
    });
    expect(body).toEqual({ data: { revokeGroupRole: true } });
  });
});

describe('what comes back from the issuer', () => {
  it.each<[string, Parameters<typeof signIn>[1], string]>([
    ['with another state', { back: (url) => url.searchParams.set('state', 'x'.repeat(43)) }, 'refused'],
    ['without a state', { back: (url) => url.searchParams.delete('state') }, 'refused'],
    ['with another nonce', { there: (url) => url.searchParams.set('nonce', 'other') }, 'refused'],
    ['for another proof (PKCE)', { there: (url) => url.searchParams.set('code_challenge', 'y'.repeat(43)) }, 'refused'],
    ['from another issuer', { back: (url) => url.searchParams.set('iss', 'https://evil.example.com') }, 'refused'],
    ['with a code that nobody was given', { back: (url) => url.searchParams.set('code', 'guess') }, 'refused'],
    ['to another browser', { cookie: 'a.b.c.d.e' }, 'start-again'],
  ])('%s lets nobody in', async (_what, change, problem) => {
    expect(await signIn('ada', change)).toMatchObject({ at: `/#sign-in=${problem}`, session: undefined });
  });

  it.each<[string, string, Parameters<typeof signIn>[1], string]>([
    ['of somebody without a role', 'stranger', {}, 'FORBIDDEN'],
    [
      'with a code that nobody was given',
      'ada',
      { back: (url) => url.searchParams.set('code', 'x') },
      'UNAUTHENTICATED',
    ],
    ['to another browser', 'ada', { cookie: 'a.b.c.d.e' }, 'UNAUTHENTICATED'],
  ])('%s is told to the audit as denied, with why and from where', async (_what, login, change, reason) => {
    // An address that nobody was refused from in the last minute: others are counted under their first refusal.
    const address = `203.0.113.${++addresses}`;
    const { end } = await signIn(login, { ...change, headers: { 'x-forwarded-for': address } });
    const found = await waitFor(
      async () => {
        const text = 'SELECT outcome, action, target, reason, source_address FROM audit WHERE request_id = $1';
        const { rows } = await api.running.infrastructure.database.query(text, [end.headers['x-request-id']]);
        return rows.length > 0 && rows;
      },
      { what: 'the denial' },
    );
    const denied = { outcome: 'denied', action: 'authenticate', target: '/v1/sign-in/callback' };
    expect(found).toEqual([{ ...denied, reason, source_address: address }]);
  });

  it('lets nobody in a second time', async () => {
    const start = await api.send('GET', '/v1/sign-in/start');
    const back = await issuer.visit(String(start.headers['location']), 'ada');
    const cookie = `__Host-coxswain-sign-in=${valueOf(cookiesOf(start).get('__Host-coxswain-sign-in'))}`;
    const again = () => api.send('GET', `${back.pathname}${back.search}`, { headers: { cookie } });
    expect((await again()).headers['location']).toBe('/');
    expect((await again()).headers['location']).toBe('/#sign-in=refused');
  });
});

describe('an ID token of a command line', () => {
  const seconds = (fromNow: number): number => Math.floor(Date.now() / 1_000) + fromNow;
  const good = () => ({
    iss: issuer.url,
    aud: CLI_CLIENT,
    sub: 'ada',
    iat: seconds(0),
    exp: seconds(300),
    groups: ['researchers'],
  });
  const trade = (idToken: string): Promise<TestAnswer> => api.send('POST', '/v1/sign-in/tokens', { body: { idToken } });

  it('is traded for a token of at most twelve hours, once', async () => {
    const idToken = await issuer.sign(good());
    const made = await trade(idToken);
    expect(made).toMatchObject({ status: 201, body: { name: 'ada' } });
    expect((Date.parse(made.body.expiresAt) - Date.now()) / 3_600_000).toBeCloseTo(12, 1);
    expect((await api.send('GET', '/v1/whoami', { token: made.body.token })).body.role).toBe('submitter');
    expect((await trade(idToken)).status).toBe(401);
    expect((await api.send('POST', '/v1/sign-out', { token: made.body.token })).status).toBe(204);
    expect((await api.send('GET', '/v1/whoami', { token: made.body.token })).status).toBe(401);
    expect((await trade(idToken)).status).toBe(401);
  });

  it.each<[string, (idToken: string) => string]>([
    ['with a line end', (idToken) => `${idToken}\n`],
    ['padded', (idToken) => `${idToken}==`],
    ['with a blank in its signature', (idToken) => `${idToken.slice(0, -4)} ${idToken.slice(-4)}`],
  ])('is the same one %s: it is taken no second time', async (_how, written) => {
    const idToken = await issuer.sign({ ...good(), jti: _how });
    expect((await trade(idToken)).status).toBe(201);
    expect((await trade(written(idToken))).status).toBe(401);
  });

  it.each<[string, () => Promise<string>]>([
    ['of another issuer', () => issuer.sign({ ...good(), iss: 'https://evil.example.com' })],
    ['for another client', () => issuer.sign({ ...good(), aud: PAGE_CLIENT.id })],
    ['for several, given to another', () => issuer.sign({ ...good(), aud: [CLI_CLIENT, 'b'], azp: 'b' })],
    ['that has expired', () => issuer.sign({ ...good(), iat: seconds(-300), exp: seconds(-60) })],
    ['that is too old', () => issuer.sign({ ...good(), iat: seconds(-700) })],
    ['that is not good yet', () => issuer.sign({ ...good(), nbf: seconds(300) })],
    ['without an end', () => issuer.sign({ ...good(), exp: undefined })],
    ['without a subject', () => issuer.sign({ ...good(), sub: undefined })],
    ['by a key that nobody knows', () => issuer.sign(good(), { kid: 'other' })],
    ['that nobody signed (alg none)', () => Promise.resolve(new UnsecuredJWT(good()).encode())],
    [
      'with a changed claim',
      async () =>
        (await issuer.sign(good())).replace(
          /\.[^.]+\./,
          `.${btoa(JSON.stringify({ ...good(), sub: 'root' })).replaceAll('=', '')}.`,
        ),
    ],
    ['that is none', () => Promise.resolve('garbage')],
  ])('%s is refused', async (_what, make) => {
    expect(await trade(await make())).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
  });

  it.each([
    ['that says that there are too many groups', { groups: undefined, _claim_names: { groups: 'src1' } }],
    ['of somebody without a role', { groups: ['chess club'] }],
  ])('%s lets nobody in', async (_what, change) => {
    expect(await trade(await issuer.sign({ ...good(), ...change }))).toMatchObject({
      status: 403,
      body: { code: 'FORBIDDEN' },
    });
  });
});

describe('a command line', () => {
  /** Runs `coxswain` in a home of its own; `seen` waits for what it says meanwhile. */
  function coxswain(...argv: readonly string[]) {
    const program = fileURLToPath(new URL('../../../cli/bin/coxswain.mjs', import.meta.url));
    const env = { COXSWAIN_SERVER: api.running.url, XDG_CONFIG_HOME: directory };
    const child = spawn(process.execPath, [program, ...argv], { env, timeout: 300_000 });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += String(chunk)));
    const ended = new Promise<string>((resolve) => child.on('close', (code) => resolve(`${code} ${text.trim()}`)));
    const seen = (want: RegExp): Promise<string> =>
      waitFor(() => Promise.resolve(want.exec(text)?.[1]), { what: `${want.source} in ${text}` });
    return { ended, seen };
  }
  const file = (): string => join(directory, 'coxswain', 'credentials.json');

  it.each<[string, readonly string[], () => RegExp, (address: string) => Promise<unknown>]>([
    [
      'by a browser on its machine',
      ['--callback-port', '0'],
      () => /go to:\s+(\S+)/,
      async (address) => fetch(await issuer.visit(address, 'ada')),
    ],
    [
      'by a code that is entered elsewhere',
      ['--no-browser'],
      () => /Or open (\S+)/,
      (address) => issuer.enterCode(address, 'ada'),
    ],
  ])('signs in %s, is somebody, and signs out', async (_how, options, address, visit) => {
    const login = coxswain('login', ...options);
    await visit(await login.seen(address()));
    expect(await login.ended).toMatch(/^0 [^]*Signed in at \S+ as ada until \S+Z\.$/);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(await coxswain('whoami').ended).toMatch(/^0 ada: submitter of research/);
    const { token } = Object.values<{ token: string }>(JSON.parse(readFileSync(file(), 'utf8')).servers)[0] ?? {};
    expect(await coxswain('logout').ended).toMatch(/^0 Signed out at /);
    expect((await api.send('GET', '/v1/whoami', token === undefined ? {} : { token })).status).toBe(401);
    expect(await coxswain('whoami').ended).toMatch(/^1 No token given\. Sign in with `coxswain login`/);
  });

  it('whose browser is sent with another state goes on waiting for the right one', async () => {
    const login = coxswain('login', '--callback-port', '0');
    const back = await issuer.visit(await login.seen(/go to:\s+(\S+)/), 'ada');
    const forged = new URL(back);
    forged.searchParams.set('state', 'other');
    expect((await fetch(forged)).status).toBe(404);
    expect((await fetch(`${forged.origin}//`)).status).toBe(404);
    expect((await fetch(back)).status).toBe(200);
    expect(await login.ended).toMatch(/^0 /);
  });
});

describe('sessions of one person', () => {
  it('are at most twenty: one more ends the one that was unused for longest', async () => {
    await sql('UPDATE sessions SET expires_at = now()');
    const seconds = Math.floor(Date.now() / 1_000);
    const claims = {
      iss: issuer.url,
      aud: CLI_CLIENT,
      sub: 'ada',
      iat: seconds,
      exp: seconds + 300,
      groups: ['researchers'],
    };
    const tokens: string[] = [];
    for (let index = 0; index < 21; index++) {
      const idToken = await issuer.sign({ ...claims, jti: String(index) });
      tokens.push((await api.send('POST', '/v1/sign-in/tokens', { body: { idToken } })).body.token);
    }
    const statuses = await Promise.all(
      tokens.map(async (token) => (await api.send('GET', '/v1/whoami', { token })).status),
    );
    expect(statuses).toEqual([401, ...Array.from({ length: 20 }, () => 200)]);
  });
});

describe('without an issuer', () => {
  it('nobody can sign in, and tokens are all there is', async () => {
    const other = await startApiUnderTest({
      databaseUrl,
      adminToken: api.adminToken,
    });
    try {
      expect((await other.send('GET', '/v1/sign-in')).body).toEqual({ issuer: null, commandLine: null });
      const tried = await Promise.all([
        other.send('GET', '/v1/sign-in/start'),
        other.send('POST', '/v1/sign-in/tokens', { body: { idToken: 'x' } }),
        other.send('GET', '/v1/whoami', { token: admin }),
      ]);
      expect(tried.map(({ status }) => status)).toEqual([404, 404, 200]);
    } finally {
      await other.close();
    }
  });
});
