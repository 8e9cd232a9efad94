import {
  COMMAND_LINE_SESSION_HOURS,
  type SignInMethods,
  type SignInToken,
  type SignInTrade,
} from '@coxswain/api-types';
import { DomainError, isDomainError } from '@coxswain/domain-error';
import { systemClock } from '@coxswain/kube';
import type { Database } from '@coxswain/persistence';
import type { Logger } from '@coxswain/telemetry';
import { TurnGate } from '@coxswain/units';
import { Inject, Injectable } from '@nestjs/common';
import { Authenticator } from '../auth/authenticator.ts';
import type { Credential } from '../auth/credential.ts';
import type { Denials } from '../auth/denials.ts';
import type { RequestOrigin } from '../auth/request-origin.ts';
import { beginSession, endSession, type NewSession, type SessionBegun, sha256OfSigned } from '../auth/sessions.ts';
import type { Config } from '../config/config.ts';
import { CALLBACK_PATH, Issuer, type SignedIn } from '../identity/issuer.ts';
import {
  CLOCK,
  CLUSTER,
  type Cluster,
  CONFIG,
  DENIALS,
  LOGGER,
  SIGN_IN_DATABASE,
  SIGN_IN_KEY,
  type WallClock,
} from '../infrastructure/tokens.ts';
import { clientNetwork } from '../http/client-network.ts';
import { afterWaiting, resumeRequest } from '../limits/request-cpu.ts';
import { ownAddress, PENDING_SECONDS, sealPending, unsealPending } from './pending-sign-in.ts';
import { SpentOnce } from './spent-once.ts';

const HOUR_MS = 3_600_000;
/** States and ID tokens that were used. One is 64 bytes, so all are about 2 MB. */
const MOST_SPENT = 20_000;
/**
 * Calls to the issuer for people who come in: of 20 in all, six are left for sessions whose groups are read again. Most of one client are few, so that a stranger who
 * makes the issuer slow keeps no one else out.
 */
const TURNS = {
  places: 14,
  ofTenant: 2,
  ofMember: 2,
  slow: 0,
  slowOfTenant: 0,
  waiting: 200,
  waitingOfTenant: 20,
  quickInARow: 0,
} as const;
const TURN_WAIT_MS = 5_000;

/** Why somebody who came back from the issuer is not signed in; the page has a sentence for each. */
type SignInProblem = 'start-again' | 'refused' | 'no-role' | 'unavailable';

const PROBLEMS: Partial<Record<DomainError['code'], SignInProblem>> = {
  FORBIDDEN: 'no-role',
  UNAVAILABLE: 'unavailable',
};

/** How going to the issuer begins. */
type SignInStart =
  | { readonly kind: 'issuer'; readonly url: string; readonly cookie: string }
  | { readonly kind: 'not'; readonly problem: SignInProblem };

/** How coming back from the issuer ends. */
type SignInEnd =
  | { readonly kind: 'signed-in'; readonly token: string; readonly maxAgeSeconds: number; readonly returnTo: string }
  | { readonly kind: 'not'; readonly problem: SignInProblem };

/** People sign in with an account of the issuer: for the page, or for a command line. */
@Injectable()
export class SignInService {
  readonly #database: Database;
  readonly #cluster: Cluster;
  readonly #clock: WallClock;
  readonly #signIn: Config['signIn'];
  readonly #logger: Logger;
  readonly #key: Uint8Array;
  readonly #issuer: Issuer | null;
  readonly #authenticator: Authenticator;
  readonly #denials: Pick<Denials, 'note'>;
  readonly #spent = new SpentOnce({ most: MOST_SPENT, forMs: PENDING_SECONDS * 1_000 });
  readonly #turns = new TurnGate({
    bounds: TURNS,
    waitMs: TURN_WAIT_MS,
    setTimer: systemClock.setTimer,
    busy: tooManySignIn,
  });

  // eslint-disable-next-line max-params -- what is injected is chosen by its token, not by its place
  constructor(
    @Inject(SIGN_IN_DATABASE) database: Database,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(CLOCK) clock: WallClock,
    @Inject(CONFIG) config: Config,
    @Inject(LOGGER) logger: Logger,
    @Inject(SIGN_IN_KEY) key: Uint8Array,
    @Inject(Issuer) issuer: Issuer | null,
    @Inject(Authenticator) authenticator: Authenticator,
    @Inject(DENIALS) denials: Pick<Denials, 'note'>,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#clock = clock;
    this.#signIn = config.signIn;
    this.#logger = logger;
    this.#key = key;
    this.#issuer = issuer;
    this.#authenticator = authenticator;
    this.#denials = denials;
  }

  methods(): SignInMethods {
    const { issuerUrl = null, cliClientId: clientId, scopes } = this.#signIn ?? {};
    const commandLine = clientId === undefined || scopes === undefined ? null : { clientId, scopes };
    return { issuer: issuerUrl, commandLine };
  }

  /** Where the browser goes, and the cookie that it brings back; a person who clicked sees the page say why it is not the issuer. NOT_FOUND without one. */
  async start(returnTo: string | undefined): Promise<SignInStart> {
    const issuer = this.#required();
    try {
      const { url, pending } = await afterWaiting(issuer.begin());
      const sealing = { key: this.#key, now: this.#clock.now() };
      const cookie = await sealPending({ ...pending, returnTo: ownAddress(returnTo) }, sealing);
      return { kind: 'issuer', url: url.href, cookie };
    } catch (error) {
      return { kind: 'not', problem: this.#problemOf(error) };
    }
  }

  /** `search` is the query of the request with which the browser came back. The page answers it, so a failure is recorded in the audit here. */
  async finish(search: string, cookie: string | undefined, origin: RequestOrigin): Promise<SignInEnd> {
    const issuer = this.#required();
    const now = this.#clock.now();
    const pending = await unsealPending(cookie, { key: this.#key, now });
    try {
      if (pending === undefined) throw new DomainError('UNAUTHENTICATED', 'no sign-in is under way in this browser');
      this.#spendOrReject(pending.state, now);
      const maxAgeSeconds = (this.#signIn?.sessionHours ?? 0) * 3_600;
      const expiresAt = new Date(now.getTime() + maxAgeSeconds * 1_000);
      const { token } = await this.#inTurn(origin, async () =>
        this.#begin(await afterWaiting(issuer.finish(search, pending)), { kind: 'page', expiresAt, origin }),
      );
      return { kind: 'signed-in', token, maxAgeSeconds, returnTo: pending.returnTo };
    } catch (error) {
      this.#denials.note(error, { principal: undefined, origin, object: CALLBACK_PATH });
      // Anybody can open the address: that is worth a count, not a line each.
      if (pending === undefined) return { kind: 'not', problem: 'start-again' };
      return { kind: 'not', problem: this.#problemOf(error) };
    }
  }

  /** A token of ours for what the issuer gave to a command line. */
  async trade({ idToken, accessToken, refreshToken }: SignInTrade, origin: RequestOrigin): Promise<SignInToken> {
    const now = this.#clock.now();
    const expiresAt = new Date(now.getTime() + COMMAND_LINE_SESSION_HOURS * HOUR_MS);
    const issuer = this.#required();
    const key = sha256OfSigned(idToken).toString('base64');
    try {
      this.#spendOrReject(key, now);
      const { token, name } = await this.#inTurn(origin, async () => {
        const signedIn = await afterWaiting(issuer.verify(idToken, { accessToken, refreshToken }));
        return this.#begin(signedIn, { kind: 'commandLine', expiresAt, origin, idToken });
      });
      return { token, name, expiresAt: expiresAt.toISOString() };
    } catch (error) {
      // The command line can repeat it when the issuer or the database answers again.
      if (!isDomainError(error) || error.code === 'UNAVAILABLE') this.#spent.giveBack(key);
      if (isDomainError(error)) this.#recordDenial(error);
      throw error;
    }
  }

  /** Ends the session that the credential is of, here at once and at other replicas within 2 s. INVALID_REQUEST for a token, which is revoked. */
  async end(credential: Credential | undefined, origin: RequestOrigin): Promise<void> {
    const { principal, sessionId } = await this.#authenticator.identify(credential);
    if (sessionId === undefined || credential === undefined) {
      throw new DomainError(
        'INVALID_REQUEST',
        'an API token has no session to end; `coxswain token revoke` ends the token',
      );
    }
    await this.#database.transaction((sql) =>
      endSession(sql, { id: sessionId, principal: { ...principal, origin }, why: 'asked' }),
    );
    this.#authenticator.forget(credential);
  }

  /** What was tried once is not tried again, whatever came of it: each try costs a call to the issuer. */
  #spendOrReject(key: string, now: Date): void {
    if (this.#spent.spend(key, now.getTime())) return;
    throw new DomainError('UNAUTHENTICATED', 'this sign-in was used before; sign in again');
  }

  #inTurn<T>({ sourceAddress }: RequestOrigin, signIn: () => Promise<T>): Promise<T> {
    const client = clientNetwork(sourceAddress);
    return this.#turns.pass({ tenant: client, member: client, isSlow: false }, () => {
      resumeRequest();
      return signIn();
    });
  }

  #begin(
    signedIn: SignedIn,
    wanted: Pick<NewSession, 'kind' | 'expiresAt' | 'origin' | 'idToken'>,
  ): Promise<SessionBegun> {
    const { adminGroup } = this.#signIn ?? {};
    return beginSession(this.#database, { ...wanted, clusterId: this.#cluster.id, signedIn, adminGroup });
  }

  #problemOf(error: unknown): SignInProblem {
    if (!isDomainError(error)) throw error;
    this.#recordDenial(error);
    return PROBLEMS[error.code] ?? 'refused';
  }

  /** The log has the reason; the answer to the caller has less. */
  #recordDenial(error: DomainError): void {
    const cause = error.cause instanceof Error ? error.cause : undefined;
    this.#logger.warn({ code: error.code, reason: cause?.message ?? error.message }, 'somebody could not sign in');
  }

  #required(): Issuer {
    if (this.#issuer !== null) return this.#issuer;
    throw new DomainError('NOT_FOUND', 'no issuer of accounts is configured here; use an API token');
  }
}

function tooManySignIn(): DomainError {
  return new DomainError('UNAVAILABLE', 'too many people sign in at the moment; try again in a few seconds');
}
