import type { CodeBucket } from '@coxswain/api-types';
import type { CheckpointStore } from '@coxswain/checkpoint-store';

/** Memory of an upload: a part that fills while the one before is sent. 5 MiB is the smallest part of AWS. */
const PART_BYTES = 5 << 20;

/** The bucket for archives of code. Nothing is read yet. */
export async function openCodeStore({ uri, credentials, ...options }: CodeBucket): Promise<CheckpointStore> {
  // Loaded when it is needed: most of an API's replicas write no archive.
  const { openStore } = await import('@coxswain/checkpoint-store/buckets');
  // The SDK writes into the credentials that it is given, and the configuration is frozen.
  return await openStore(uri, { ...options, credentials: { ...credentials }, partBytes: PART_BYTES });
}
