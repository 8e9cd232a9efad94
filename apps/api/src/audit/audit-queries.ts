import { AuditEntry } from '@coxswain/api-types';
import { z } from 'zod';
import { instant } from '../http/instant.ts';
import { pageQuery } from '../http/page-query.ts';

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
