import { JobStart, Queue } from '@coxswain/api-types';
import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { Answers } from '../http/openapi.ts';
import { AddressedJob } from '../jobs/job-request.ts';
import type { JobAddress } from '../jobs/jobs.service.ts';
import { QueueQuery } from './queue-queries.ts';
import { QueueService } from './queue.service.ts';

/** REST routes for the jobs that wait for GPUs, and for the expected start of one. */
@Controller('v1/projects/:project')
export class QueueController {
  readonly #queue: QueueService;

  constructor(@Inject(QueueService) queue: QueueService) {
    this.#queue = queue;
  }

  @Get('queue')
  @Answers({
    status: 200,
    schema: Queue,
    summary: 'Jobs that wait for GPUs, in order, with expected starts; jobs of other projects have no names',
  })
  read(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Query({ schema: QueueQuery }) query: QueueQuery,
  ): Promise<Queue> {
    return this.#queue.read(caller, { project, ...query });
  }

  @Get('jobs/:jobId/start')
  @Answers({
    status: 200,
    schema: JobStart,
    summary: 'When a job is expected to start, and what would let it start earlier',
  })
  ofJob(@Caller() caller: Principal, @AddressedJob() address: JobAddress): Promise<JobStart> {
    return this.#queue.ofJob(caller, address);
  }
}
