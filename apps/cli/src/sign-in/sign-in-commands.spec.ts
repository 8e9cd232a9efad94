import type { FakeAnswer } from '@coxswain/api-client/testing';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCredential, signedInToken, writeCredential } from '../session/credentials-file.ts';
import { type Outcome, type Routes, runCommand } from '../testing/run-command.ts';

const SERVER = 'https://coxswain.example.com';
const ada = { name: 'ada', token: 'cxs_ada', expiresAt: '2026-01-10T12:00:00.000Z' };

let directory: string;
let file: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-cli-'));
  file = join(directory, 'credentials.json');
});
afterEach(() => rmSync(directory, { recursive: true }));

const run = (argv: string, routes: Routes, signedIn?: typeof ada): Promise<Outcome> =>
  runCommand(argv, routes, { directory, signedIn });

const ME: Readonly<Record<string, FakeAnswer>> = {
  'GET /v1/whoami': { json: { name: 'ada', kind: 'person', role: 'admin', project: 'research', memberships: [] } },
};

describe('who is signed in', () => {
  it('is kept for each server, in a file that nobody else can read', () => {
    writeCredential(file, SERVER, ada);
    writeCredential(file, 'https://other.example.com', { ...ada, name: 'bob' });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect([readCredential(file, SERVER)?.name, readCredential(file, 'https://other.example.com')?.name]).toEqual([
      'ada',
      'bob',
    ]);
    writeCredential(file, SERVER, undefined);
    expect(readCredential(file, SERVER)).toBeUndefined();
    expect(readCredential(file, 'https://other.example.com')?.name).toBe('bob');
  });

  it('is written into a file of its own, whatever somebody left in its way', () => {
    const theirs = join(directory, 'theirs');
    writeFileSync(theirs, '');
    symlinkSync(theirs, `${file}.new`);
    writeCredential(file, SERVER, ada);
    expect(readFileSync(theirs, 'utf8')).toBe('');
    expect(readCredential(file, SERVER)?.name).toBe('ada');
  });

  it.each([
    ['is the token until it ends', '2026-01-10T11:59:59Z', 'cxs_ada'],
    ['is nobody from then on, which is told', '2026-01-10T12:00:00Z', /until 2026-01-10T12:00Z\. Run `coxswain login`/],
  ])('%s', (_sentence, now, want) => {
    writeCredential(file, SERVER, ada);
    const token = (): unknown => signedInToken(file, SERVER, new Date(now));
    if (typeof want === 'string') expect(token()).toBe(want);
    else expect(token).toThrow(want);
  });

  it('is told apart from a file that somebody else wrote', () => {
    writeFileSync(file, 'hello');
    expect(() => readCredential(file, SERVER)).toThrow(/was not written by `coxswain login`/);
  });

  it('asks with that token, unless another one was given', async () => {
    const { out, requests } = await run('whoami', ME, ada);
    expect(out).toBe('ada: admin of research');
    expect(requests[0]?.headers['authorization']).toBe('Bearer cxs_ada');
  });
});

describe('coxswain login', () => {
  it.each<[string, object]>([
    ['without an issuer', { issuer: null, commandLine: null }],
    ['for the page alone', { issuer: 'https://accounts.example.com', commandLine: null }],
  ])('where people can sign in %s says what to do instead', async (_what, json) => {
    const { code, err } = await run('login', { 'GET /v1/sign-in': { json } });
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringMatching(/Ask an administrator of your project for an API token/),
    });
    expect(existsSync(file)).toBe(false);
  });
});

describe('coxswain logout', () => {
  it.each<[string, FakeAnswer]>([
    ['ends the session', { text: '', status: 204 }],
    ['of a session that is over is no error', { problem: { status: 401, code: 'UNAUTHENTICATED', detail: 'over' } }],
  ])('%s, and forgets it', async (_what, answer) => {
    const { code, out, requests, url } = await run('logout', { 'POST /v1/sign-out': answer }, ada);
    expect({ code, out }).toEqual({ code: 0, out: `Signed out at ${url}.` });
    expect(requests[0]?.headers['authorization']).toBe('Bearer cxs_ada');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ servers: {} });
  });

  it('keeps the session that could not be ended', async () => {
    const problem = { status: 503, code: 'UNAVAILABLE', detail: 'the database is away' };
    const { code, url } = await run('logout', { 'POST /v1/sign-out': { problem } }, ada);
    expect(code).toBe(1);
    expect(readCredential(file, url)?.token).toBe('cxs_ada');
  });

  it('of nobody says so', async () => {
    expect((await run('logout', {})).out).toMatch(/^You were not signed in at /);
  });
});

describe('coxswain group', () => {
  const ROLES = '/v1/projects/research/group-roles';
  const id = '00000000-0000-4000-8000-000000000001';
  const item = {
    id,
    issuer: SERVER,
    group: 'painters',
    project: 'research',
    role: 'viewer',
    createdAt: '2026-01-09T00:00:00.000Z',
  };
  const PIPELINE = 'system:serviceaccount:research:pipeline';
  const account = { ...item, issuer: null, group: PIPELINE };
  const listed: Readonly<Record<string, FakeAnswer>> = { ...ME, [`GET ${ROLES}`]: { json: { items: [item] } } };

  it.each<[string, readonly string[], Readonly<Record<string, FakeAnswer>>, RegExp]>([
    [
      'list shows who has which role',
      ['list'],
      listed,
      /^GROUP +KIND +ROLE +SINCE +ISSUER\npainters +group +viewer +2026-01-09 +https/,
    ],
    [
      'list says when nobody has one',
      ['list'],
      { ...ME, [`GET ${ROLES}`]: { json: { items: [] } } },
      /^No group has a role/,
    ],
    [
      'grant gives one',
      ['grant', 'painters', '--role', 'viewer'],
      { ...ME, [`POST ${ROLES}`]: { json: item, status: 201 } },
      /^Members of painters are viewer of research\.$/,
    ],
    [
      'grant gives one in the cluster',
      ['grant', 'painters', '--role', 'clusterAdmin', '--project', '-'],
      { 'POST /v1/projects/-/group-roles': { json: { ...item, project: null, role: 'clusterAdmin' }, status: 201 } },
      /^Members of painters are clusterAdmin of the cluster\.$/,
    ],
    [
      'revoke takes it, by the name of the group',
      ['revoke', 'painters'],
      { ...listed, [`DELETE ${ROLES}/${id}`]: { text: '', status: 204 } },
      /^Members of painters are no longer viewer of research\.$/,
    ],
    ['revoke of a group without one says so', ['revoke', 'others'], listed, /^"others" has no role there/],
    [
      'grant gives one to a service account',
      ['grant', PIPELINE, '--kind', 'serviceAccount', '--role', 'viewer'],
      { ...ME, [`POST ${ROLES}`]: { json: { ...account, kind: 'serviceAccount' }, status: 201 } },
      /^system:serviceaccount:research:pipeline is viewer of research\.$/,
    ],
    [
      'revoke of a name that means two asks which',
      ['revoke', PIPELINE],
      {
        ...ME,
        [`GET ${ROLES}`]: {
          json: {
            items: [
              { ...item, group: PIPELINE },
              { ...account, kind: 'serviceAccount' },
            ],
          },
        },
      },
      /is a group and a serviceAccount there\. Choose one with --kind\.$/,
    ],
  ])('%s', async (_sentence, argv, routes, want) => {
    const { out, err } = await run(`group ${argv.join(' ')}`, routes, ada);
    expect(out + err).toMatch(want);
  });
});
