import { JobGoodput } from '@coxswain/api-types';
import { Controller, Get, Inject } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { Answers } from '../http/openapi.ts';
import { AddressedJob } from '../jobs/job-request.ts';
import type { JobAddress } from '../jobs/jobs.service.ts';
import { GoodputService } from './goodput.service.ts';

/** REST route for the goodput of one job. */
@Controller('v1/projects/:project/jobs/:jobId/goodput')
export class GoodputController {
  readonly #goodput: GoodputService;

  constructor(@Inject(GoodputService) goodput: GoodputService) {
    this.#goodput = goodput;
  }

  @Get()
  @Answers({
    status: 200,
    schema: JobGoodput,
    summary: 'Where the GPU-seconds of a job went, each in exactly one category',
  })
  ofJob(@Caller() caller: Principal, @AddressedJob() address: JobAddress): Promise<JobGoodput> {
    return this.#goodput.ofJob(caller, address);
  }
}
