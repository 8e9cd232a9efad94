import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { PROJECT_ROLES, type Role, ROLES } from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import { buildSchema } from 'graphql';
import type { SharedPostgres } from '@coxswain/test-harness';
import { type AccessRule, FIELD_RULES, permitted, ROUTE_RULES } from './auth/access-rules.ts';
import { aPlanRequest } from './testing/a-plan-request.ts';
import { fieldQuestion, type Question, routeQuestion, type Things } from './testing/access-questions.ts';
import { type ApiUnderTest, startApiUnderTest } from './testing/api-under-test.ts';
import { mirrorCheckpoint } from './testing/mirrored-checkpoint.ts';
import { migratedPostgres } from './testing/test-database.ts';

/*
 * Every route and every field at the root of GraphQL, asked with every role: of the caller's own project, of another one, and by nobody. What the
 * running API does is compared with the declared rules, so that a route without a rule, or with another one than it has, is found here.
 */

const OURS = 'research';
const THEIRS = 'rivals';
/** Answers that go on: only their heads are read. */
const STREAMS: ReadonlySet<string> = new Set(['GET /v1/projects/{project}/jobs/{jobId}/events/stream']);
const schema = buildSchema(readFileSync(resolve(import.meta.dirname, 'graphql/schema.generated.graphql'), 'utf8'));

let postgres: SharedPostgres;
let databaseUrl: string;
let api: ApiUnderTest;
let planId: string;
let layoutId: string;
/** Of each project, by role. */
const tokens: Record<string, Partial<Record<Role, string>>> = {};

beforeAll(async () => {
  postgres = migratedPostgres();
  const unlimited = [
    'REQUESTS_PER_SECOND',
    'WRITES_PER_MINUTE',
    'CONCURRENT_REQUESTS',
    'MAX_JOBS',
    'MAX_LAYOUTS',
    'MAX_TOKENS',
    'MAX_WEBHOOKS',
  ];
  databaseUrl = await postgres.createDatabase('asked');
  api = await startApiUnderTest({
    databaseUrl,
    environment: {
      ...Object.fromEntries(unlimited.map((name) => [`COXSWAIN_PROJECT_${name}`, '0'])),
      // A dashboard that was built would add a route for each of its files.
      COXSWAIN_DASHBOARD_DIRECTORY: '/nonexistent',
    },
  });
  for (const project of [OURS, THEIRS]) {
    await made('/v1/projects', { name: project, namespaces: [project] });
    tokens[project] = { clusterAdmin: api.adminToken };
    for (const role of PROJECT_ROLES) {
      const { token } = await made<{ token: string }>(`/v1/projects/${project}/tokens`, { name: role, role });
      tokens[project][role] = token;
    }
  }
  planId = (await made<{ id: string }>(`/v1/projects/${OURS}/plans`, aPlanRequest())).id;
  const layout = { name: 'wide', layout: { tensorParallelDegree: 4 } };
  layoutId = (await made<{ id: string }>(`/v1/projects/${OURS}/layouts`, layout)).id;
});

afterAll(async () => {
  await api?.close();
});

async function made<T>(
  url: string,
  body: object,
  { token = api.adminToken, at = api }: { readonly token?: string | undefined; readonly at?: ApiUnderTest } = {},
): Promise<T> {
  const answer = await at.send('POST', url, { token, body });
  expect({ url, status: answer.status }).toEqual({ url, status: 201 });
  return answer.body as T;
}

let names = 0;
/** A job (an administrator's own, or that of whoever has the token) and a token of our project that no question has changed yet. */
async function freshThings(submitter = api.adminToken): Promise<Things> {
  const name = `thing-${++names}`;
  const job = await made<{ id: string }>(`/v1/projects/${OURS}/jobs`, { name, spec: aJobSpec() }, { token: submitter });
  const token = await made<{ id: string }>(`/v1/projects/${OURS}/tokens`, { name, role: 'viewer' });
  const webhook = await made<{ id: string }>(`/v1/projects/${OURS}/webhooks`, { url: 'https://hooks.example.com/' });
  const { uid = '' } = (await mirrorCheckpoint(api, { jobId: job.id })).metadata;
  return { project: OURS, jobId: job.id, tokenId: token.id, webhookId: webhook.id, layoutId, planId, uid };
}

const read = new Map<string, Promise<Things>>();
/** Things to ask about: what only reads finds the same as before, so that few have to be made. */
function thingsFor({ name }: Cell, submitter = api.adminToken): Promise<Things> {
  if (!/^(GET|Query)/.test(name)) return freshThings(submitter);
  const known = read.get(submitter) ?? freshThings(submitter);
  read.set(submitter, known);
  return known;
}

const ABSENT = '3f1c2b9e-0000-4000-8000-000000000001';
const NOTHING: Things = {
  project: 'nowhere',
  jobId: ABSENT,
  tokenId: ABSENT,
  layoutId: ABSENT,
  planId: ABSENT,
  webhookId: ABSENT,
  uid: ABSENT,
};

interface Answer {
  readonly status: number;
  /** Of a problem or of the first error of GraphQL; OK when there is none. */
  readonly code: string;
  /** Everything that was answered, with the names and ids that were asked about struck out. */
  readonly words: string;
}

async function ask(question: Question, token: string | undefined, about: Things, at = api): Promise<Answer> {
  const { method, url, body } = question;
  const answer = await at.send(method, url, {
    ...(token === undefined ? {} : { token }),
    ...(body === undefined ? {} : { body }),
  });
  const code = answer.body?.errors?.[0]?.extensions?.code ?? (answer.status < 400 ? 'OK' : answer.body.code);
  let words = JSON.stringify(answer.body ?? null);
  for (const known of Object.values(about) as string[]) words = words.replaceAll(known, '…');
  return { status: answer.status, code, words };
}

/** The head of an answer that goes on. */
async function askForStream({ url }: Question, token: string): Promise<Answer> {
  const gone = new AbortController();
  const answer = await fetch(`${api.running.url}${url}`, {
    headers: { authorization: `Bearer ${token}` },
    signal: gone.signal,
  });
  gone.abort();
  return { status: answer.status, code: answer.ok ? 'OK' : 'REFUSED', words: '' };
}

/** Whether the answer is about the question, whatever it says to it: not about who asks. */
function isLetIn({ code, words }: Answer): boolean {
  return !['UNAUTHENTICATED', 'FORBIDDEN'].includes(code) && !words.includes('you do not belong to it');
}

interface Cell {
  readonly name: string;
  readonly rule: AccessRule;
  readonly question: (things: Things) => Question;
  readonly isStream: boolean;
}

const CELLS: readonly Cell[] = [
  ...Object.entries(ROUTE_RULES).map(([name, rule]) => ({
    name,
    rule,
    question: (things: Things) => routeQuestion(name, things),
    isStream: STREAMS.has(name),
  })),
  ...Object.entries(FIELD_RULES).map(([name, rule]) => ({
    name,
    rule,
    question: (things: Things) => fieldQuestion(schema, name, things),
    isStream: false,
  })),
];
const PROTECTED = CELLS.filter(({ rule }) => rule !== 'public').map((cell) => [cell.name, cell] as const);
/** Those that name a project or a thing of one, and those that name a thing. */
const asked = ({ question }: Cell): string => JSON.stringify(question(NOTHING));
const NAMING = PROTECTED.filter(([, cell]) => asked(cell).includes(NOTHING.project) || asked(cell).includes(ABSENT));
const NAMING_THINGS = PROTECTED.filter(([, cell]) => asked(cell).includes(ABSENT));

it('has a rule for every route that the router has, and serves every route that has a rule', () => {
  const served = api.running.routes
    .filter(({ method }) => method !== 'HEAD' && method !== 'OPTIONS')
    .map(({ method, path }) => `${method} ${path}`)
    // Files that everybody may read.
    .filter((route) => !/^GET \/docs(\/|$)/.test(route));
  expect([...new Set(served)].sort()).toEqual(Object.keys(ROUTE_RULES).sort());
});

it('asks at least as many cells as there were', () => {
  expect(PROTECTED.length).toBeGreaterThanOrEqual(54);
  expect(NAMING.length).toBeGreaterThanOrEqual(45);
  expect(NAMING_THINGS.length).toBeGreaterThanOrEqual(27);
});

describe('in its own project', () => {
  /** Which roles are let in, of those that are asked about. */
  async function letIn(cell: Cell, roles: readonly Role[], of: 'any' | 'own'): Promise<readonly Role[]> {
    const letIn: Role[] = [];
    for (const role of roles) {
      const token = tokens[OURS]?.[role] ?? '';
      const things = await thingsFor(cell, of === 'own' ? token : undefined);
      const question = cell.question(things);
      const answer = await (cell.isStream ? askForStream(question, token) : ask(question, token, things));
      // A server's failure would count as being let in.
      expect({ role, status: answer.status, words: answer.words }).not.toMatchObject({ status: 500 });
      if (isLetIn(answer)) letIn.push(role);
    }
    return letIn;
  }

  it.each(PROTECTED)('%s lets in the roles that the rule says, and no others', async (_name, cell) => {
    const want = ROLES.filter((role) => permitted(cell.rule, role) === 'any');
    expect(await letIn(cell, ROLES, 'any')).toEqual(want);
  });

  const OWN = PROTECTED.filter(([, { rule }]) => ROLES.some((role) => permitted(rule, role) === 'own'));
  it.each(OWN)('%s lets in who asks about his own', async (_name, cell) => {
    const roles = ROLES.filter((role) => permitted(cell.rule, role) !== 'none');
    expect(await letIn(cell, roles, 'own')).toEqual(roles);
  });

  it.each(PROTECTED)('%s lets in nobody without a token', async (_name, cell) => {
    const answer = await ask(cell.question(NOTHING), undefined, NOTHING);
    expect(answer).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' });
  });
});

describe('in a project of somebody else', () => {
  it.each(NAMING)('%s answers as in one that does not exist', async (_name, cell) => {
    const things = await thingsFor(cell);
    for (const role of PROJECT_ROLES) {
      const token = tokens[THEIRS]?.[role];
      const theirs = await ask(cell.question(things), token, things);
      const nowhere = await ask(cell.question(NOTHING), token, NOTHING);
      expect({ role, ...theirs }).toEqual({ role, ...nowhere });
      expect({ role, code: theirs.code }).toEqual({
        role,
        code: 'NOT_FOUND',
      });
    }
  });

  it.each(NAMING_THINGS)('%s finds none of its things under the own project', async (_name, cell) => {
    const things = { ...(await thingsFor(cell)), project: THEIRS };
    const absent = { ...NOTHING, project: THEIRS };
    for (const role of ROLES) {
      const token = tokens[THEIRS]?.[role];
      const theirs = await ask(cell.question(things), token, things);
      const nothing = await ask(cell.question(absent), token, absent);
      expect({ role, ...theirs }).toEqual({ role, ...nothing });
      expect({ role, code: theirs.code }).toEqual({
        role,
        code: permitted(cell.rule, role) === 'none' ? 'FORBIDDEN' : 'NOT_FOUND',
      });
    }
  });
});

describe('at the API of another cluster, on the same database', () => {
  let beta: ApiUnderTest;

  beforeAll(async () => {
    const environment = { COXSWAIN_CLUSTER_NAME: 'beta', COXSWAIN_DASHBOARD_DIRECTORY: '/nonexistent' };
    beta = await startApiUnderTest({ databaseUrl, adminToken: api.adminToken, environment });
    // The same name on both clusters: what keeps them apart is not the name.
    await made('/v1/projects', { name: OURS, namespaces: [OURS] }, { at: beta });
  });
  afterAll(() => beta?.close());

  it.each(PROTECTED)('%s knows neither the token of a project nor its things', async (_name, cell) => {
    const things = await thingsFor(cell);
    for (const role of PROJECT_ROLES) {
      const token = tokens[OURS]?.[role] ?? '';
      const answer = await ask(cell.question(things), token, things, beta);
      expect({ role, ...answer }).toMatchObject({ role, status: 401 });
    }
    if (!asked(cell).includes(ABSENT)) return;
    const asAdministrator = await ask(cell.question(things), api.adminToken, things, beta);
    expect(asAdministrator).toMatchObject({ code: 'NOT_FOUND' });
  });
});
