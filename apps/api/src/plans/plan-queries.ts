import { z } from 'zod';
import { pageQuery } from '../http/page-query.ts';

/** Which stored plans of a project. */
export const PlansQuery = z.strictObject(pageQuery);
export type PlansQuery = z.infer<typeof PlansQuery>;
