import { JOB_DETAILS, JOB_ORDERS, JobState } from '@coxswain/api-types';
import { z } from 'zod';
import { pageQuery } from '../http/page-query.ts';
import { DEFAULT_STEPS } from '../curves/curve-reader.ts';
import { MAX_HISTORY } from './job-history.service.ts';
import { LabelSelectorError, MAX_SELECTOR_CHARACTERS, parseLabelSelector } from './label-selector.ts';

const whole = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** Most words of a search. */
const MAX_WORDS = 5;

const labelSelector = z
  .string()
  .max(MAX_SELECTOR_CHARACTERS)
  .default('')
  .transform((text, context) => {
    try {
      return parseLabelSelector(text);
    } catch (error) {
      if (!(error instanceof LabelSelectorError)) throw error;
      context.addIssue({ code: 'custom', message: error.message });
      return z.NEVER;
    }
  })
  .describe(
    'Labels as kubectl selects them: team=vision, stage!=old, team in (a,b), team notin (a,b), team, !team; all of them, with commas between.',
  );

const q = z
  .string()
  .max(256)
  .default('')
  .transform((text) =>
    text
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== ''),
  )
  .pipe(
    z
      .array(z.string().regex(/^[a-z0-9][-.a-z0-9]*$/, 'is part of no name: names hold letters, digits, "-" and "."'))
      .max(MAX_WORDS),
  )
  .describe('Words with spaces between them: the name holds each of them, at its beginning or after a "-" or ".".');

/** Which jobs of a project: query parameters of REST, arguments of GraphQL. */
export const JobsQuery = z.strictObject({
  ...pageQuery,
  state: JobState.or(z.enum(['Submitting', 'Refused', 'Deleting', 'Deleted']))
    .optional()
    .describe('Absent: every state but Deleted.'),
  labelSelector,
  owner: z.string().min(1).max(256).optional().describe('Name of who made them.'),
  q,
  orderBy: z.enum(JOB_ORDERS).default('createdAt').describe('finishedAt lists only jobs that have ended.'),
  direction: z.enum(['asc', 'desc']).optional().describe('Default: names from a, times from the newest.'),
  fields: z
    .string()
    .default('')
    .transform((text) => text.split(',').filter((name) => name !== ''))
    .pipe(z.array(z.enum(JOB_DETAILS)).max(JOB_DETAILS.length))
    .describe('What each item holds beside its summary: spec, plan, attempts, conditions, separated by commas.'),
});
export type JobsQuery = z.infer<typeof JobsQuery>;

/** Which events of a job: those after an id. */
export const EventsQuery = z.strictObject({
  after: whole.default(0).describe('Id of the last event that was seen.'),
});
export type EventsQuery = z.infer<typeof EventsQuery>;

/** More than a screen has columns; ten times as many rows are read. */
const MAX_POINTS = 5_000;

/** Which part of a loss curve: steps by the page, or all of it in at most so many points. */
export const StepsQuery = z
  .strictObject({
    epoch: z.coerce
      .number()
      .int()
      .min(0)
      .max(2_147_483_647)
      .optional()
      .describe('Number of the attempt. Absent: of steps that several attempts trained, those of the newest one.'),
    fromStep: whole.default(0).describe('The first step of the answer.'),
    toStep: whole.default(Number.MAX_SAFE_INTEGER).describe('The last step of the answer.'),
    limit: z.coerce
      .number()
      .int()
      .min(1)
      .max(MAX_HISTORY)
      .optional()
      .describe(`Most steps of the answer, ${DEFAULT_STEPS} by default.`),
    maxPoints: z.coerce
      .number()
      .int()
      .min(2)
      .max(MAX_POINTS)
      .optional()
      .describe('Instead of limit: all of the steps in at most so many points. One point can stand for several steps.'),
  })
  .refine(({ limit, maxPoints }) => limit === undefined || maxPoints === undefined, {
    path: ['maxPoints'],
    message: 'cannot be combined with limit: ask for a page of steps by limit, or for the whole curve by maxPoints',
  });
export type StepsQuery = z.infer<typeof StepsQuery>;

/** Most steps that are answered to it; the rule itself is held later. */
export function stepRows({
  limit,
  maxPoints,
}: {
  readonly limit?: number | null;
  readonly maxPoints?: number | null;
}): number {
  return Math.min(maxPoints ?? limit ?? DEFAULT_STEPS, MAX_HISTORY);
}
