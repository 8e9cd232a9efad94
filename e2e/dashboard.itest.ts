import { waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import { findChromium } from '@coxswain/test-harness';
import { join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';
import { gptSpec, sleeperSpec, UNTIL_STOPPED } from './support/jobs.ts';
import { createProject, jobIn, submit, type TestProject } from './support/project.ts';
import { releaseSharedSystem, sharedSystem } from './support/shared-system.ts';

/** Few enough for the pointer to meet the last one; slow enough for a slow browser to see them before and after the failure. */
const STEPS = 120;
/** Only for what hangs; the browser starts beside a cluster. */
const PATIENCE_MS = 120_000;

let system: CoxswainSystem;
let project: TestProject;
let browser: Browser;
let page: Page;
/** Whatever the browser complained about: errors, refused resources, broken security policy. */
const complaints: string[] = [];

beforeAll(async () => {
  const { executablePath, args, env } = await findChromium();
  [system, browser] = await Promise.all([
    sharedSystem(),
    chromium.launch({ executablePath, args: [...args], env: { ...env }, timeout: PATIENCE_MS }),
  ]);
  project = await createProject(system, 'pictures');
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-US' });
  page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('requestfailed', (request) => {
    // A stream that is left behind by going to another page is cut by the page itself.
    if (request.failure()?.errorText !== 'net::ERR_ABORTED') complaints.push(`${request.url()} failed`);
  });
});

afterAll(async () => {
  await browser?.close();
  await releaseSharedSystem();
});

/** Ids of the jobs that compete, by name. */
const competing = new Map<string, string>();

/** Somebody declares these windows in the Fabric, and no others. */
async function declareWindows(windows: readonly object[]): Promise<void> {
  const patch = JSON.stringify({ spec: { windows: windows.length === 0 ? null : windows } });
  await system.plane.kubectl(['patch', 'fabric', 'cluster', '--type', 'merge', '--patch', patch]);
}

/** Pictures stay with the logs of the run, to be looked at. */
async function picture(name: string): Promise<void> {
  await page.screenshot({ path: join(system.logsDirectory, `${name}.png`), fullPage: true });
}

async function textOf(selector: string): Promise<string> {
  return (await page.locator(selector).allInnerTexts()).join('\n');
}

/** Waits for a text without loading the page again: what is not live never comes. */
async function seen(selector: string, want: RegExp): Promise<void> {
  let last = '';
  await waitFor(async () => want.test((last = await textOf(selector))), {
    intervalMs: 100,
    what: `${selector} to show ${want.source}`,
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}; it shows:\n${last}`);
  });
}

/** Ranks that have just been started may not answer yet; how often the API may be asked is limited. */
async function askUntil(want: RegExp): Promise<void> {
  await waitFor(
    async () => {
      await page.getByRole('button', { name: /^Ask / }).click();
      await seen('[data-testid=stacks]', /of attempt \d+ at/);
      return want.test(await textOf('[data-testid=stacks]'));
    },
    { intervalMs: 5_000, what: `ranks to answer with ${want.source}` },
  );
}

/** The last step of a curve: what its legend says of the point at its right edge. */
async function lastStepOf(curve: 'Loss' | 'Tokens/s'): Promise<number> {
  const figure = page.locator('figure', { has: page.locator('figcaption', { hasText: curve }) });
  if ((await figure.locator('.u-over').count()) === 0) return -1;
  // The mouse reaches what is in view.
  await figure.scrollIntoViewIfNeeded();
  const box = await figure.locator('.u-over').boundingBox();
  if (box === null) return -1;
  await page.mouse.move(box.x + box.width - 2, box.y + box.height / 2);
  const legend = await figure.locator('.u-legend').innerText();
  const step = /step\D*([\d,]+)/.exec(legend)?.[1]?.replaceAll(',', '');
  return step === undefined ? -1 : Number(step);
}

describe('the dashboard', () => {
  it('asks for a token, and says so when one is wrong', async () => {
    await page.goto(system.apiUrl);
    await seen('form', /API token/);
    await page.getByLabel('API token').fill('cxs_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await seen('[role=alert]', /token/);
    await picture('1-sign-in');
    // The refusal itself is the one complaint that belongs here.
    expect(complaints.filter((text) => !text.includes('401'))).toEqual([]);
    complaints.length = 0;
  });

  it('signs in with the token of an address, takes it out of there, and shows an empty list kindly', async () => {
    await page.goto(`${system.apiUrl}/#token=${project.token}`);
    await page.reload();
    await seen('main', /No jobs yet/);
    expect(page.url()).toBe(`${system.apiUrl}/`);
    expect(await page.evaluate(() => JSON.stringify(history.state ?? ''))).not.toContain(project.token);
  });

  it('shows a job from its first step through a failed rank and the restart to its end, live', async () => {
    const fault = { rank: 1, step: 75, kind: 'exit', code: 1, epoch: 1 } as const;
    const spec = sleeperSpec(
      { steps: STEPS, stepMs: 200, saveEvery: 20, fault },
      { model: gptSpec().model, training: { steps: STEPS, globalBatchSize: 8 } },
    );
    const job = await submit(project, 'rowing', spec);

    await seen('.jobs', /rowing/);
    await page.getByRole('link', { name: 'rowing' }).click();
    await page.waitForURL(`${system.apiUrl}/projects/pictures/jobs/${job.id}`);
    const loadedAt = await page.evaluate(() => performance.timeOrigin);

    await seen('.title .pill', /Running/);
    await waitFor(async () => (await lastStepOf('Loss')) > 0, {
      what: 'the first points of the curve',
    });
    const first = await lastStepOf('Loss');
    await waitFor(async () => (await lastStepOf('Loss')) > first, { what: 'the curve to grow' });

    await seen('[data-testid=rendering]', /What is run\s+command, each rank by the launcher in attempt 1/);
    expect(await page.getByRole('tab', { name: 'command' }).getAttribute('aria-selected')).toBe('true');
    await seen('[role=tabpanel]', /\S/);

    const map = page.locator('canvas[role=img]');
    const where = await map.first().getAttribute('aria-label');
    expect(where).toMatch(/^(ib-0|roce-0): 4 ranks on 2 nodes in 1 NVLink domain/);
    await seen('[data-testid=traffic]', /between nodes\s+[\d.]+ [KM]iB/);
    await map.first().focus();
    await page.keyboard.press('End');
    await seen('.rank-facts', /^Rank 3 on node local-[ab][01], pod rowing-.*tensor 1, data 1, pipeline 0/);
    await picture('2-running');

    await seen('.events', /RankFailed/);
    await seen('.events', /Restarting/);
    await seen('.facts', /Attempt\s+1\.2/);
    await seen('table', /EngineFailed[\s\S]*rank 1 on node local-\S+ exited with/i);
    await seen('table', /after step \d+/);
    await seen('[data-testid=incidents]', /Crash of rank 1 \(GPU \d of its pod\) on node local-\S+/);
    await seen('[data-testid=incidents]', /The ranks restart in their pods\./);
    await picture('3-restarted');

    await seen('.title .pill', /Complete/);
    await waitFor(async () => (await lastStepOf('Loss')) === STEPS, {
      what: 'the last step on the curve',
    });
    await seen('.events', /CheckpointSaved/);
    await seen('[data-testid=checkpoints]', /step \d+\s+newest usable/);
    await seen('[data-testid=incidents]', /The job trained again.*were lost, with \d+ steps trained again/);
    await seen(
      '[data-testid=life]',
      /of GPU time were productive steps; 1 incident\.[\s\S]*(program|unexplained) recovery/,
    );
    expect(await page.getByTestId('life-bar').getAttribute('aria-label')).toMatch(/^The job’s life: [\d.]+ %/);
    expect(await page.locator('.life-bar .spent-productive').count()).toBeGreaterThan(0);
    await page.locator('.life-marks a').click();
    expect(await page.locator('.incidents li:target').innerText()).toMatch(/^Crash of rank 1/);
    await seen(
      '[data-testid=plan]',
      /Predicted by the planner\s+tp2 x dp2[\s\S]* per step \(80 % interval: [\d.,]+ m?s to [\d.,]+ m?s\)/,
    );
    await seen('.facts', /Step time\s+[\d,.]+ ms\s+[\d,.]+ ms predicted, [+-]/);
    await picture('4-complete');
    expect(await page.evaluate(() => performance.timeOrigin)).toBe(loadedAt);
    await jobIn(project, job.id, ['Complete']);
  });

  it('shows how predictions came true', async () => {
    await page.getByRole('link', { name: 'Predictions' }).click();
    await seen('main', /command\s+simulated\s+1\s/);
    await seen('table', /rowing/);
    expect(await page.locator('.scatter circle').count()).toBe(1);
    await picture('6-predictions');
  });

  it('suspends, resumes and cancels a job at the push of a button', async () => {
    const job = await submit(project, 'held', sleeperSpec({ steps: UNTIL_STOPPED, stepMs: 100 }));
    await page.getByRole('link', { name: 'Coxswain' }).click();
    await page.getByRole('link', { name: 'held' }).click();
    await seen('.title .pill', /Running/);
    await askUntil(/4 ranks of attempt 1 at[\s\S]*ranks 0-3 \(4 of 4\)/);
    await picture('7-stacks');
    await page.getByRole('button', { name: 'Suspend' }).click();
    await seen('.title .pill', /Suspended/);
    await page.getByRole('button', { name: 'Resume', exact: true }).click();
    await seen('.title .pill', /Running/);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await seen('dialog', /It ends for good and cannot be resumed\./);
    await page.getByRole('button', { name: 'Cancel the job' }).click();
    await seen('.title .pill', /Cancelled/);
    await waitFor(async () => (await page.getByRole('button', { name: 'Suspend' }).count()) === 0, {
      what: 'the buttons of a job that runs to go',
    });
    await jobIn(project, job.id, ['Cancelled']);
  });

  it('submits a job that was written on the page, with what is wrong at each field, and clones it', async () => {
    await page.getByRole('link', { name: 'Jobs' }).click();
    await page.getByRole('link', { name: 'New job' }).click();
    const spec = sleeperSpec({ steps: 20, stepMs: 50, saveEvery: 10 });
    await page.getByLabel('YAML').fill(JSON.stringify({ name: 'Written', spec }));
    await page.getByLabel('Directory').fill('written');
    await seen('[data-testid=problems]', /1 problem\s+name: Written\s*needs a change\s+must be lower-case letters/);
    await page.getByLabel('Name', { exact: true }).fill('written');
    await seen('.preview', /GPUs\s+4\s+\d+ of 8 are free[\s\S]*Nothing known is in the way of this job\./);
    await page.getByLabel('Claim', { exact: true }).fill('nowhere');
    await seen('[data-testid=problems]', /spec\.checkpoint\.claimName: nowhere[\s\S]*does not exist in namespace/);
    await picture('8-new-job');
    await page.getByLabel('Claim', { exact: true }).fill(spec.checkpoint?.claimName ?? '');
    await waitFor(async () => (await page.getByTestId('problems').count()) === 0, { what: 'the problem to go' });
    await page.getByRole('button', { name: 'Submit' }).dblclick();
    await page.waitForURL(`${system.apiUrl}/projects/pictures/jobs/*`);
    await seen('.title .pill', /Complete/);
    await page.getByRole('link', { name: 'Submit again' }).click();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('written-2');
    await seen('.preview', /Nothing known is in the way of this job\./);
    await page.getByRole('button', { name: 'Submit' }).click();
    await seen('.title', /written-2[\s\S]*(Running|Complete)/);
    await page.getByLabel('Over').selectOption('time');
    await page.getByRole('button', { name: 'Compare…' }).click();
    await page.getByRole('button', { name: 'written', exact: true }).click();
    await seen('.run-legend', /written-2\s+written/);
    expect(page.url()).toMatch(/\?x=time&with=[-0-9a-f]{36}$/);
    const another = await page.context().newPage();
    another.setDefaultTimeout(PATIENCE_MS);
    await another.goto(page.url());
    await another.getByRole('heading', { name: 'written-2' }).waitFor();
    await another.close();
    const { items } = await project.api.jobPage(project.name, { q: 'written' });
    expect(items.map(({ name }) => name).toSorted()).toEqual(['written', 'written-2']);
  });

  it('fits a phone, in the dark, too', async () => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 400, height: 800 });
    await page.getByRole('link', { name: 'Coxswain' }).click();
    await seen('.jobs', /rowing[\s\S]*Complete/);
    await picture('5-list-narrow-dark');
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    await page.getByRole('link', { name: 'rowing' }).click();
    await seen('.title .pill', /Complete/);
    await waitFor(async () => (await page.locator('.u-over').count()) === 2, {
      what: 'both curves',
    });
    await picture('6-job-narrow-dark');
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  });

  it('shows gangs that compete: their order, held nodes, a window, and that a gang which is starting holds its GPUs', async () => {
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.emulateMedia({ colorScheme: 'light' });
    const inHours = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();
    const firmware = { name: 'firmware', nodes: ['local-b1'], from: inHours(5), until: inHours(8), heldForSeconds: 0 };
    await declareWindows([firmware]);
    const training = { steps: UNTIL_STOPPED, globalBatchSize: 8 };
    const endless = sleeperSpec({ steps: UNTIL_STOPPED, stepMs: 100 }, { training, maxRuntimeSeconds: 7_200 });
    for (const name of ['runs-a', 'runs-b']) {
      const { id } = await submit(project, name, endless);
      competing.set(name, id);
      await jobIn(project, id, ['Running']);
    }
    for (const name of ['head', 'next']) {
      const { id } = await submit(project, name, endless);
      competing.set(name, id);
      await jobIn(project, id, ['Queued'], { and: ({ summary }) => /first in line|Nodes are held/.test(summary) });
    }
    await page.getByRole('link', { name: 'Queue' }).click();
    await seen('main', /2 jobs wait for 8 GPUs; 0 of 8 GPUs are free\./);
    await seen('.queue-order', /1\s+head[\s\S]*in \d[\s\S]*nodes are held[\s\S]*from a time limit[\s\S]*2\s+next/);
    await seen(
      '.queue-timeline',
      /frees 4 GPUs[\s\S]*starts on held nodes, 4 GPUs[\s\S]*closes 1 node\s+firmware: maintenance/,
    );
    expect(await page.locator('.day-bar .closed').count()).toBe(1);
    await seen('main', /pictures\s+8\s/);
    await picture('7-queue');
  });

  it('shows the queue on a phone, in the dark, too', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.emulateMedia({ colorScheme: 'dark' });
    await seen('main', /Next 24 hours[\s\S]*Windows[\s\S]*Use of each project[\s\S]*Expected against actual starts/);
    await picture('7-queue-narrow-dark');
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  });

  it('compares the start of the first in line with the one that was expected, once nodes are free', async () => {
    await project.api.cancel({ project: project.name, id: competing.get('runs-a') ?? '' });
    await jobIn(project, competing.get('head') ?? '', ['Starting', 'Running']);
    await seen('main', /1 job waits for 4 GPUs/);
    await seen('main', /1 start in the last 30 days[\s\S]*head\s+pictures[\s\S]*earlier/);
    for (const name of ['next', 'head', 'runs-b'])
      await project.api.cancel({ project: project.name, id: competing.get(name) ?? '' });
    await declareWindows([]);
    await seen('main', /No job waits for GPUs\./);
    await picture('7-queue-starts');
  });

  it('shows the whole fabric to an administrator: nodes, and the labels that say where they sit', async () => {
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.goto(`${system.apiUrl}/fabric#token=${system.adminToken}`);
    await seen('main', /\d+ nodes?: \d+ GPUs held by jobs, \d+ free/);
    await page.locator('.fabric-map canvas').waitFor();
    await picture('8-fabric');
  });

  it('tells since when the fabric looks so', async () => {
    const history = page.locator('section', { has: page.getByRole('heading', { name: 'History' }) });
    // It is recorded once two looks, half a minute apart, have seen the same, and read when somebody asks.
    await waitFor(
      async () => {
        await history.getByRole('button', { name: 'show when it changed' }).click();
        await history.locator('table, .empty, .problem').waitFor();
        const text = await history.innerText();
        if (/\d+\s+\d+\s+\d+\s+the first that is kept/.test(text)) return true;
        await history.getByRole('button', { name: 'hide' }).click();
        return false;
      },
      { what: 'the first snapshot of the fabric', deadlineMs: 120_000, intervalMs: 1_000 },
    );
    await picture('9-fabric-history');
  });

  it('gave the browser nothing to complain about: no error, no broken policy, no resource from elsewhere', () => {
    expect(complaints).toEqual([]);
  });
});
