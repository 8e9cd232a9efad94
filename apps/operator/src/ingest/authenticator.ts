import { createHash } from 'node:crypto';
import { resourcePath, type KubeClient } from '@coxswain/kube';

/** The service account, and possibly the pod, of a token. */
export interface Identity {
  /** User name as in the API server, for instance system:serviceaccount:research:default. */
  readonly username: string;
  readonly namespace: string;
  /** The pod that the token is bound to; absent for an unbound token. */
  readonly pod?: { readonly name: string; readonly uid: string };
}

/** Result of a token check. unavailable: the API server did not respond, so the token is neither accepted nor rejected. */
export type Authentication =
  | { readonly kind: 'authenticated'; readonly identity: Identity }
  | { readonly kind: 'refused' }
  | { readonly kind: 'unavailable' };

/** Checks tokens. Empty `audiences` means the audience of the API server. */
export interface Authenticator {
  authenticate(token: string, audiences: readonly string[]): Promise<Authentication>;
}

interface TokenReview {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly audiences?: readonly string[];
    readonly user?: { readonly username?: string; readonly extra?: Readonly<Record<string, readonly string[]>> };
  };
}

const REMEMBER_MS = 30_000;
const REMEMBER_REFUSED_MS = 5_000;
const MAX_REMEMBERED = 20_000;

/** Checks tokens by TokenReview and caches results for up to 30 s by the token's hash, so that many reconnects at once are cheap. */
export class TokenReviewAuthenticator implements Authenticator {
  readonly #client: Pick<KubeClient, 'create'>;
  readonly #monotonicMs: () => number;
  readonly #known = new Map<string, { readonly untilMs: number; readonly answer: Promise<Authentication> }>();

  constructor(options: { readonly client: Pick<KubeClient, 'create'>; readonly clock: { monotonicMs(): number } }) {
    this.#client = options.client;
    this.#monotonicMs = () => options.clock.monotonicMs();
  }

  authenticate(token: string, audiences: readonly string[]): Promise<Authentication> {
    const key = createHash('sha256')
      .update(`${audiences.join(' ')}\n${token}`)
      .digest('base64');
    const known = this.#known.get(key);
    if (known !== undefined && known.untilMs > this.#monotonicMs()) return known.answer;
    const answer = this.#review(token, audiences);
    this.#remember(key, answer, REMEMBER_MS);
    void answer.then(({ kind }) => {
      if (kind === 'unavailable') this.#known.delete(key);
      if (kind === 'refused') this.#remember(key, answer, REMEMBER_REFUSED_MS);
    });
    return answer;
  }

  #remember(key: string, answer: Promise<Authentication>, forMs: number): void {
    this.#known.delete(key);
    this.#known.set(key, { untilMs: this.#monotonicMs() + forMs, answer });
    for (const [oldest, { untilMs }] of this.#known) {
      if (untilMs > this.#monotonicMs() && this.#known.size <= MAX_REMEMBERED) return;
      this.#known.delete(oldest);
    }
  }

  async #review(token: string, audiences: readonly string[]): Promise<Authentication> {
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token, ...(audiences.length === 0 ? {} : { audiences }) },
    };
    const path = resourcePath({ group: 'authentication.k8s.io', version: 'v1', plural: 'tokenreviews' });
    try {
      return toAuthentication(await this.#client.create<TokenReview>(path, body, { lane: 'identity' }), audiences);
    } catch {
      return { kind: 'unavailable' };
    }
  }
}

const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;

function toAuthentication({ status }: TokenReview, audiences: readonly string[]): Authentication {
  const username = status?.user?.username ?? '';
  const namespace = SERVICE_ACCOUNT.exec(username)?.[1];
  if (status?.authenticated !== true || namespace === undefined) return { kind: 'refused' };
  // A server without audience support ignores the audiences, so the audience of the token is unchecked.
  if (audiences.length > 0 && !audiences.some((audience) => status.audiences?.includes(audience))) {
    return { kind: 'refused' };
  }
  const extra = status.user?.extra ?? {};
  const name = extra['authentication.kubernetes.io/pod-name']?.[0];
  const uid = extra['authentication.kubernetes.io/pod-uid']?.[0];
  const pod = name === undefined || uid === undefined ? {} : { pod: { name, uid } };
  return { kind: 'authenticated', identity: { username, namespace, ...pod } };
}
