import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, importJWK, type JWTPayload, SignJWT } from 'jose';
import Provider from 'oidc-provider';

/** The page's client, with a secret, and that of the command line, without one. */
export const PAGE_CLIENT = { id: 'page', secret: 'the-secret-of-the-page' };
export const CLI_CLIENT = 'coxswain-cli';

/** A real issuer of accounts on this machine. */
export interface TestIssuer {
  readonly url: string;
  /** Groups by account; an account that does not stand here does not exist. */
  readonly accounts: Map<string, readonly string[]>;
  /** An ID token as the issuer would sign it, with whatever claims. */
  sign(
    claims: Readonly<Record<string, unknown>>,
    change?: { readonly alg?: string; readonly kid?: string },
  ): Promise<string>;
  /** Signs in and consents as a person does; gives the address of the client to which the browser is sent at the end. */
  visit(url: string, login: string): Promise<URL>;
  /** Types the code of a device and signs in. */
  enterCode(url: string, login: string): Promise<void>;
  close(): Promise<void>;
}

/** `pageUrl` is where the API is, as browsers see it. */
export async function startIssuer(pageUrl: string): Promise<TestIssuer> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const key = { ...(await exportJWK(privateKey)), kid: 'test', alg: 'RS256', use: 'sig' };
  const accounts = new Map<string, readonly string[]>();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(url, { ...configuration(pageUrl, accounts), jwks: { keys: [key] } });
  server.on('request', provider.callback());
  return {
    url,
    accounts,
    sign: async (claims, { alg = 'RS256', kid = 'test' } = {}) =>
      new SignJWT(claims as JWTPayload).setProtectedHeader({ alg, kid }).sign(await importJWK(key, 'RS256')),
    visit: async (start, login) => new Browser(login).open(start, (at) => at.origin !== new URL(url).origin),
    enterCode: async (start, login) => void (await new Browser(login).open(start, () => false)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function configuration(pageUrl: string, accounts: ReadonlyMap<string, readonly string[]>) {
  return {
    clients: [
      {
        client_id: PAGE_CLIENT.id,
        client_secret: PAGE_CLIENT.secret,
        redirect_uris: [`${pageUrl}/v1/sign-in/callback`],
        grant_types: ['authorization_code', 'refresh_token'],
      },
      {
        client_id: CLI_CLIENT,
        token_endpoint_auth_method: 'none',
        application_type: 'native',
        redirect_uris: ['http://127.0.0.1/callback'],
        grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      },
    ],
    cookies: { keys: ['test'] },
    scopes: ['openid', 'offline_access', 'profile', 'groups'],
    claims: { openid: ['sub'], profile: ['preferred_username'], groups: ['groups'] },
    features: { deviceFlow: { enabled: true }, devInteractions: { enabled: true } },
    findAccount: (_context: unknown, accountId: string) => {
      const groups = accounts.get(accountId);
      const claims = { sub: accountId, preferred_username: accountId, groups };
      return groups === undefined ? undefined : { accountId, claims: () => claims };
    },
  };
}

/** A browser that fills in every form as the person of that login, and keeps cookies. */
class Browser {
  readonly #login: string;
  readonly #cookies = new Map<string, string>();

  constructor(login: string) {
    this.#login = login;
  }

  /** Goes on until it is sent to an address that `isEnd`, or there is nothing more to fill in; gives where it is. */
  async open(start: string, isEnd: (at: URL) => boolean): Promise<URL> {
    let [at, form]: [URL, URLSearchParams | undefined] = [new URL(start), undefined];
    for (let steps = 0; steps < 20; steps++) {
      if (isEnd(at)) return at;
      const answer = await this.#load(at, form);
      const next = answer.headers.get('location');
      const page = await answer.text();
      if (next !== null) [at, form] = [new URL(next, at), undefined];
      else {
        const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
        if (action === undefined) return at;
        [at, form] = [new URL(action.replaceAll('&amp;', '&'), at), this.#filled(page)];
      }
    }
    throw new Error(`the issuer goes on and on; it is at ${at.href}`);
  }

  #filled(page: string): URLSearchParams {
    const hidden = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
    const form = new URLSearchParams(hidden.map(([, name = '', value = '']) => [name, value]));
    if (page.includes('name="login"')) form.set('login', this.#login);
    if (page.includes('name="password"')) form.set('password', 'any');
    if (/name="confirm"|Confirm/.test(page)) form.set('confirm', 'yes');
    return form;
  }

  async #load(at: URL, form: URLSearchParams | undefined): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(at, {
      method: form === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: { cookie, accept: 'text/html' },
      ...(form === undefined ? {} : { body: form }),
    });
    for (const set of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = (set.split(';')[0] ?? '').split('=');
      if (value === '') this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return answer;
  }
}
