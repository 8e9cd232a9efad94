import { type CodeBucket, codeBucketOf, CodeBucketVariables } from '@coxswain/api-types';
import { z } from 'zod';
import { limit } from './replica-config.ts';

/** Variables about archives of code. */
export const CodeEnvironment = CodeBucketVariables.extend({
  COXSWAIN_PROJECT_MAX_CODE_MIB: limit(10_240).describe('Archives of code of one project, together; 0: no limit.'),
  COXSWAIN_CODE_DAYS: z.coerce
    .number()
    .int()
    .min(1)
    .max(36_500)
    .default(30)
    .describe('After how many days an archive of code is removed that no job of the cluster names.'),
});

/** Where archives are kept, for how long after their last use, and most of one project (0: no limit). */
export interface CodeConfig {
  /** Undefined: jobs have no code of their own. */
  readonly bucket: CodeBucket | undefined;
  readonly days: number;
  readonly projectMib: number;
}

export function codeConfigOf(values: z.infer<typeof CodeEnvironment>): CodeConfig {
  return {
    bucket: codeBucketOf(values),
    days: values.COXSWAIN_CODE_DAYS,
    projectMib: values.COXSWAIN_PROJECT_MAX_CODE_MIB,
  };
}
