import { GpuCounts } from '@coxswain/api-types';
import { Controller, Get, Inject, Param } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { Answers } from '../http/openapi.ts';
import { GpuCountsService } from './gpu-counts.service.ts';

/** REST route for the free GPUs of the cluster, for members of a project. */
@Controller('v1/projects/:project/gpus')
export class GpuCountsController {
  readonly #counts: GpuCountsService;

  constructor(@Inject(GpuCountsService) counts: GpuCountsService) {
    this.#counts = counts;
  }

  @Get()
  @Answers({
    status: 200,
    schema: GpuCounts,
    summary: 'How many GPUs the cluster has and how many are free, by type; for every member of the project',
  })
  read(@Caller() caller: Principal, @Param('project') project: string): Promise<GpuCounts> {
    return this.#counts.read(caller, project);
  }
}
