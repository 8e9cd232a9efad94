import { MAX_WORLD_SIZE } from '@coxswain/layout';
import { z } from 'zod';

/** Whose stacks: query parameters of REST, arguments of GraphQL. */
export const StacksQuery = z.strictObject({
  rank: z.coerce
    .number()
    .int()
    .min(0)
    .max(MAX_WORLD_SIZE - 1)
    .optional()
    .describe('Asks the pod of this rank alone, which takes less long. Absent: all.'),
});
export type StacksQuery = z.infer<typeof StacksQuery>;
