import { z } from 'zod';
import { instant } from '../http/instant.ts';
import { pageQuery } from '../http/page-query.ts';

/** Which snapshots of the fabric: query parameters of REST, arguments of GraphQL. Each that is given must hold. */
export const SnapshotQuery = z.strictObject({
  since: instant.optional().describe('Taken at this time or later.'),
  until: instant
    .optional()
    .describe('Taken at this time or before: the first of the answer is how the fabric was then.'),
  ...pageQuery,
});
export type SnapshotQuery = z.infer<typeof SnapshotQuery>;

/** Which two snapshots to compare: query parameters of REST, arguments of GraphQL. */
export const ChangesQuery = z.strictObject({
  since: z.uuid().optional().describe('Id of the snapshot to compare with. Absent: the one before.'),
});
export type ChangesQuery = z.infer<typeof ChangesQuery>;
