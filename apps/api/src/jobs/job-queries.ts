import { JOB_DETAILS, JobState } from '@coxswain/api-types';
import { z } from 'zod';
import { pageQuery } from '../http/page-query.ts';
import { MAX_HISTORY } from './job-history.service.ts';

const whole = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** Which jobs of a project: query parameters of REST, arguments of GraphQL. */
export const JobsQuery = z.strictObject({
  ...pageQuery,
  state: JobState.or(z.enum(['Submitting', 'Refused', 'Deleting', 'Deleted'])).optional(),
  fields: z
    .string()
    .default('')
    .transform((text) => text.split(',').filter((name) => name !== ''))
    .pipe(z.array(z.enum(JOB_DETAILS)).max(JOB_DETAILS.length))
    .describe('What each item holds beside its summary: spec, plan, attempts, conditions, separated by commas.'),
});
export type JobsQuery = z.infer<typeof JobsQuery>;

/** Which events of a job: those after an id. */
export const EventsQuery = z.strictObject({ after: whole.default(0) });
export type EventsQuery = z.infer<typeof EventsQuery>;

const DEFAULT_STEPS = 2_000;

/** Which part of a loss curve. */
export const StepsQuery = z.strictObject({
  epoch: z.coerce.number().int().min(0).max(2_147_483_647).optional(),
  fromStep: whole.default(0),
  limit: z.coerce.number().int().min(1).max(MAX_HISTORY).default(DEFAULT_STEPS),
});
export type StepsQuery = z.infer<typeof StepsQuery>;

/** Most steps that are answered to it; the rule itself is held later. */
export function stepRows({ limit }: { readonly limit?: number | null }): number {
  return Math.min(limit ?? DEFAULT_STEPS, MAX_HISTORY);
}
