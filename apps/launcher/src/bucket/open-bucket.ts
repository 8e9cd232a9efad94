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
  const store = await openBucketStore(bucket);
  if (store === undefined) return undefined;
  await mkdir(checkpointMount, { recursive: true });
  return new BucketSaves({ bucket: store, disk: await openStore(checkpointMount, {}), logLine });
}

/** The bucket itself; undefined: there is none. */
export async function openBucketStore(bucket: Settings['bucket']): Promise<CheckpointStore | undefined> {
  if (bucket === undefined) return undefined;
  const { uri, endpoint, region, credentials } = bucket;
  return await openStore(uri, { endpoint, region, ...(credentials === undefined ? {} : { credentials }) });
}

/** Without the credentials of the bucket: ranks do not need them, and may have others for their data. */
export function withoutBucketKeys(environment: Variables): Variables {
  const { [POD_ENV.bucketKeyId]: _id, [POD_ENV.bucketKey]: _key, ...rest } = environment;
  return rest;
}
