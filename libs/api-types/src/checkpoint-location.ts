/** Where are checkpoints kept? In a claim or in a bucket, and never in both. */
import { z } from 'zod';
import { POD_ENV } from './names.ts';
import { SecretName, type SecretVariable } from './secret-references.ts';

/** Keys of a Secret that holds the credentials of a bucket. */
const BUCKET_SECRET_KEYS = {
  accessKeyId: 'AWS_ACCESS_KEY_ID',
  secretAccessKey: 'AWS_SECRET_ACCESS_KEY',
} as const;

/** A prefix of a bucket in an S3-compatible store, and how pods reach it. */
export const CheckpointBucket = z
  .strictObject({
    uri: z
      .string()
      .max(512)
      .regex(
        /^s3:\/\/[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9](\/[A-Za-z0-9_=+@-][A-Za-z0-9._=+@-]*)*$/,
        'must be s3://BUCKET or s3://BUCKET/PREFIX, without a slash at its end',
      )
      .describe('Bucket and prefix, such as s3://training/runs. Each job saves below a prefix of its own.'),
    endpoint: z
      .string()
      .max(512)
      .regex(/^https?:\/\/[A-Za-z0-9.:[\]-]+$/, 'must be http://HOST:PORT or https://HOST, without a path')
      .optional()
      .describe('Server of an S3-compatible store that is not AWS, such as http://minio.storage:9000. Absent: AWS.'),
    region: z
      .string()
      .max(64)
      .regex(/^[a-z0-9-]+$/, 'must be the name of a region, such as eu-central-1')
      .optional()
      .describe('Absent: the region of the pod, which AWS sets for a workload identity.'),
    credentialsSecret: SecretName.optional().describe(
      `Secret in the namespace of the job, whose name begins with "job-", with the keys ${Object.values(BUCKET_SECRET_KEYS).join(' and ')}. Absent: the workload identity of the service account that the runtime sets.`,
    ),
  })
  .meta({ id: 'CheckpointBucket' });
export type CheckpointBucket = z.infer<typeof CheckpointBucket>;

/** The variables of the launcher that hold the credentials; none if pods have an identity of their own. */
export function bucketVariables(bucket: CheckpointBucket | undefined): readonly SecretVariable[] {
  const secret = bucket?.credentialsSecret;
  if (secret === undefined) return [];
  return [
    { name: POD_ENV.bucketKeyId, secret, key: BUCKET_SECRET_KEYS.accessKeyId, optional: false },
    { name: POD_ENV.bucketKey, secret, key: BUCKET_SECRET_KEYS.secretAccessKey, optional: false },
  ];
}

/** How the launcher reaches a bucket; the credentials are in variables of their own. */
export const BucketAccess = CheckpointBucket.omit({ credentialsSecret: true });
export type BucketAccess = z.infer<typeof BucketAccess>;

/** A claim or a bucket. A Checkpoint in a bucket has an empty claim name, so that the release before can read the object. */
export interface CheckpointLocation {
  readonly claimName?: string | undefined;
  readonly bucket?: CheckpointBucket | undefined;
}

export const ONE_LOCATION = 'give either claimName or bucket';

/** The location as the spec of a Checkpoint records it. */
export function recordedLocation({ claimName = '', bucket }: CheckpointLocation): {
  readonly claimName: string;
  readonly bucket?: CheckpointBucket;
} {
  return bucket === undefined ? { claimName } : { claimName: '', bucket };
}

/** Whether exactly one of claim and bucket is given. */
export function isOneLocation({ claimName, bucket }: CheckpointLocation): boolean {
  return isGiven(claimName) !== (bucket !== undefined);
}

/** `claim tiny` or `bucket s3://training/runs`, for sentences. */
export function describeLocation({ claimName = '', bucket }: CheckpointLocation): string {
  return bucket === undefined ? `claim ${claimName}` : `bucket ${bucket.uri}`;
}

/** `tiny/run/epoch-1` or `s3://training/runs/run/epoch-1`, for tables and logs. */
export function formatPlace({ claimName = '', bucket }: CheckpointLocation, path: string): string {
  return [bucket?.uri ?? claimName, path].filter((part) => part !== '').join('/');
}

function isGiven(claimName: string | undefined): boolean {
  return claimName !== undefined && claimName !== '';
}
