import { aJobSpec } from '@coxswain/api-types/testing';
import type { SharedPostgres } from '@coxswain/test-harness';
import { CONTROLLERS } from '../app.module.ts';
import { type ApiUnderTest, startApiUnderTest } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';
import { StatedAnswers } from '@coxswain/test-harness';
import { declaredRoutes } from './openapi.ts';
import { openApiDocument } from './openapi-document.ts';

let postgres: SharedPostgres;
let api: ApiUnderTest;
let token: string;
/** What stands for each parameter of a path. */
let parameters: Readonly<Record<string, string>>;

beforeAll(async () => {
  postgres = migratedPostgres();
  api = await startApiUnderTest({
    databaseUrl: await postgres.createDatabase('openapi'),
    // Groups can have roles where there is an issuer; nobody signs in here.
    environment: {
      COXSWAIN_PUBLIC_URL: 'https://coxswain.example',
      COXSWAIN_OIDC_ISSUER_URL: 'https://issuer.example',
      COXSWAIN_OIDC_CLIENT_ID: 'coxswain',
    },
  });
  token = await api.project('research', 'admin');
  const job = await api.send('POST', '/v1/projects/research/jobs', { token, body: { name: 'held', spec: aJobSpec() } });
  await api.send('POST', `/v1/projects/research/jobs/${job.body.id}/suspend`, { token });
  const made = await api.send('POST', '/v1/projects/research/tokens', { token, body: { name: 'old' } });
  const url = 'https://hooks.example.com/';
  const webhook = await api.send('POST', '/v1/projects/research/webhooks', { token, body: { url } });
  parameters = { project: 'research', jobId: job.body.id, tokenId: made.body.id, webhookId: webhook.body.id };
});

afterAll(async () => {
  await api?.close();
});

const routes = declaredRoutes(CONTROLLERS);
/** Its example cannot be a token that an issuer has signed; `sign-in.itest.ts` sends one that was. */
const TAKES_A_SIGNED_TOKEN = '/v1/sign-in/tokens';
/** They write to the cluster at once, and there is none here; `cluster.itest.ts` and `checkpoints/` send them. */
const WRITE_TO_THE_CLUSTER = /^\/v1\/projects\/\{project\}\/checkpoints/;

describe('the OpenAPI document', () => {
  it('has each route that the server has, and no other', () => {
    const served = api.running.routes
      .filter(({ method }) => method !== 'HEAD' && method !== 'OPTIONS')
      .map(({ method, path }) => `${method} ${path}`);
    // Files of the page, where it was built.
    const ofApi = served.filter(
      (route) => !/^GET \/(docs|docs\/.*|assets\/.*|[^/]*\.(html|svg|ico|png|txt))?$/.test(route),
    );
    expect(ofApi.sort()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).sort());
  });

  it.each(
    routes
      .filter(
        ({ body, path }) => body !== undefined && path !== TAKES_A_SIGNED_TOKEN && !WRITE_TO_THE_CLUSTER.test(path),
      )
      .map((route) => [`${route.method} ${route.path}`, route] as const),
  )('shows a body for %s that is taken', async (_what, { method, path }) => {
    const url = path.replace(/\{(\w+)\}/g, (_all, name: string) => parameters[name] ?? `no-${name}-in-this-test`);
    const operation = documentOf().paths[path]?.[method.toLowerCase()];
    const [example] = Object.values(operation?.requestBody?.content['application/json'].examples ?? {});
    const answer = await api.send(method as 'POST', url, { token: api.adminToken, body: example?.value });
    expect({ path, status: String(answer.status), body: answer.status < 300 ? undefined : answer.body }).toMatchObject({
      path,
      status: expect.stringMatching(/^2/) as unknown,
      body: undefined,
    });
  });

  it('describes each event that a stream sends', async () => {
    const { jobId = '' } = parameters;
    await api.running.infrastructure.database.query(
      `INSERT INTO job_events (job_id, key, type, severity, epoch, message, at) VALUES ($1, 'a', 'Placed', 'info', 1, 'Placed.', now())`,
      [jobId],
    );
    const url = `/v1/projects/research/jobs/${jobId}/events/stream`;
    const leave = new AbortController();
    const answer = await fetch(`${api.running.url}${url}`, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.any([leave.signal, AbortSignal.timeout(30_000)]),
    });
    const stated = new StatedAnswers(documentOf());
    const headers = Object.fromEntries(answer.headers);
    stated.check({ method: 'GET', url }, { status: answer.status, headers, body: '' });
    const names = new Set<string>();
    let text = '';
    for await (const chunk of answer.body ?? []) {
      text += Buffer.from(chunk).toString();
      for (const [, name = '', data = ''] of text.matchAll(/^event: (\w+)\ndata: (.*)\n(?:id: \S+\n)?\n/gm)) {
        stated.checkEvent({ method: 'GET', url }, { name, data: JSON.parse(data) });
        names.add(name);
      }
      if (names.size >= 2) break;
    }
    leave.abort();
    expect([...names].sort()).toEqual(['event', 'job']);
  });
});

interface Document {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly requestBody?: {
              readonly content: {
                readonly 'application/json': {
                  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
                };
              };
            };
          }
        >
      >
    >
  >;
}

function documentOf(): Document {
  return openApiDocument(CONTROLLERS) as unknown as Document;
}
