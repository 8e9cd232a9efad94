import { createHash, createHmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';
import { parseLocation } from '../store-location.ts';
import { StoreError } from '../store-error.ts';

/** A bucket, and the key that signs. */
export interface SigningBucket {
  /** `s3://BUCKET/PREFIX`. */
  readonly uri: string;
  /** Absent: AWS. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

/** AWS takes no longer one. */
const MAX_SECONDS = 7 * 86_400;
const DEFAULT_REGION = 'us-east-1';
const PAYLOAD = 'x-amz-content-sha256';

/**
 * A URL by which anyone can read the file at `path` below the prefix for `seconds`, and nothing else. Made without a request: whether the file exists is not known.
 */
export async function signReadUrl(
  bucket: SigningBucket,
  { path, seconds, signedAt }: { readonly path: string; readonly seconds: number; readonly signedAt: Date },
): Promise<string> {
  const place = parseLocation(bucket.uri);
  if (place.kind !== 'bucket')
    throw new StoreError('InvalidLocation', `${bucket.uri} is no bucket. Use s3://BUCKET/PREFIX.`);
  const region = bucket.region ?? DEFAULT_REGION;
  const key = [place.prefix, path].filter((part) => part !== '').join('/');
  const base = addressOf(place.bucket, bucket);
  const signer = new SignatureV4({
    service: 's3',
    region,
    credentials: { ...bucket.credentials },
    sha256: Sha256,
    // The keys of S3 are escaped once.
    uriEscapePath: false,
    applyChecksum: false,
  });
  const request = {
    method: 'GET',
    protocol: base.protocol,
    hostname: base.hostname,
    ...(base.port === '' ? {} : { port: Number(base.port) }),
    path: `${base.pathname.replace(/\/+$/, '')}/${key.split('/').map(encodeURIComponent).join('/')}`,
    query: {},
    headers: { host: base.host, [PAYLOAD]: 'UNSIGNED-PAYLOAD' },
  };
  const { path: signedPath, query = {} } = await signer.presign(request, {
    expiresIn: Math.min(seconds, MAX_SECONDS),
    signingDate: signedAt,
    // It says what is signed, and is itself no part of the request.
    unsignableHeaders: new Set([PAYLOAD]),
    unhoistableHeaders: new Set([PAYLOAD]),
  });
  return `${base.origin}${signedPath}?${new URLSearchParams(query as Record<string, string>).toString().replaceAll('+', '%20')}`;
}

/** Buckets of AWS are addressed by host, unless their name has a dot, which no certificate covers; others by path. */
function addressOf(name: string, { endpoint, region }: SigningBucket): URL {
  if (endpoint !== undefined) return new URL(`${endpoint}/${name}`);
  const host = region === undefined ? 's3.amazonaws.com' : `s3.${region}.amazonaws.com`;
  return new URL(name.includes('.') ? `https://${host}/${name}` : `https://${name}.${host}`);
}

type Bytes = string | ArrayBuffer | ArrayBufferView;

/** As the signer wants its hash. */
class Sha256 {
  readonly #hash: ReturnType<typeof createHash> | ReturnType<typeof createHmac>;

  constructor(secret?: Bytes) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', toBuffer(secret));
  }

  update(chunk: Bytes): void {
    this.#hash.update(toBuffer(chunk));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  reset(): void {
    throw new Error('a hash is used once');
  }
}

function toBuffer(bytes: Bytes): Buffer {
  if (typeof bytes === 'string') return Buffer.from(bytes, 'utf8');
  return ArrayBuffer.isView(bytes) ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) : Buffer.from(bytes);
}
