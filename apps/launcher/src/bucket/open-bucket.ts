import { mkdir } from 'node:fs/promises';
import { POD_ENV } from '@coxswain/api-types';
import { type CheckpointStore, openStore } from '@coxswain/checkpoint-store';
import type { Settings } from '../program/settings.ts';
import { BucketSaves } from './bucket-saves.ts';

type Variables = Readonly<Record<string, string | undefined>>;

/** The saves of a job that keeps its checkpoints in a bucket; undefined: it keeps them in a claim, or keeps none. */
export async function openBucket(
  { bucket, checkpointMount }: Pick<Settings, 'bucket' | 'checkpointMount'>,
  logLine: (sentence: string) => void,
): Promise<BucketSaves | undefined> {
  if (bucket === undefined) return undefined;
  await mkdir(checkpointMount, { recursive: true });
  return new BucketSaves({
    bucket: await openBucketStore(bucket),
    disk: await openStore(checkpointMount, {}),
    logLine,
  });
}

/** The bucket itself. */
export async function openBucketStore({
  uri,
  endpoint,
  region,
  credentials,
}: NonNullable<Settings['bucket']>): Promise<CheckpointStore> {
  return await openStore(uri, { endpoint, region, ...(credentials === undefined ? {} : { credentials }) });
}

/** Without the credentials of the bucket: ranks do not need them, and may have others for their data. */
export function withoutBucketKeys(environment: Variables): Variables {
  const { [POD_ENV.bucketKeyId]: _id, [POD_ENV.bucketKey]: _key, ...rest } = environment;
  return rest;
}
