import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SignInTrade } from '@coxswain/api-types';
import * as oidc from 'openid-client';
import { CliError } from '../cli-error.ts';

/** The identity provider, as the API describes it. */
export interface IssuerClient {
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: string;
}

/** What signing in needs of the person and the machine. */
export interface SignInAid {
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
  readonly openBrowser: (url: string) => void;
}

/** How long somebody has to sign in. */
const PATIENCE_MS = 300_000;
const CALLBACK_PATH = '/callback';

/** A browser on this machine signs in and comes back to a port of loopback (RFC 8252), with PKCE. Port 0: any that is free. */
export async function signInByBrowser(client: IssuerClient, port: number, aid: SignInAid): Promise<SignInTrade> {
  const configuration = await discovered(client);
  const [state, nonce, verifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()];
  const callback = await waitForCallback(port, { state, signal: patience(aid.signal) });
  try {
    const url = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: callback.redirectUri,
      scope: client.scopes,
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...consent(client.scopes),
    });
    aid.print(
      `Sign in with your browser. If none opens, go to:\n  ${url.href}\nWithout a browser on this machine: coxswain login --no-browser`,
    );
    aid.openBrowser(url.href);
    const back = await callback.came;
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
    return tradeOf(await atIssuer(client, () => oidc.authorizationCodeGrant(configuration, back, checks)), client);
  } finally {
    callback.close();
  }
}

/** A browser on any other machine signs in (RFC 8628); this one waits until it has. */
export async function signInByDevice(client: IssuerClient, aid: SignInAid): Promise<SignInTrade> {
  const configuration = await discovered(client);
  if (configuration.serverMetadata().device_authorization_endpoint === undefined) {
    throw new CliError(
      `${client.issuer} does not support sign-in with a device code. Sign in with a browser on this machine, without --no-browser.`,
    );
  }
  const asked = { scope: client.scopes, ...consent(client.scopes) };
  const device = await atIssuer(client, () => oidc.initiateDeviceAuthorization(configuration, asked));
  aid.print(`Open ${device.verification_uri} in a browser anywhere, and enter ${device.user_code}`);
  if (device.verification_uri_complete !== undefined) aid.print(`Or open ${device.verification_uri_complete}`);
  const waiting = { signal: patience(aid.signal) };
  return tradeOf(
    await atIssuer(client, () => oidc.pollDeviceAuthorizationGrant(configuration, device, undefined, waiting)),
    client,
  );
}

function discovered({ issuer, clientId }: IssuerClient): Promise<oidc.Configuration> {
  const server = new URL(issuer);
  const isLoopback = ['127.0.0.1', '[::1]', 'localhost'].includes(server.hostname);
  const execute = server.protocol === 'http:' && isLoopback ? [oidc.allowInsecureRequests] : [];
  return atIssuer({ issuer }, () => oidc.discovery(server, clientId, undefined, oidc.None(), { execute, timeout: 10 }));
}

/** OpenID Connect Core 11: without it an issuer may leave the refresh token out. */
function consent(scopes: string): { prompt?: 'consent' } {
  return scopes.split(' ').includes('offline_access') ? { prompt: 'consent' } : {};
}

function patience(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
}

function tradeOf(answer: oidc.TokenEndpointResponse, { issuer }: IssuerClient): SignInTrade {
  if (answer.id_token === undefined)
    throw new CliError(`${issuer} returned no ID token. The configured scopes must include openid.`);
  const { access_token: accessToken, refresh_token: refreshToken } = answer;
  return { idToken: answer.id_token, accessToken, ...(refreshToken === undefined ? {} : { refreshToken }) };
}

async function atIssuer<T>({ issuer }: Pick<IssuerClient, 'issuer'>, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const { error_description: description, error: code, message } = error as Error & Readonly<Record<string, unknown>>;
    throw new CliError(`Sign-in at ${issuer} failed: ${String(description ?? code ?? message)}`);
  }
}

interface Callback {
  readonly redirectUri: string;
  /** The address at which the browser came back. */
  readonly came: Promise<URL>;
  readonly close: () => void;
}

/** Listens on loopback for the browser. What comes with another state is of somebody else, and is refused without an end. */
async function waitForCallback(
  port: number,
  { state, signal }: { readonly state: string; readonly signal: AbortSignal },
): Promise<Callback> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const how = 'choose another with --callback-port that the issuer allows, or use --no-browser';
      reject(new CliError(`Cannot listen on port ${port} of 127.0.0.1 (${error.code ?? error.message}): ${how}.`));
    });
    server.listen(port, '127.0.0.1', resolve);
  });
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}${CALLBACK_PATH}`;
  const came = new Promise<URL>((resolve, reject) => {
    signal.addEventListener(
      'abort',
      () => reject(new CliError('No sign-in within five minutes. Run the command again.')),
      {
        once: true,
      },
    );
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const at = URL.parse(request.url ?? '/', redirectUri);
      const came = at?.pathname === CALLBACK_PATH && at.searchParams.get('state') === state ? at : undefined;
      const isOurs = came !== undefined;
      response.writeHead(isOurs ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
      response.end(
        isOurs ? 'You can close this window and go back to the command line.\n' : 'There is nothing here.\n',
      );
      if (came !== undefined) resolve(came);
    });
  });
  // It may be given up before anybody waits for it.
  came.catch(() => undefined);
  return { redirectUri, came, close: () => void (server.close(), server.closeAllConnections()) };
}
