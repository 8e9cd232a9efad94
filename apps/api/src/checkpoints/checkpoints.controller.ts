import { CheckpointList } from '@coxswain/api-types';
import { Controller, Get, Inject } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { Answers } from '../http/openapi.ts';
import { AddressedJob } from '../jobs/job-request.ts';
import type { JobAddress } from '../jobs/jobs.service.ts';
import { CheckpointsService } from './checkpoints.service.ts';

/** REST routes that list the checkpoints of a job. */
@Controller('v1/projects/:project/jobs/:jobId')
export class CheckpointsController {
  readonly #checkpoints: CheckpointsService;

  constructor(@Inject(CheckpointsService) checkpoints: CheckpointsService) {
    this.#checkpoints = checkpoints;
  }

  @Get('checkpoints')
  @Answers({
    status: 200,
    schema: CheckpointList,
    summary: 'Saved states, oldest first',
    operationId: 'JobHistory_checkpoints',
  })
  checkpoints(@Caller() caller: Principal, @AddressedJob() address: JobAddress): Promise<CheckpointList> {
    return this.#checkpoints.ofJob(caller, address);
  }
}
