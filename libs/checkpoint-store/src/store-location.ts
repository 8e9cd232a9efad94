import { StoreError } from './store-error.ts';

/** Where saves are. */
export type StoreLocation =
  | { readonly kind: 'directory'; readonly path: string }
  | { readonly kind: 'bucket'; readonly bucket: string; readonly prefix: string };

/** As S3 allows them, and older buckets with upper case and underscores. */
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$/;

/**
 * The place that `text` names: a directory, or `s3://bucket/prefix`.
 * @throws StoreError if it is a URL of another kind, or names no valid bucket.
 */
export function parseLocation(text: string): StoreLocation {
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]+):\/\/(.*)$/i.exec(text) ?? [];
  if (scheme === undefined) return { kind: 'directory', path: text };
  if (scheme.toLowerCase() !== 's3')
    throw new StoreError(
      'InvalidLocation',
      `${text} is neither a directory nor a bucket: ${scheme}:// is not supported. Use a path, or s3://BUCKET/PREFIX with AWS_ENDPOINT_URL for another S3-compatible store.`,
    );
  const [bucket = '', ...prefix] = rest.split('/');
  if (!BUCKET.test(bucket))
    throw new StoreError('InvalidLocation', `${text} names no valid bucket. Use s3://BUCKET/PREFIX.`);
  return { kind: 'bucket', bucket, prefix: prefix.join('/').replace(/^\/+|\/+$/g, '') };
}
