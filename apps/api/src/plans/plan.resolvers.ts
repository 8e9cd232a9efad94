import { PlanRequest } from '@coxswain/planner/types';
import { Inject, Injectable } from '@nestjs/common';
import { list, one, present, type RootFields, type RootResolvers } from '../graphql/root-resolvers.ts';
import { idempotencyKeyOf } from '../http/idempotency-key.ts';
import { pageRows } from '../http/page-query.ts';
import { parse } from '../http/validation.ts';
import { PlanScopeQuery, PlansQuery } from './plan-queries.ts';
import { MAX_LISTED, PlansService } from './plans.service.ts';

/** Plans by GraphQL. */
@Injectable()
export class PlanResolvers implements RootResolvers {
  readonly queries: RootFields;
  readonly mutations: RootFields;

  constructor(@Inject(PlansService) plans: PlansService) {
    this.queries = {
      plan: one<{ id: string }>(({ id }, { principal }) => plans.get(principal, id)),
      plans: list(pageRows, (query, { principal }) => plans.list(principal, parse(PlansQuery, present(query)))),
      planAccuracy: list(
        () => MAX_LISTED,
        (query, { principal }) => plans.accuracy(principal, parse(PlanScopeQuery, present(query)).project),
      ),
    };
    this.mutations = {
      createPlan: one<{ input: unknown; project?: string | null; idempotencyKey?: string | null }>(
        ({ input, idempotencyKey, ...scope }, { principal }) =>
          plans.create(principal, {
            ...parse(PlanScopeQuery, present(scope)),
            request: parse(PlanRequest, present(input)),
            key: idempotencyKeyOf(idempotencyKey ?? undefined),
          }),
      ),
    };
  }
}
