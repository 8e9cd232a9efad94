/**
 * The picture of a job's page in README.md. `npm run docs:picture` draws it from recorded answers of the API, with the built dashboard; it needs no cluster.
 *
 *   npm run build && npm run docs:picture
 *   npm run docs:picture -- --record http://127.0.0.1:PORT --project research --job ID    (token in COXSWAIN_TOKEN; `npm run quickstart -- --keep` prints both)
 */
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { findChromium } from '@coxswain/test-harness';
import { chromium } from 'playwright-core';

const ROOT = resolve(import.meta.dirname, '../..');
const DASHBOARD = join(ROOT, 'apps/dashboard/dist');
const RECORDING = join(import.meta.dirname, 'job-page.generated.json');
const PICTURE = join(ROOT, 'docs/images/job-page.png');
const VIEWPORT = { width: 1200, height: 1290 };
const CURVE_POINTS = 2_000;
const STREAM_MS = 3_000;
/** Curves and canvases are drawn after the answers have arrived. */
const DRAWN_MS = 1_500;
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

/** Answers of the API by path without query, and the first part of the job's event stream as text. */
interface Recording {
  readonly page: string;
  readonly answers: Readonly<Record<string, unknown>>;
  readonly stream: string;
}

interface RecordedJob {
  readonly server: string;
  readonly project: string;
  readonly job: string;
}

async function record({ server, project, job }: RecordedJob): Promise<Recording> {
  const headers = { authorization: `Bearer ${process.env['COXSWAIN_TOKEN'] ?? ''}` };
  const jobPath = `/v1/projects/${project}/jobs/${job}`;
  const queries = ['/v1/sign-in', '/v1/whoami', `${jobPath}/steps?maxPoints=${CURVE_POINTS}`].concat(
    ['goodput', 'incidents', 'rendering', 'ranks'].map((name) => `${jobPath}/${name}`),
  );
  const answers = await Promise.all(
    queries.map(async (query) => {
      const response = await fetch(`${server}${query}`, { headers });
      if (!response.ok) throw new Error(`GET ${query}: ${response.status} ${await response.text()}`);
      return [query.split('?')[0] ?? query, await response.json()] as const;
    }),
  );
  const stream = await beginningOf(`${server}${jobPath}/events/stream`, headers);
  return { page: `/projects/${project}/jobs/${job}`, answers: Object.fromEntries(answers), stream };
}

/** What a stream sends within some seconds, whole events only. */
async function beginningOf(url: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const signal = AbortSignal.timeout(STREAM_MS);
  const { body } = await fetch(url, { headers: { ...headers, accept: 'text/event-stream' }, signal });
  let text = '';
  try {
    for await (const chunk of body ?? []) text += Buffer.from(chunk).toString();
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return text.slice(0, text.lastIndexOf('\n\n') + 2);
}

/** The built dashboard, and a stand-in for the API that gives the recorded answers. */
async function serve({ answers, stream }: Recording): Promise<Server> {
  const server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    if (path.endsWith('/events/stream')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(stream);
      return;
    }
    if (path in answers) {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answers[path]));
      return;
    }
    const file = extname(path) === '' ? 'index.html' : path;
    void readFile(join(DASHBOARD, file)).then(
      (bytes) => response.setHeader('content-type', TYPES[extname(file)] ?? 'text/html').end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return server;
}

async function draw(recording: Recording): Promise<void> {
  const server = await serve(recording);
  const { executablePath, args, env } = await findChromium();
  const browser = await chromium.launch({ executablePath, args: [...args], env: { ...env } });
  try {
    const page = await browser.newPage({ viewport: VIEWPORT, locale: 'en-US', colorScheme: 'light' });
    const { port } = server.address() as AddressInfo;
    await page.goto(`http://127.0.0.1:${port}${recording.page}#token=cxs_recorded`);
    await page.locator('figure .u-over').first().waitFor();
    await page.waitForTimeout(DRAWN_MS);
    await page.screenshot({ path: PICTURE });
  } finally {
    await browser.close();
    server.closeAllConnections();
    server.close();
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { record: { type: 'string' }, project: { type: 'string' }, job: { type: 'string' } },
  });
  const { record: server, project = 'research', job = '' } = values;
  if (server !== undefined) {
    await writeFile(RECORDING, `${JSON.stringify(await record({ server, project, job }))}\n`);
  }
  await draw(JSON.parse(await readFile(RECORDING, 'utf8')) as Recording);
  console.log(PICTURE);
}

await main();
