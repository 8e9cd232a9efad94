import { type JobLink, JobLinks, LogLink } from '@coxswain/api-types';
import { z } from 'zod';

/** A variable that may be absent, and holds JSON. */
export function jsonOf<T>(schema: z.ZodType<T>) {
  return z
    .string()
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        context.addIssue({ code: 'custom', message: 'must be JSON' });
        return z.NEVER;
      }
    })
    .pipe(schema)
    .optional();
}

/** Variables with links from the page of a job to other systems. */
export const LinkEnvironment = z.object({
  COXSWAIN_LOG_LINK: LogLink.optional(),
  COXSWAIN_JOB_LINKS: jsonOf(JobLinks).describe(
    'Links from the page of a job to other systems, as JSON: [{"title": "TensorBoard", "template": "https://…/{uid}"}]. {project}, {namespace}, {job}, {uid} and {attempt} are replaced. Unset: none.',
  ),
});

/** Templates of links to other systems. */
export interface LinkConfig {
  /** To the whole log. */
  readonly logLink: string | undefined;
  readonly jobLinks: readonly JobLink[];
}

export function linkConfigOf(values: z.infer<typeof LinkEnvironment>): LinkConfig {
  return { logLink: values.COXSWAIN_LOG_LINK, jobLinks: values.COXSWAIN_JOB_LINKS ?? [] };
}
