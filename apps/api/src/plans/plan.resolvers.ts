import { PlanRequest } from '@coxswain/planner/types';
import { Inject, Injectable } from '@nestjs/common';
import { list, one, present, type RootFields, type RootResolvers } from '../graphql/root-resolvers.ts';
import { idempotencyKeyOf } from '../http/idempotency-key.ts';
import { pageRows } from '../http/page-query.ts';
import { parse } from '../http/validation.ts';
import { PlansQuery } from './plan-queries.ts';
import { MAX_LISTED, PlansService } from './plans.service.ts';

interface InProject {
  readonly project: string;
}

/** Plans by GraphQL. */
@Injectable()
export class PlanResolvers implements RootResolvers {
  readonly queries: RootFields;
  readonly mutations: RootFields;

  constructor(@Inject(PlansService) plans: PlansService) {
    this.queries = {
      plan: one<InProject & { id: string }>(({ project, id }, { principal }) =>
        plans.get(principal, { project, planId: id }),
      ),
      plans: list<InProject & { pageSize?: number | null }>(pageRows, ({ project, ...query }, { principal }) =>
        plans.list(principal, { project, ...parse(PlansQuery, present(query)) }),
      ),
      planAccuracy: list<InProject>(
        () => MAX_LISTED,
        ({ project }, { principal }) => plans.accuracy(principal, project),
      ),
    };
    this.mutations = {
      createPlan: one<InProject & { input: unknown; idempotencyKey?: string | null }>(
        ({ project, input, idempotencyKey }, { principal, gone }) =>
          plans.create(principal, {
            project,
            request: parse(PlanRequest, present(input)),
            key: idempotencyKeyOf(idempotencyKey ?? undefined),
            gone,
          }),
      ),
    };
  }
}
