import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@coxswain/local-cluster';
import { findChromium, type SharedPostgres } from '@coxswain/test-harness';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { type ApiUnderTest, startApiUnderTest } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';
import { PAGE_CLIENT, startIssuer, type TestIssuer } from './testing/an-issuer.ts';
import { startTlsFront, type TlsFront } from './testing/tls-front.ts';

/*
 * The page, an issuer and the API as people meet them: a real browser, which keeps cookies and holds policies as it does, goes from one to the other over TLS.
 * COXSWAIN_PICTURES names a folder that keeps the pictures.
 */

/** Only for what hangs; the browser starts beside a database. */
const PATIENCE_MS = 120_000;

let directory: string;
let postgres: SharedPostgres;
let front: TlsFront;
let issuer: TestIssuer;
let api: ApiUnderTest;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let databaseUrl: string;
/** Whatever the browser complained about: errors, refused resources, broken security policy. */
let complaints: string[];

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-sign-in-page-'));
  writeFileSync(join(directory, 'secret'), PAGE_CLIENT.secret);
  const { executablePath, args, env } = await findChromium();
  front = await startTlsFront();
  postgres = migratedPostgres();
  [issuer, browser] = await Promise.all([
    startIssuer(front.url),
    chromium.launch({ executablePath, args: [...args], env: { ...env }, timeout: PATIENCE_MS }),
  ]);
  databaseUrl = await postgres.createDatabase('page');
  api = await startApiUnderTest({ databaseUrl, environment: environmentOf(issuer.url) });
  front.passTo(api.running.url);
  issuer.accounts.set('ada', ['researchers']);
  issuer.accounts.set('stranger', ['knitting']);
  await api.project('research');
  await api.send('POST', '/v1/projects/research/group-roles', {
    token: api.adminToken,
    body: { group: 'researchers', role: 'submitter' },
  });
});

afterAll(async () => {
  await browser?.close();
  await api?.close();
  await Promise.all([issuer?.close(), front?.close()]);
  rmSync(directory, { recursive: true });
});

beforeEach(async () => {
  complaints = [];
  context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    locale: 'en-US',
    ignoreHTTPSErrors: true,
  });
  page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.on('console', (message) => {
    // The issuer's own pages are its own affair.
    if (!message.location().url.startsWith(front.url)) return;
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
});

afterEach(() => context.close());

function environmentOf(issuerUrl: string): Readonly<Record<string, string>> {
  return {
    COXSWAIN_PUBLIC_URL: front.url,
    COXSWAIN_OIDC_ISSUER_URL: issuerUrl,
    COXSWAIN_OIDC_CLIENT_ID: PAGE_CLIENT.id,
    COXSWAIN_OIDC_CLIENT_SECRET_FILE: join(directory, 'secret'),
    COXSWAIN_OIDC_SCOPES: 'openid profile groups offline_access',
  };
}

async function picture(name: string): Promise<void> {
  const folder = process.env['COXSWAIN_PICTURES'] ?? directory;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

async function seen(selector: string, want: RegExp): Promise<void> {
  let last = '';
  const shows = async (): Promise<boolean> => {
    last = (await page.locator(selector).allInnerTexts()).join('\n');
    return want.test(last);
  };
  await waitFor(shows, { intervalMs: 50, what: `${selector} to show ${want.source}` }).catch((error: unknown) => {
    throw new Error(`${String(error)}; at ${page.url()} it shows:\n${last}`);
  });
}

/** From the page to the issuer, through its forms and back. */
async function signInAs(login: string): Promise<void> {
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.waitForURL((url) => url.origin === issuer.url);
  await page.locator('input[name=login]').fill(login);
  await page.locator('input[name=password]').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.waitForURL((url) => url.origin === front.url);
}

describe('the page, with an issuer', () => {
  it('lets a person sign in, stay signed in, and sign out', async () => {
    await page.goto(`${front.url}/predictions`);
    await seen('.sign-in', /With your account at 127\.0\.0\.1/);
    await picture('1-sign-in');
    await signInAs('ada');
    await seen('.who', /ada · submitter/);
    // Where the person was going when asked who he is.
    expect(new URL(page.url()).pathname).toBe('/predictions');
    await picture('2-signed-in');
    await page.getByRole('link', { name: 'Jobs' }).click();
    await seen('main', /No jobs yet/);
    await picture('3-jobs');

    expect(await page.evaluate(() => [document.cookie, sessionStorage.length, localStorage.length])).toEqual([
      '',
      0,
      0,
    ]);
    const kept = await context.cookies(front.url);
    expect(kept).toEqual([
      expect.objectContaining({ name: '__Host-coxswain-session', httpOnly: true, secure: true, sameSite: 'Lax' }),
    ]);
    await page.reload();
    await seen('.who', /ada/);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await seen('.sign-in', /With your account at/);
    await picture('4-signed-out');
    expect(await context.cookies(front.url)).toEqual([]);
    await page.reload();
    await seen('.sign-in', /With your account at/);
    const cookie = `__Host-coxswain-session=${kept[0]?.value ?? ''}`;
    expect((await api.send('GET', '/v1/whoami', { headers: { cookie } })).status).toBe(401);
    // Nobody is signed in: that is asked, and answered with 401.
    expect(complaints.filter((text) => !text.includes('401'))).toEqual([]);
  });

  it.each<[string, () => Promise<void>, RegExp, string]>([
    ['has no role', () => signInAs('stranger'), /no role here.*administrator/, '5-no-role'],
    [
      'thinks better of it at the issuer',
      async () => {
        await page.getByRole('link', { name: 'Sign in' }).click();
        await page.getByRole('link', { name: 'Cancel' }).click();
      },
      /was not completed.*try again/,
      '6-cancelled',
    ],
    [
      'is sent here by another site, without having begun',
      async () => void (await page.goto(`${front.url}/v1/sign-in/callback?code=x&state=y`)),
      /too long, or began in another browser/,
      '7-start-again',
    ],
  ])('tells somebody who %s so in a sentence, and lets him try again', async (_who, act, sentence, name) => {
    await page.goto(front.url);
    await act();
    await seen('[role=alert]', sentence);
    expect(new URL(page.url()).hash).toBe('');
    expect(await page.getByRole('link', { name: 'Sign in' }).count()).toBe(1);
    expect(await context.cookies(front.url)).toEqual([]);
    await picture(name);
    await page.reload();
    await seen('.sign-in', /With your account at/);
    expect(await page.locator('[role=alert]').count()).toBe(0);
  });

  it('says so when the issuer is away, and takes a token meanwhile, on a phone in the dark too', async () => {
    const other = await startApiUnderTest({
      databaseUrl,
      adminToken: api.adminToken,
      environment: environmentOf('http://127.0.0.1:9'),
    });
    front.passTo(other.running.url);
    try {
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.setViewportSize({ width: 400, height: 800 });
      await page.goto(front.url);
      await page.getByRole('link', { name: 'Sign in' }).click();
      await seen('[role=alert]', /does not answer at the moment.*API token/);
      await page.getByRole('button', { name: 'Use an API token' }).click();
      await picture('8-away-narrow-dark');
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      await page.getByLabel('API token').fill(api.adminToken);
      await page.getByRole('button', { name: 'Sign in with the token' }).click();
      await seen('.who', /clusterAdmin/);
      await picture('9-with-token-narrow-dark');
    } finally {
      front.passTo(api.running.url);
      await other.close();
    }
  });
});
