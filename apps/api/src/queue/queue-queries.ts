import { MAX_QUEUE_JOBS } from '@coxswain/api-types';
import { z } from 'zod';

/** Jobs in an answer that asks for no number. */
export const DEFAULT_QUEUE_JOBS = 200;

/** How much of the queue: query parameters of REST, arguments of GraphQL. */
export const QueueQuery = z.strictObject({
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX_QUEUE_JOBS)
    .default(DEFAULT_QUEUE_JOBS)
    .describe('Most jobs of the answer. Jobs of the project are listed before others.'),
});
export type QueueQuery = z.infer<typeof QueueQuery>;
