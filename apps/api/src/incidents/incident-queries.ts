import { INCIDENT_KINDS, type IncidentKind } from '@coxswain/api-types';
import { z } from 'zod';
import { pageQuery } from '../http/page-query.ts';

/** Which incidents: query parameters of REST, arguments of GraphQL. Each that is given must hold. */
export const IncidentQuery = z.strictObject({
  kind: z
    .enum(Object.keys(INCIDENT_KINDS) as [IncidentKind, ...IncidentKind[]])
    .optional()
    .describe('Absent: all.'),
  state: z.enum(['open', 'over']).optional().describe('Absent: both.'),
  node: z.string().min(1).max(253).optional().describe('Seen on this node.'),
  ...pageQuery,
});
export type IncidentQuery = z.infer<typeof IncidentQuery>;
