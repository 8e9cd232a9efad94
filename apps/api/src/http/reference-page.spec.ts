import fastify from 'fastify';
import { gunzipSync } from 'node:zlib';
import { serveReference } from './reference-page.ts';

const app = fastify();
serveReference(app);
afterAll(() => app.close());

const get = (url: string, encoding = 'identity') => app.inject({ url, headers: { 'accept-encoding': encoding } });

it('the page names files of this server alone, and all these files are there', async () => {
  const page = await get('/docs');
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
  const named = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url = '']) => url);
  expect(named).toEqual(['data:,', '/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js', '/docs/reference.js']);
  for (const url of named.slice(1)) expect((await get(url)).statusCode).toBe(200);
});

it('asks for the document of this API, and has no script in its text, which the policy of the page forbids', async () => {
  expect((await get('/docs/reference.js')).body).toContain("url: '/openapi.json'");
  expect((await get('/docs')).body).not.toMatch(/<script>|onload=/);
});

it('reads a file again whose read failed', async () => {
  const flaky = fastify();
  const reads = [() => Promise.reject(new Error('EMFILE')), () => Promise.resolve(Buffer.from('here'))];
  serveReference(flaky, [
    {
      path: '/docs/file',
      type: 'text/plain',
      read: () => reads.shift()?.() ?? Promise.reject(new Error('read too often')),
    },
  ]);
  const statuses = [
    await flaky.inject('/docs/file'),
    await flaky.inject('/docs/file'),
    await flaky.inject('/docs/file'),
  ];
  expect(statuses.map(({ statusCode }) => statusCode)).toEqual([500, 200, 200]);
  expect(reads).toEqual([]);
  await flaky.close();
});

it('sends a compressed file to a browser that takes it', async () => {
  const zipped = await get('/docs/swagger-ui-bundle.js', 'gzip, br');
  expect(zipped.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
  expect(gunzipSync(zipped.rawPayload).toString()).toContain('SwaggerUIBundle');
});
