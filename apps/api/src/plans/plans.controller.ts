import { PlanAccuracy, PlanList, StoredPlan } from '@coxswain/api-types';
import { PlanRequest } from '@coxswain/planner/types';
import { Body, Controller, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { Asking } from '../http/asking.ts';
import { Answers } from '../http/openapi.ts';
import { PlansQuery } from './plan-queries.ts';
import { type PlanAddress, PlansService } from './plans.service.ts';

/** REST routes that ask the planner and keep its answers. */
@Controller('v1/projects/:project/plans')
export class PlansController {
  readonly #plans: PlansService;

  constructor(@Inject(PlansService) plans: PlansService) {
    this.#plans = plans;
  }

  @Post()
  @Answers({
    status: 201,
    schema: StoredPlan,
    summary: 'Ask what if; nothing runs. The answer is kept',
    refusals: ['OVER_BUDGET'],
  })
  create(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Body({ schema: PlanRequest }) request: PlanRequest,
    @Asking() asking: Asking,
  ): Promise<StoredPlan> {
    return this.#plans.create(caller, { project, request, ...asking });
  }

  @Get()
  @Answers({ status: 200, schema: PlanList, summary: 'Plans that were asked for, newest first' })
  list(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Query({ schema: PlansQuery }) query: PlansQuery,
  ): Promise<PlanList> {
    return this.#plans.list(caller, { project, ...query });
  }

  @Get('accuracy')
  @Answers({ status: 200, schema: PlanAccuracy, summary: 'Predicted against measured step times of past jobs' })
  accuracy(@Caller() caller: Principal, @Param('project') project: string): Promise<PlanAccuracy> {
    return this.#plans.accuracy(caller, project);
  }

  @Get(':planId')
  @Answers({ status: 200, schema: StoredPlan, summary: 'One plan with its whole answer' })
  get(@Caller() caller: Principal, @Param() { project, planId }: PlanAddress): Promise<StoredPlan> {
    return this.#plans.get(caller, { project, planId });
  }
}
