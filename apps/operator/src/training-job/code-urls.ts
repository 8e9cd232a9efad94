import { type CodeBucket, codePathOf, type TrainingJob } from '@coxswain/api-types';

/** A pod may wait for its image; each attempt has a new URL. */
const URL_SECONDS = 86_400;

/**
 * Signs a URL for the code of a job. The path has the namespace of the job, so a job reads only what was uploaded for its namespace, whatever digest its spec names.
 */
export function codeUrls(
  bucket: CodeBucket,
  clock: { now(): Date },
): ({ metadata, spec }: TrainingJob) => Promise<string | undefined> {
  return async ({ metadata, spec }) => {
    if (spec.code === undefined) return undefined;
    // Loaded when a job needs it: most operators sign nothing.
    const { signReadUrl } = await import('@coxswain/checkpoint-store/buckets');
    const path = codePathOf(metadata.namespace ?? '', spec.code.sha256);
    return await signReadUrl(bucket, { path, seconds: URL_SECONDS, signedAt: clock.now() });
  };
}
