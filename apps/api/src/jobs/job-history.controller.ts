import { JobEventList, RankMap, StepList } from '@coxswain/api-types';
import { Controller, Get, Inject, Query } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { Answers } from '../http/openapi.ts';
import { JobHistoryService } from './job-history.service.ts';
import { EventsQuery, StepsQuery } from './job-queries.ts';
import { AddressedJob } from './job-request.ts';
import type { JobAddress } from './jobs.service.ts';

/** REST routes for what a job did: its events, its loss curve and the places of its ranks. */
@Controller('v1/projects/:project/jobs/:jobId')
export class JobHistoryController {
  readonly #history: JobHistoryService;

  constructor(@Inject(JobHistoryService) history: JobHistoryService) {
    this.#history = history;
  }

  @Get('events')
  @Answers({
    status: 200,
    schema: JobEventList,
    summary: 'What happened, in plain words, oldest first',
  })
  events(
    @Caller() caller: Principal,
    @AddressedJob() address: JobAddress,
    @Query({ schema: EventsQuery }) query: EventsQuery,
  ): Promise<JobEventList> {
    return this.#history.events(caller, address, query.after);
  }

  @Get('steps')
  @Answers({
    status: 200,
    schema: StepList,
    summary: 'The loss curve; the newest attempt counts where attempts overlap',
  })
  steps(
    @Caller() caller: Principal,
    @AddressedJob() address: JobAddress,
    @Query({ schema: StepsQuery }) query: StepsQuery,
  ): Promise<StepList> {
    return this.#history.steps(caller, address, query);
  }

  @Get('ranks')
  @Answers({ status: 200, schema: RankMap, summary: 'Which rank is where' })
  ranks(@Caller() caller: Principal, @AddressedJob() address: JobAddress): Promise<RankMap> {
    return this.#history.ranks(caller, address);
  }
}
