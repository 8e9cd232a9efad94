/** What errors of the AWS SDK mean, and what a user can do. */
import { StoreError } from '../store-error.ts';

/** What was asked for. */
export interface S3Place {
  readonly location: string;
  readonly bucket: string;
  /** undefined: AWS itself. */
  readonly endpoint: string | undefined;
}

const NO_CREDENTIALS = new Set(['CredentialsProviderError', 'TokenProviderError']);
const REJECTED_KEYS = new Set([
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
  'ExpiredToken',
  'InvalidToken',
  'AuthFailure',
]);
const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'ECONNRESET',
  'EPIPE',
  'EPROTO',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'CERT_HAS_EXPIRED',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** The error as a user can act on it. `doing`: the verb, such as `read shard-0`. */
export function storeErrorOf(error: unknown, doing: string, place: S3Place): StoreError {
  if (error instanceof StoreError) return error;
  const { location, bucket, endpoint } = place;
  const { name, code, status, message } = partsOf(error);
  const made = (kind: StoreError['kind'], text: string): StoreError => new StoreError(kind, text, { cause: error });
  const server = endpoint ?? 'AWS';
  if (NO_CREDENTIALS.has(name))
    return made(
      'NoCredentials',
      `Cannot ${doing} in ${location}: no credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.`,
    );
  if (message.includes('Region is missing'))
    return made('NoCredentials', `Cannot ${doing} in ${location}: no region is set. Set AWS_REGION, or use --region.`);
  if (name === 'NoSuchBucket')
    return made(
      'NotFound',
      `Bucket ${bucket} does not exist at ${server}. Check its name${endpoint === undefined ? ', or set AWS_ENDPOINT_URL if it is not on AWS' : ' and AWS_ENDPOINT_URL'}.`,
    );
  if (REJECTED_KEYS.has(name))
    return made(
      'AccessDenied',
      `${server} rejects the credentials for ${location} (${name}). Renew them, or choose others with AWS_PROFILE.`,
    );
  if (status === 403)
    return made(
      'AccessDenied',
      `${server} denies access to ${doing} in ${location}. The credentials need ${rightFor(doing)} on bucket ${bucket}.`,
    );
  if (status === 404) return made('NotFound', `Cannot ${doing} in ${location}: it does not exist (any more).`);
  if (status === 301 || status === 307 || (status === 400 && name === 'AuthorizationHeaderMalformed'))
    return made('Other', `Bucket ${bucket} is in another region. Set AWS_REGION, or use --region (${message}).`);
  if (UNREACHABLE.has(code) || name === 'TimeoutError' || UNREACHABLE.has(name))
    return made(
      'Unreachable',
      `Cannot ${doing} in ${location}: ${server} does not answer (${code === '' ? message : code}). Check the network${endpoint === undefined ? '' : ' and AWS_ENDPOINT_URL'}, then try again.`,
    );
  return made('Other', `Cannot ${doing} in ${location}: ${server} answered ${name}: ${message}`);
}

/** The action of an S3 policy. */
function rightFor(doing: string): string {
  const verb = doing.split(' ', 1)[0] ?? '';
  return (
    { list: 's3:ListBucket', read: 's3:GetObject', write: 's3:PutObject', delete: 's3:DeleteObject' }[verb] ??
    'more rights'
  );
}

function partsOf(error: unknown): { name: string; code: string; status: number | undefined; message: string } {
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
