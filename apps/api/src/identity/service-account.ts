/** An account of Kubernetes, as the API server says it. */
export interface ServiceAccount {
  /** `system:serviceaccount:NAMESPACE:NAME`. */
  readonly username: string;
  readonly groups: readonly string[];
}

/** The answer to a TokenReview, as far as it is read. */
export interface TokenReview {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly audiences?: readonly string[];
    readonly user?: { readonly username?: string; readonly groups?: readonly string[] };
  };
}

const SERVICE_ACCOUNT = /^system:serviceaccount:[a-z0-9-]{1,63}:[a-z0-9.-]{1,253}$/;
/** Kubernetes gives an account three. */
const MAX_GROUPS = 20;
const MAX_GROUP_LENGTH = 256;

/** The service account of a token; undefined if it is invalid, belongs to no service account, or has another audience. */
export function serviceAccountOf({ status }: TokenReview, audience: string): ServiceAccount | undefined {
  const { username = '', groups = [] } = status?.user ?? {};
  if (status?.authenticated !== true || !SERVICE_ACCOUNT.test(username)) return undefined;
  // An API server that knows no audiences ignores the question: then nobody has checked for whom the token was made.
  if (status.audiences?.includes(audience) !== true) return undefined;
  if (groups.length > MAX_GROUPS || groups.some(({ length }) => length > MAX_GROUP_LENGTH)) return undefined;
  return { username, groups };
}
