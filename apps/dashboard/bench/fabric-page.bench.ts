/**
 * How fast is the page of the whole fabric in a browser? 10,000 nodes of three islands, nine tenths of them held by 120 jobs, answered by a stand-in for the
 * API; the page itself is the built one.
 *
 *   npm run build && npm run fabric-page:bench -- [--pictures FOLDER]
 */
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { ClusterFabric, FabricPlace } from '@coxswain/api-types';
import { findChromium } from '@coxswain/test-harness';
import { chromium, type Page } from 'playwright-core';

const NODES = 10_000;
const JOBS = 120;
const DIST = resolve(import.meta.dirname, '../dist');
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

/** Leaves of 16 nodes, spines of 20 leaves; the first island has NVLink domains of 8 nodes. */
function aLargeFabric(): ClusterFabric {
  const places: FabricPlace[] = [];
  const indexes = Array.from({ length: NODES }, (_, index) => index);
  const nodePlaces = indexes.map((index) => {
    const leaf = Math.floor(index / 16);
    const island = ['ib-h100', 'roce-h200', 'ib-gb200'][Math.floor((index * 3) / NODES)] ?? '';
    const nvlinkDomain = island === 'ib-gb200' ? `nvl-${Math.floor(index / 8)}` : null;
    const spine = `${island}/tier-1=spine-${Math.floor(leaf / 20)}`;
    const place = { island, nvlinkDomain, switches: [`${spine}/tier-0=leaf-${leaf}`, spine] };
    if (JSON.stringify(places.at(-1)) !== JSON.stringify(place)) places.push(place);
    return places.length - 1;
  });
  const perJob = Math.floor((NODES * 0.9) / JOBS);
  return {
    isStale: false,
    places,
    hardware: [
      {
        gpuType: 'NVIDIA-H100-80GB-HBM3',
        nicType: 'infiniband',
        nicSpeedGbps: 400,
        nicCount: 8,
        readFrom: [{ fact: 'switches', key: 'fabric.topograph.run/tier-0' }],
      },
    ],
    nodes: {
      names: indexes.map((index) => `gpu-${String(index).padStart(5, '0')}`),
      gpus: indexes.map(() => 8),
      usable: indexes.map((index) => index % 61 !== 0),
      places: nodePlaces,
      hardware: indexes.map(() => 0),
    },
    jobs: Array.from({ length: JOBS }, (_, job) => ({
      id: `3f1c2b9e-0000-4000-8000-${String(job).padStart(12, '0')}`,
      project: `team-${job % 7}`,
      name: `pretrain-${job}`,
      nodes: Array.from({ length: perJob }, (_one, pod) => job * perJob + pod + Math.floor(job / 12) * 90),
      gpus: Array.from({ length: perJob }, (_one, pod) => (pod === perJob - 1 ? 4 : 8)),
    })),
    hasMoreJobs: false,
  };
}

const ANSWERS: Readonly<Record<string, unknown>> = {
  '/v1/sign-in': { issuer: null },
  '/v1/whoami': { name: 'bench', role: 'clusterAdmin', project: null, memberships: [], isClusterAdmin: true },
  '/v1/fabric': aLargeFabric(),
};

async function serve(): Promise<Server> {
  const server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    const answer = ANSWERS[path];
    if (answer !== undefined) {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
      return;
    }
    const file = extname(path) === '' ? 'index.html' : path;
    void readFile(join(DIST, file)).then(
      (bytes) => response.setHeader('content-type', TYPES[extname(file)] ?? 'text/html').end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return server;
}

interface Frames {
  readonly frames: number;
  readonly medianMs: number;
  readonly p95Ms: number;
}

/** Times between frames while the pointer does something for two seconds. */
async function framesWhile(page: Page, act: () => Promise<void>): Promise<Frames> {
  await page.evaluate(() => {
    const times: number[] = [];
    Object.assign(globalThis, { frameTimes: times });
    const next = (now: number): void => {
      times.push(now);
      requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
  const until = performance.now() + 2_000;
  while (performance.now() < until) await act();
  const times = await page.evaluate(() => (globalThis as unknown as { frameTimes: number[] }).frameTimes);
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  gaps.sort((one, other) => one - other);
  const at = (share: number): number => Math.round((gaps[Math.floor(gaps.length * share)] ?? 0) * 10) / 10;
  return { frames: gaps.length, medianMs: at(0.5), p95Ms: at(0.95) };
}

async function main(): Promise<void> {
  const { pictures } = parseArgs({ options: { pictures: { type: 'string' } } }).values;
  const server = await serve();
  const { executablePath, args, env } = await findChromium();
  const browser = await chromium.launch({ executablePath, args: [...args], env: { ...env } });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, locale: 'en-US' });
    const picture = async (name: string): Promise<void> => {
      if (pictures !== undefined) await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
    };
    const begun = performance.now();
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/fabric#token=cxs_bench`);
    await page.locator('.fabric-map canvas').waitFor();
    const firstPictureMs = Math.round(performance.now() - begun);
    await picture('fabric-whole');
    const box = (await page.locator('.fabric-map canvas').boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    let turn = 0;
    const moved = (reach: number) => () =>
      page.mouse.move(middle.x + reach * Math.sin(turn), middle.y + reach * Math.cos((turn += 0.2)));
    const hover = await framesWhile(page, moved(200));
    await page.mouse.click(middle.x, middle.y);
    const zoom = await framesWhile(page, () => page.mouse.wheel(0, Math.sin((turn += 0.2)) * 80));
    await page.getByRole('button', { name: 'Whole fabric' }).click();
    for (let step = 0; step < 2; step++) await page.getByRole('button', { name: 'Zoom in' }).click();
    await page.mouse.move(middle.x, middle.y);
    await page.mouse.down();
    const drag = await framesWhile(page, moved(100));
    await page.mouse.up();
    for (let step = 0; step < 3; step++) await page.getByRole('button', { name: 'Zoom in' }).click();
    await page.locator('.fabric-map canvas').focus();
    for (const key of ['End', 'Enter']) await page.keyboard.press(key);
    await picture('fabric-near');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.getByRole('button', { name: 'Whole fabric' }).click();
    await page.getByRole('button', { name: 'show', exact: true }).first().click();
    await picture('fabric-dark');
    process.stdout.write(`${JSON.stringify({ nodes: NODES, firstPictureMs, hover, drag, zoom })}\n`);
  } finally {
    await browser.close();
    server.close();
  }
}

await main();
