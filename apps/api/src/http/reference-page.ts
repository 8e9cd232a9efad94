/** The page that shows the OpenAPI document to people. Swagger UI comes from the package of Fastify, with every file that it needs. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';

const STATIC = join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui')), 'static');

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width" />
    <title>Coxswain API</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="/docs/swagger-ui.css" />
  </head>
  <body>
    <div id="reference"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/reference.js"></script>
  </body>
</html>
`;

/** In a file of its own, because the policy of the page allows no script in the text. Nothing is sent to another server, not even to check the document. */
const SCRIPT = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  filter: true,
  validatorUrl: null,
});
`;

interface ServedFile {
  readonly path: string;
  readonly type: string;
  readonly read: () => Promise<Buffer>;
}

const FILES: readonly ServedFile[] = [
  { path: '/docs', type: 'text/html', read: () => Promise.resolve(Buffer.from(PAGE)) },
  { path: '/docs/reference.js', type: 'text/javascript', read: () => Promise.resolve(Buffer.from(SCRIPT)) },
  {
    path: '/docs/swagger-ui-bundle.js',
    type: 'text/javascript',
    read: () => readFile(join(STATIC, 'swagger-ui-bundle.js')),
  },
  { path: '/docs/swagger-ui.css', type: 'text/css', read: () => readFile(join(STATIC, 'swagger-ui.css')) },
];

/** Serves `/docs` and its files, each read and compressed once, when somebody first asks for it. A read that failed is made again by the next request. */
export function serveReference(fastify: FastifyInstance, files: readonly ServedFile[] = FILES): void {
  for (const { path, type, read } of files) {
    let kept: Promise<{ readonly plain: Buffer; readonly zipped: Buffer }> | undefined;
    fastify.get(path, async (request, reply) => {
      kept ??= read().then(async (plain) => ({ plain, zipped: await promisify(gzip)(plain) }));
      const { plain, zipped } = await kept.catch((error: unknown) => {
        kept = undefined;
        throw error;
      });
      const isZipped = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
      void reply.headers({ vary: 'accept-encoding', ...(isZipped ? { 'content-encoding': 'gzip' } : {}) });
      return reply
        .type(`${type}; charset=utf-8`)
        .header('cache-control', 'no-cache')
        .send(isZipped ? zipped : plain);
    });
  }
}
