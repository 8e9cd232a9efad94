import { ObjectName } from '@coxswain/api-types';
import { z } from 'zod';
import { pageQuery } from '../http/page-query.ts';
import { ALL_PROJECTS } from '../auth/project-scope.ts';

/** Whose plans. Absent: the project of the token; for administrators, who have none, every project where that is possible. */
const project = ObjectName.or(z.literal(ALL_PROJECTS)).optional();

/** In which project, as a query parameter of REST and an argument of GraphQL. */
export const PlanScopeQuery = z.strictObject({ project });
export type PlanScopeQuery = z.infer<typeof PlanScopeQuery>;

/** Which stored plans. */
export const PlansQuery = z.strictObject({ ...pageQuery, project });
export type PlansQuery = z.infer<typeof PlansQuery>;
