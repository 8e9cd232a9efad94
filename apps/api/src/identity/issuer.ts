import { DomainError } from '@coxswain/domain-error';
import { createRemoteJWKSet, customFetch as joseFetch, errors as joseErrors, jwtVerify, type RemoteJWKSet } from 'jose';
import * as oidc from 'openid-client';
import type { SignInConfig } from '../config/sign-in-config.ts';
import { boundedFetch, ISSUER_TIMEOUT_MS, IssuerUnavailable } from './bounded-fetch.ts';
import { type Claims, type Identity, identityOf } from './identity-of-claims.ts';

/** Which of our clients at the issuer somebody came through. */
export type SignInClient = 'page' | 'commandLine';

/** By which groups are read again. */
export interface IssuerGrant {
  readonly client: SignInClient;
  readonly refreshToken?: string | undefined;
  readonly accessToken?: string | undefined;
}

/** A person who has just proven to be one, with all groups. */
export interface SignedIn {
  readonly identity: Identity & { readonly groups: readonly string[] };
  readonly grant: IssuerGrant;
}

/** What the page has to bring back from the issuer. */
export interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Where browsers come back to from the issuer. */
export const CALLBACK_PATH = '/v1/sign-in/callback';

/** What the issuer says of itself is asked for again after this time. */
const DISCOVERY_LIFETIME_MS = 3_600_000;
const JWKS_LIFETIME_MS = 600_000;
/** Keys of a kind that nobody knows are asked for at most so often. */
const JWKS_COOLDOWN_MS = 30_000;
const MOST_AGE_OF_ID_TOKEN = '10 minutes';
const CLOCK_TOLERANCE_SECONDS = 30;
/** Signed by a key that the issuer alone has. `none` and HS256 are not: their "key" is known to us, or to everybody. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

interface Known {
  readonly page: oidc.Configuration;
  readonly commandLine: oidc.Configuration | undefined;
  readonly keys: RemoteJWKSet;
  readonly untilMs: number;
}

/**
 * The issuer whose accounts people sign in with. Every method rejects with UNAUTHENTICATED when the issuer or its signature does not bear out what was
 * presented, FORBIDDEN when the person cannot be let in, UNAVAILABLE when the issuer does not answer. Nothing is asked before somebody signs in.
 */
export class Issuer {
  readonly #config: SignInConfig;
  readonly #nowMs: () => number;
  readonly #fetch = boundedFetch();
  #known: Known | undefined;
  #asking: Promise<Known> | undefined;

  constructor(config: SignInConfig, nowMs: () => number) {
    this.#config = config;
    this.#nowMs = nowMs;
  }

  /** Where the browser goes to prove who sits before it, and what has to come back. */
  async begin(): Promise<{ readonly url: URL; readonly pending: PendingSignIn }> {
    return withIssuerErrors(async () => {
      const { page } = await this.#issuer();
      const pending = { state: oidc.randomState(), nonce: oidc.randomNonce(), verifier: oidc.randomPKCECodeVerifier() };
      const url = oidc.buildAuthorizationUrl(page, {
        redirect_uri: this.#callbackUrl,
        scope: this.#config.scopes,
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(pending.verifier),
        code_challenge_method: 'S256',
        // OpenID Connect Core 11: without it an issuer may leave the refresh token out.
        ...(this.#config.scopes.split(' ').includes('offline_access') ? { prompt: 'consent' } : {}),
      });
      return { url, pending };
    });
  }

  /** Trades the code that the browser brought back. `search` is the query of its request, with the `?`. */
  async finish(search: string, { state, nonce, verifier }: PendingSignIn): Promise<SignedIn> {
    return withIssuerErrors(async () => {
      const { page } = await this.#issuer();
      const answer = await oidc.authorizationCodeGrant(page, new URL(`${this.#callbackUrl}${search}`), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const grant = { client: 'page', refreshToken: answer.refresh_token, accessToken: answer.access_token } as const;
      return this.#signedIn(page, answer.claims() ?? {}, grant);
    });
  }

  /** Believes an ID token that a command line brings: by its signature, issuer, audience and age. */
  async verify(idToken: string, tokens: Omit<IssuerGrant, 'client'>): Promise<SignedIn> {
    return withIssuerErrors(async () => {
      const { commandLine, keys } = await this.#issuer();
      if (commandLine === undefined)
        throw new DomainError('FORBIDDEN', 'command lines cannot sign in here; use an API token');
      const { issuer, id_token_signing_alg_values_supported: offered } = commandLine.serverMetadata();
      const audience = commandLine.clientMetadata().client_id;
      const { payload } = await jwtVerify(idToken, keys, {
        issuer,
        audience,
        algorithms: ALGORITHMS.filter((algorithm) => offered?.includes(algorithm) ?? algorithm === 'RS256'),
        requiredClaims: ['sub', 'iat', 'exp'],
        maxTokenAge: MOST_AGE_OF_ID_TOKEN,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: new Date(this.#nowMs()),
      });
      const isForOthers = Array.isArray(payload.aud) && payload.aud.length > 1 && payload['azp'] !== audience;
      if (isForOthers) throw new joseErrors.JWTClaimValidationFailed('azp is another client', payload, 'azp');
      return this.#signedIn(commandLine, payload, { client: 'commandLine', ...tokens });
    });
  }

  /** Reads again who is in which groups. UNAUTHENTICATED when the issuer does not say it any more. */
  async readAgain(subject: string, grant: IssuerGrant): Promise<SignedIn> {
    return withIssuerErrors(async () => {
      const configuration = (await this.#issuer())[grant.client];
      if (configuration === undefined) throw unauthenticated();
      if (grant.refreshToken === undefined) return this.#signedIn(configuration, { sub: subject }, grant);
      const answer = await oidc.refreshTokenGrant(configuration, grant.refreshToken);
      const claims = answer.claims() ?? { sub: subject };
      if (claims.sub !== subject) throw unauthenticated();
      return this.#signedIn(configuration, claims, {
        client: grant.client,
        refreshToken: answer.refresh_token ?? grant.refreshToken,
        accessToken: answer.access_token,
      });
    });
  }

  /** Groups that the claims do not tell are asked for at the userinfo endpoint; who is in none there either is in none. */
  async #signedIn(configuration: oidc.Configuration, claims: Claims, grant: IssuerGrant): Promise<SignedIn> {
    const reading = { issuer: this.#config.issuerUrl, groupsClaim: this.#config.groupsClaim };
    const identity = identityOf(claims, reading);
    if (identity.groups !== undefined) return { identity: { ...identity, groups: identity.groups }, grant };
    if (grant.accessToken === undefined || configuration.serverMetadata().userinfo_endpoint === undefined) {
      if (claims['iss'] === undefined) throw unauthenticated();
      return { identity: { ...identity, groups: [] }, grant };
    }
    const more = await oidc.fetchUserInfo(configuration, grant.accessToken, identity.subject);
    const { groups = [] } = identityOf(more, reading);
    return { identity: { ...identity, groups }, grant };
  }

  get #callbackUrl(): string {
    return `${this.#config.publicUrl}${CALLBACK_PATH}`;
  }

  /** Asked once in {@link DISCOVERY_LIFETIME_MS}, by one call however many wait for it; a failure is not remembered. */
  #issuer(): Promise<Known> {
    if (this.#known !== undefined && this.#known.untilMs > this.#nowMs()) return Promise.resolve(this.#known);
    this.#asking ??= this.#discover()
      .then((known) => (this.#known = known))
      .finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  async #discover(): Promise<Known> {
    const { issuerUrl, clientId, clientSecret, cliClientId } = this.#config;
    const server = new URL(issuerUrl);
    const insecure = server.protocol === 'http:' ? [oidc.allowInsecureRequests] : [];
    const execute = [...insecure, oidc.enableNonRepudiationChecks];
    const fetch = { [oidc.customFetch]: this.#fetch as unknown as oidc.CustomFetch };
    const timeout = ISSUER_TIMEOUT_MS / 1_000;
    const page = await oidc.discovery(server, clientId, undefined, clientAuthentication(clientSecret), {
      ...fetch,
      execute,
      timeout,
    });
    const metadata = page.serverMetadata();
    const commandLine =
      cliClientId === undefined ? undefined : new oidc.Configuration(metadata, cliClientId, undefined, oidc.None());
    if (commandLine !== undefined) {
      commandLine[oidc.customFetch] = this.#fetch as unknown as oidc.CustomFetch;
      commandLine.timeout = timeout;
      for (const prepare of execute) prepare(commandLine);
    }
    const keys = createRemoteJWKSet(new URL(metadata.jwks_uri ?? issuerUrl), {
      timeoutDuration: ISSUER_TIMEOUT_MS,
      cooldownDuration: JWKS_COOLDOWN_MS,
      cacheMaxAge: JWKS_LIFETIME_MS,
      [joseFetch]: this.#fetch,
    });
    return { page, commandLine, keys, untilMs: this.#nowMs() + DISCOVERY_LIFETIME_MS };
  }
}

/** What went wrong at the issuer as one of three codes; the cause is kept for the log. */
async function withIssuerErrors<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof DomainError) throw error;
    if (isAway(error)) {
      const how = 'try again in a minute, or use an API token';
      throw because(
        error,
        new DomainError('UNAVAILABLE', `the issuer of accounts does not answer at the moment; ${how}`),
      );
    }
    throw unauthenticated(error);
  }
}

function isAway(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof IssuerUnavailable || at instanceof joseErrors.JWKSTimeout) return true;
    if ((at as { code?: unknown }).code === 'OAUTH_TIMEOUT') return true;
  }
  return false;
}

function unauthenticated(cause?: unknown): DomainError {
  return because(cause, new DomainError('UNAUTHENTICATED', 'the issuer does not bear out who you are; sign in again'));
}

function because(cause: unknown, error: DomainError): DomainError {
  error.cause = cause;
  return error;
}

/** As the issuer wishes to be shown the client's secret; as the specification has it where it does not say. */
function clientAuthentication(secret: string | undefined): oidc.ClientAuth {
  if (secret === undefined) return oidc.None();
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];

  return (issuer, client, body, headers) => {
    const isBasic = issuer.token_endpoint_auth_methods_supported?.includes('client_secret_basic') ?? true;
    return (isBasic ? basic : post)(issuer, client, body, headers);
  };
}
