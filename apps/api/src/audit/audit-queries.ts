import { AuditEntry } from '@coxswain/api-types';
import { z } from 'zod';
import { pageQuery } from '../http/page-query.ts';

const HOW = 'must be a time with its zone such as 2030-01-31T00:00:00Z';
const YEAR_10000_MS = Date.UTC(10_000, 0);
/** In UTC, in a year of four digits: a parser takes for times what PostgreSQL does not, such as the zone +23:59 or the year 0. */
const instant = z.iso
  .datetime({ offset: true, error: HOW, abort: true })
  .refine((text) => Date.parse(text) >= 0 && Date.parse(text) < YEAR_10000_MS, HOW)
  .transform((text) => new Date(text).toISOString());
const text = z.string().min(1).max(300);

/** Which entries: query parameters of REST, arguments of GraphQL. Each that is given must hold. */
export const AuditQuery = z.strictObject({
  since: instant.optional().describe('Entries of this time and later.'),
  until: instant.optional().describe('Entries before this time.'),
  principal: text.optional().describe('Name of who asked.'),
  verb: text.optional().describe('Such as job.create, or of a denial the right that was missing.'),
  object: text.optional().describe('The whole of it, such as research/tiny-gpt.'),
  outcome: AuditEntry.shape.outcome.optional().describe('Absent: both.'),
  ...pageQuery,
});
export type AuditQuery = z.infer<typeof AuditQuery>;
