/** Where do the API and the operator keep archives of code? In one bucket that an administrator names. */
import { z } from 'zod';
import { CheckpointBucket } from './checkpoint-location.ts';

/** Variables of both programs. */
export const CodeBucketVariables = z.object({
  COXSWAIN_CODE_BUCKET_URI: CheckpointBucket.shape.uri
    .optional()
    .describe(
      'Bucket and prefix for archives of code, such as s3://training/code. Unset: jobs have no code of their own.',
    ),
  COXSWAIN_CODE_BUCKET_ENDPOINT: CheckpointBucket.shape.endpoint.describe(
    'Server of an S3-compatible store, as pods reach it. Unset: AWS.',
  ),
  COXSWAIN_CODE_BUCKET_REGION: CheckpointBucket.shape.region.describe('Region of the bucket. Unset: us-east-1.'),
  COXSWAIN_CODE_BUCKET_KEY_ID: z.string().min(1).max(256).optional().describe('AWS_ACCESS_KEY_ID of the bucket.'),
  COXSWAIN_CODE_BUCKET_KEY: z.string().min(1).max(256).optional().describe('AWS_SECRET_ACCESS_KEY of the bucket.'),
});

/** The bucket, and the credentials that write and sign. */
export interface CodeBucket {
  readonly uri: string;
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

/** Undefined: none is named. Throws if one is named without credentials. */
export function codeBucketOf(env: z.infer<typeof CodeBucketVariables>): CodeBucket | undefined {
  const {
    COXSWAIN_CODE_BUCKET_URI: uri,
    COXSWAIN_CODE_BUCKET_KEY_ID: accessKeyId,
    COXSWAIN_CODE_BUCKET_KEY: secretAccessKey,
  } = env;
  if (uri === undefined) return undefined;
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new Error(
      'COXSWAIN_CODE_BUCKET_URI needs COXSWAIN_CODE_BUCKET_KEY_ID and COXSWAIN_CODE_BUCKET_KEY: set both, or leave the bucket out',
    );
  return {
    uri,
    endpoint: env.COXSWAIN_CODE_BUCKET_ENDPOINT,
    region: env.COXSWAIN_CODE_BUCKET_REGION,
    credentials: { accessKeyId, secretAccessKey },
  };
}
