/** What errors of the AWS SDK mean, and what a user can do. */
import { StoreError, type StoreErrorKind } from '../store-error.ts';

/** What was asked for. */
export interface S3Place {
  readonly location: string;
  readonly bucket: string;
  /** undefined: AWS itself. */
  readonly endpoint: string | undefined;
}

/** An error with what the SDK attaches to it. */
interface SdkError {
  readonly name: string;
  /** Of the system, such as ECONNREFUSED; '' if there is none. */
  readonly code: string;
  readonly status: number | undefined;
  readonly message: string;
}

/** What was tried, for messages. `doing`: such as `read shard-0`. `server`: its address, or AWS. */
interface Attempt extends S3Place {
  readonly doing: string;
  readonly server: string;
}

/** One kind of error. */
interface Meaning {
  readonly kind: StoreErrorKind;
  readonly matches: (error: SdkError) => boolean;
  readonly text: (attempt: Attempt, error: SdkError) => string;
}

const REJECTED_KEYS = new Set([
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
  'ExpiredToken',
  'InvalidToken',
  'AuthFailure',
]);

/** The first that matches counts. */
const MEANINGS: readonly Meaning[] = [
  {
    kind: 'NoCredentials',
    matches: ({ name }) => name === 'CredentialsProviderError' || name === 'TokenProviderError',
    text: ({ doing, location }) =>
      `Cannot ${doing} in ${location}: no credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.`,
  },
  {
    kind: 'NoCredentials',
    matches: ({ message }) => message.includes('Region is missing'),
    text: ({ doing, location }) => `Cannot ${doing} in ${location}: no region is set. Set AWS_REGION, or use --region.`,
  },
  {
    kind: 'NotFound',
    matches: ({ name }) => name === 'NoSuchBucket',
    text: ({ bucket, server, endpoint }) =>
      `Bucket ${bucket} does not exist at ${server}. Check its name${endpoint === undefined ? ', or set AWS_ENDPOINT_URL if it is not on AWS' : ' and AWS_ENDPOINT_URL'}.`,
  },
  {
    kind: 'AccessDenied',
    matches: ({ name }) => REJECTED_KEYS.has(name),
    text: ({ server, location }, { name }) =>
      `${server} rejects the credentials for ${location} (${name}). Renew them, or choose others with AWS_PROFILE.`,
  },
  {
    kind: 'AccessDenied',
    matches: ({ status }) => status === 403,
    text: ({ server, doing, location, bucket }) =>
      `${server} denies access to ${doing} in ${location}. The credentials need ${rightFor(doing)} on bucket ${bucket}.`,
  },
  {
    kind: 'NotFound',
    matches: ({ status }) => status === 404,
    text: ({ doing, location }) => `Cannot ${doing} in ${location}: it does not exist, or was deleted. List it again.`,
  },
  {
    kind: 'Other',
    matches: ({ status, name }) => status === 301 || status === 307 || name === 'AuthorizationHeaderMalformed',
    text: ({ bucket }, { message }) =>
      `Bucket ${bucket} is in another region. Set AWS_REGION, or use --region (${message}).`,
  },
  {
    kind: 'Unreachable',
    // Without an answer of the server there is no status.
    matches: ({ status, code, name }) => status === undefined && (code !== '' || name === 'TimeoutError'),
    text: ({ doing, location, server, endpoint }, { code, message }) =>
      `Cannot ${doing} in ${location}: ${server} does not answer (${code === '' ? message : code}). Check the network${endpoint === undefined ? '' : ' and AWS_ENDPOINT_URL'}, then try again.`,
  },
];

const OTHER: Meaning = {
  kind: 'Other',
  matches: () => true,
  text: ({ doing, location, server }, { name, message }) =>
    `Cannot ${doing} in ${location}: ${server} answered ${name}: ${message}`,
};

/** An error of the SDK as a user can act on it; any other error as it is. `doing`: verb and object, such as `read shard-0`. */
export function storeErrorOf(error: unknown, doing: string, place: S3Place): unknown {
  if (error instanceof StoreError || !isOfSdk(error)) return error;
  const parts = partsOf(error);
  const meaning = MEANINGS.find(({ matches }) => matches(parts)) ?? OTHER;
  const text = meaning.text({ ...place, doing, server: place.endpoint ?? 'AWS' }, parts);
  return new StoreError(meaning.kind, text, { cause: error });
}

/** The SDK notes on every error how often it tried; what it cannot even try, it names. */
function isOfSdk(error: unknown): boolean {
  const { name, message } = partsOf(error);
  return (
    (typeof error === 'object' && error !== null && '$metadata' in error) ||
    name === 'CredentialsProviderError' ||
    name === 'TimeoutError' ||
    message.includes('Region is missing') ||
    (error instanceof Error && 'code' in error)
  );
}

/** The action of an S3 policy. */
function rightFor(doing: string): string {
  const verb = doing.split(' ', 1)[0] ?? '';
  return (
    { list: 's3:ListBucket', read: 's3:GetObject', write: 's3:PutObject', delete: 's3:DeleteObject' }[verb] ??
    'more rights'
  );
}

function partsOf(error: unknown): SdkError {
  if (!(error instanceof Error)) return { name: '', code: '', status: undefined, message: String(error) };
  const { $metadata, code } = error as { $metadata?: { httpStatusCode?: number }; code?: unknown };
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  const nested = first === undefined ? undefined : partsOf(first);
  return {
    name: error.name,
    code: typeof code === 'string' ? code : (nested?.code ?? ''),
    status: $metadata?.httpStatusCode,
    message: error.message === '' ? (nested?.message ?? error.name) : error.message,
  };
}
