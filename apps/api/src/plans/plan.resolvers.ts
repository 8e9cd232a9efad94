import { PlanRequest } from '@coxswain/planner/types';
import { Inject, Injectable } from '@nestjs/common';
import { type FieldResolvers, present, resolver, type RootResolvers } from '../graphql/root-resolvers.ts';
import { idempotencyKeyOf } from '../http/idempotency-key.ts';
import { parse } from '../http/validation.ts';
import { PlanScopeQuery, PlansQuery } from './plan-queries.ts';
import { PlansService } from './plans.service.ts';

/** Plans by GraphQL. */
@Injectable()
export class PlanResolvers implements RootResolvers {
  readonly queries: FieldResolvers;
  readonly mutations: FieldResolvers;

  constructor(@Inject(PlansService) plans: PlansService) {
    this.queries = {
      plan: resolver<{ id: string }>((_root, { id }, { principal }) => plans.get(principal, id)),
      plans: resolver(async (_root, query, { principal, budget }) =>
        budget.spend(await plans.list(principal, parse(PlansQuery, present(query)))),
      ),
      planAccuracy: resolver(async (_root, query, { principal, budget }) =>
        budget.spend(await plans.accuracy(principal, parse(PlanScopeQuery, present(query)).project)),
      ),
    };
    this.mutations = {
      createPlan: resolver<{ input: unknown; project?: string | null; idempotencyKey?: string | null }>(
        (_root, { input, idempotencyKey, ...scope }, { principal }) =>
          plans.create(principal, {
            ...parse(PlanScopeQuery, present(scope)),
            request: parse(PlanRequest, present(input)),
            key: idempotencyKeyOf(idempotencyKey ?? undefined),
          }),
      ),
    };
  }
}
