import { EngineList, EngineRendering, JobRendering, RenderingRequest } from '@coxswain/api-types';
import { Body, Controller, Get, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { InsteadOfIdempotencyKey } from '../http/idempotency-key.guard.ts';
import { Answers } from '../http/openapi.ts';
import { AddressedJob } from '../jobs/job-request.ts';
import type { JobAddress } from '../jobs/jobs.service.ts';
import { RenderingsService } from './renderings.service.ts';

/** REST routes for the supported engines, and for the command that an engine would run. */
@Controller('v1')
export class RenderingsController {
  readonly #renderings: RenderingsService;

  constructor(@Inject(RenderingsService) renderings: RenderingsService) {
    this.#renderings = renderings;
  }

  @Get('engines')
  @Answers({ status: 200, schema: EngineList, summary: 'Engines, their releases, and the options that each supports' })
  engines(): EngineList {
    return this.#renderings.engines();
  }

  @Post('projects/:project/renderings')
  @InsteadOfIdempotencyKey('Nothing is kept: ask again')
  @HttpCode(200)
  @Answers({
    status: 200,
    schema: EngineRendering,
    summary: 'What would be run for a layout, or why its engine refuses; nothing runs, and nothing is kept',
  })
  ask(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Body({ schema: RenderingRequest }) request: RenderingRequest,
  ): Promise<EngineRendering> {
    return this.#renderings.ask(caller, project, request);
  }

  @Get('projects/:project/jobs/:jobId/rendering')
  @Answers({
    status: 200,
    schema: JobRendering,
    summary:
      'What the job runs: arguments, files and environment of its engine; before it is placed, what it would run',
  })
  ofJob(@Caller() caller: Principal, @AddressedJob() address: JobAddress): Promise<JobRendering> {
    return this.#renderings.ofJob(caller, address);
  }
}
