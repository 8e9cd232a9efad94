import { ObservedJobs } from '@coxswain/api-types';
import { Controller, Get, Inject, Param } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { Answers } from '../http/openapi.ts';
import { ObservedJobsService } from './observed-jobs.service.ts';

/** REST route for jobs of other controllers. */
@Controller('v1/projects/:project')
export class ObservedJobsController {
  readonly #jobs: ObservedJobsService;

  constructor(@Inject(ObservedJobsService) jobs: ObservedJobsService) {
    this.#jobs = jobs;
  }

  @Get('observed-jobs')
  @Answers({
    status: 200,
    schema: ObservedJobs,
    summary: 'Jobs of other controllers whose pods are observed: what their ranks do, findings, and what is unknown',
    refusals: ['CONFLICT'],
  })
  list(@Caller() caller: Principal, @Param('project') project: string): Promise<ObservedJobs> {
    return this.#jobs.list(caller, project);
  }
}
