import { z } from 'zod';
import type { Principal } from '../auth/principal.ts';
import { present, type Relation } from '../graphql/root-resolvers.ts';
import { parse } from '../http/validation.ts';
import type { AnsweredJob } from './related-rows.ts';

/** Most of what is read beside one job of a list. */
const MAX_RELATED = 100;
const DEFAULT_RELATED = 20;
/** What is read beside the jobs of a page is in no page that ends by bytes, so that each row of it counts as so many. */
const RELATED_ROWS = 5;
const RelatedQuery = z.strictObject({ limit: z.int().min(1).max(MAX_RELATED).default(DEFAULT_RELATED) });

/** Arguments of a relation that can be cut short. */
export interface Limited {
  readonly limit?: number | null;
}

type ReadNewest = (jobs: readonly AnsweredJob[], limit: number, principal: Principal) => Promise<readonly object[]>;

/** The relation of a job that reads its newest rows, as many as `limit` says, for all jobs of an answer at once. */
export function newestRelation(read: ReadNewest): Relation<AnsweredJob, Limited> {
  return {
    rows: ({ limit }) => RELATED_ROWS * Math.min(limit ?? DEFAULT_RELATED, MAX_RELATED),
    resolve: (jobs, args, { principal }) => read(jobs, parse(RelatedQuery, present(args)).limit, principal),
  };
}
