/* eslint-disable max-params -- the rows of a table are spread over the parameters of its test */
import { fastify, type FastifyInstance } from 'fastify';
import { gunzipSync } from 'node:zlib';
import { cacheControlOfFile, controlCaching } from './caching.ts';
import { ServedDocument } from './served-document.ts';

let server: FastifyInstance;
beforeAll(async () => {
  server = fastify();
  controlCaching(server);
  server.get('/v1/things/1', () => ({ name: 'one' }));
  server.post('/v1/things', (_request, reply) => reply.code(201).send({ name: 'one', specVersion: 3 }));
  server.post('/v1/plans', () => ({ name: 'a plan' }));
  server.get('/v1/nothing', (_request, reply) => reply.code(404).send({ code: 'NOT_FOUND' }));
  server.get('/openapi.json', () => ({ openapi: '3.1.0' }));
  const form = new ServedDocument({ openapi: '3.1.0' });
  server.get('/openapi.json/kept', ({ headers }, reply) => {
    const { bytes, etag } = form.formFor(headers['accept-encoding']);
    return reply.header('etag', etag).header('content-encoding', 'gzip').type('application/json').send(bytes);
  });
  server.get('/healthz', () => 'ok');
  server.get('/metrics', () => 'up 1');
  server.get('/projects', (_request, reply) => reply.type('text/html; charset=utf-8').send('<html></html>'));
  await server.ready();
});
afterAll(() => server.close());

describe('an answer', () => {
  it.each<[string, 'GET' | 'POST' | 'HEAD', string, string, RegExp | undefined]>([
    [
      'about a project is its asker’s alone, and is asked for again',
      'GET',
      '/v1/things/1',
      'private, no-cache',
      /^"[\w-]{22}"$/,
    ],
    ['has the same headers without its body', 'HEAD', '/v1/things/1', 'private, no-cache', /^"[\w-]{22}"$/],
    ['to a change is kept by nobody, and says the version', 'POST', '/v1/things', 'no-store', /^"3\.[\w-]{22}"$/],
    ['to a question that is posted is kept by nobody', 'POST', '/v1/plans', 'no-store', undefined],
    ['that refuses is kept by nobody', 'GET', '/v1/nothing', 'no-store', undefined],
    ['from no route is kept by nobody', 'GET', '/v1/typo', 'no-store', undefined],
    ['that describes the API is asked for again', 'GET', '/openapi.json', 'no-cache', /^"/],
    ['that is the page is asked for again', 'GET', '/projects', 'no-cache', /^"/],
    ['about health is kept by nobody', 'GET', '/healthz', 'no-store', undefined],
    ['about figures is kept by nobody', 'GET', '/metrics', 'no-store', undefined],
  ])('%s', async (_sentence, method, url, cacheControl, etag) => {
    const { headers } = await server.inject({ method, url });
    expect(headers['cache-control']).toBe(cacheControl);
    if (etag === undefined) expect(headers['etag']).toBeUndefined();
    else expect(headers['etag']).toMatch(etag);
    expect(headers['vary']).toBe(cacheControl.startsWith('private') ? 'authorization, cookie' : undefined);
  });

  it('that is kept as bytes has the tag of its form, and is not sent twice', async () => {
    const url = '/openapi.json/kept';
    const forms = await Promise.all(
      ['gzip, br', 'gzip;q=0'].map((accept) => server.inject({ url, headers: { 'accept-encoding': accept } })),
    );
    const [gzip, plain] = forms;
    expect(plain?.body).toBe('{"openapi":"3.1.0"}');
    expect(gunzipSync(gzip?.rawPayload ?? '').toString()).toBe('{"openapi":"3.1.0"}');
    const tags = forms.map(({ headers }) => String(headers['etag']));
    expect(new Set(tags).size).toBe(2);
    const headers = { 'accept-encoding': 'gzip', 'if-none-match': tags[0] ?? '' };
    const again = await server.inject({ url, headers });
    expect(again).toMatchObject({ statusCode: 304, body: '' });
    expect(again.headers['content-encoding']).toBeUndefined();
    expect(again.headers['etag']).toBe(tags[0]);
  });

  it('is not sent twice, and keeps what a cache has to know', async () => {
    const first = await server.inject('/v1/things/1');
    for (const method of ['GET', 'HEAD'] as const) {
      const headers = { 'if-none-match': String(first.headers['etag']) };
      const again = await server.inject({ method, url: '/v1/things/1', headers });
      expect(again).toMatchObject({ statusCode: 304, body: '' });
      expect(again.headers).toMatchObject({
        etag: first.headers['etag'],
        'cache-control': 'private, no-cache',
        vary: 'authorization, cookie',
      });
      expect(again.headers['content-type']).toBeUndefined();
    }
  });

  it('that is not the one that was asked for is a refusal', async () => {
    const answer = await server.inject({ url: '/v1/things/1', headers: { 'if-match': '"another"' } });
    expect(answer.statusCode).toBe(412);
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      'content-type': expect.stringContaining('problem'),
    });
    expect(answer.json()).toMatchObject({ code: 'PRECONDITION_FAILED', instance: '/v1/things/1' });
  });

  it('to a change is sent whatever the asker has', async () => {
    const answer = await server.inject({ method: 'POST', url: '/v1/things', headers: { 'if-none-match': '*' } });
    expect(answer.statusCode).toBe(201);
  });
});

describe('a file of the page', () => {
  it.each([
    ['/dist/assets/index-DkJ3_x-9.js', 'public, max-age=31536000, immutable'],
    ['C:\\dist\\assets\\index-DkJ3_x-9.css', 'public, max-age=31536000, immutable'],
    ['/dist/index.html', 'no-cache'],
    ['/dist/favicon.svg', 'no-cache'],
    ['/dist/assets/logo.svg', 'no-cache'],
  ])('%s is %s', (path, want) => {
    expect(cacheControlOfFile(path)).toBe(want);
  });
});
