import { CheckpointList, JobEventList, RankMap, StepList } from '@coxswain/api-types';
import { Controller, Get, Inject, Query } from '@nestjs/common';
import { z } from 'zod';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { Answers } from '../http/openapi.ts';
import { JobHistoryService, MAX_HISTORY } from './job-history.service.ts';
import { AddressedJob } from './job-request.ts';
import type { JobAddress } from './jobs.service.ts';

const whole = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const EventsQuery = z.strictObject({ after: whole.default(0) });
type EventsQuery = z.infer<typeof EventsQuery>;
const StepsQuery = z.strictObject({
  epoch: z.coerce.number().int().min(0).max(2_147_483_647).optional(),
  fromStep: whole.default(0),
  limit: z.coerce.number().int().min(1).max(MAX_HISTORY).default(2_000),
});
type StepsQuery = z.infer<typeof StepsQuery>;

@Controller('v1/projects/:project/jobs/:jobId')
export class JobHistoryController {
  readonly #history: JobHistoryService;

  constructor(@Inject(JobHistoryService) history: JobHistoryService) {
    this.#history = history;
  }

  @Get('events')
  @Answers({ status: 200, schema: JobEventList, summary: 'What happened, in plain words, oldest first' })
  events(
    @Caller() caller: Principal,
    @AddressedJob() address: JobAddress,
    @Query({ schema: EventsQuery }) query: EventsQuery,
  ): Promise<JobEventList> {
    return this.#history.events(caller, address, query.after);
  }

  @Get('steps')
  @Answers({ status: 200, schema: StepList, summary: 'The loss curve; the newest epoch counts where attempts overlap' })
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

  @Get('checkpoints')
  @Answers({ status: 200, schema: CheckpointList, summary: 'Saved states, oldest first' })
  checkpoints(@Caller() caller: Principal, @AddressedJob() address: JobAddress): Promise<CheckpointList> {
    return this.#history.checkpoints(caller, address);
  }
}
