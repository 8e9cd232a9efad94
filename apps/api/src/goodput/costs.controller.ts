import { CostList } from '@coxswain/api-types';
import { Controller, Get, Header, Inject, Param, Query } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { Answers } from '../http/openapi.ts';
import { CostFileQuery, CostQuery } from './cost-queries.ts';
import { CostsService } from './costs.service.ts';

/** REST routes for what the jobs of a project cost in a month. */
@Controller('v1/projects/:project')
export class CostsController {
  readonly #costs: CostsService;

  constructor(@Inject(CostsService) costs: CostsService) {
    this.#costs = costs;
  }

  @Get('costs')
  @Answers({
    status: 200,
    schema: CostList,
    summary:
      'What the jobs of a project cost in a month, by the price list of the administrator; project "-": all jobs',
    refusals: ['CONFLICT'],
  })
  ofMonth(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Query({ schema: CostQuery }) query: CostQuery,
  ): Promise<CostList> {
    return this.#costs.ofMonth(caller, project, query);
  }

  @Get('costs.csv')
  @Header('content-type', 'text/csv; charset=utf-8')
  @Answers({
    status: 200,
    contentType: 'text/csv',
    summary: 'The same as a file of FOCUS 1.2, for months with at most 500 jobs',
    refusals: ['CONFLICT'],
  })
  csvOfMonth(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Query({ schema: CostFileQuery }) query: CostFileQuery,
  ): Promise<string> {
    return this.#costs.csvOfMonth(caller, project, query);
  }
}
