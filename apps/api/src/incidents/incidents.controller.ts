import { IncidentList } from '@coxswain/api-types';
import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { Answers } from '../http/openapi.ts';
import { AddressedJob } from '../jobs/job-request.ts';
import type { JobAddress } from '../jobs/jobs.service.ts';
import { IncidentQuery } from './incident-queries.ts';
import { IncidentsService } from './incidents.service.ts';

/** REST routes that list the incidents of a project or of one job, newest first. */
@Controller('v1/projects/:project')
export class IncidentsController {
  readonly #incidents: IncidentsService;

  constructor(@Inject(IncidentsService) incidents: IncidentsService) {
    this.#incidents = incidents;
  }

  @Get('incidents')
  @Answers({
    status: 200,
    schema: IncidentList,
    summary: 'What went wrong with the jobs of a project, newest first: what was seen, done, and what came of it',
  })
  list(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Query({ schema: IncidentQuery }) query: IncidentQuery,
  ): Promise<IncidentList> {
    return this.#incidents.list(caller, project, query);
  }

  @Get('jobs/:jobId/incidents')
  @Answers({ status: 200, schema: IncidentList, summary: 'What went wrong with a job, newest first' })
  ofJob(
    @Caller() caller: Principal,
    @AddressedJob() address: JobAddress,
    @Query({ schema: IncidentQuery }) query: IncidentQuery,
  ): Promise<IncidentList> {
    return this.#incidents.ofJob(caller, address, query);
  }
}
