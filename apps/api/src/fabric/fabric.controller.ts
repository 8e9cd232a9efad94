import { ClusterFabric } from '@coxswain/api-types';
import { Controller, Get, Inject } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { Answers } from '../http/openapi.ts';
import { FabricService } from './fabric.service.ts';

@Controller('v1/fabric')
export class FabricController {
  readonly #fabric: FabricService;

  constructor(@Inject(FabricService) fabric: FabricService) {
    this.#fabric = fabric;
  }

  @Get()
  @Answers({
    status: 200,
    schema: ClusterFabric,
    summary: 'Every node with GPUs, where it sits, and which jobs hold it (administrators)',
  })
  read(@Caller() caller: Principal): Promise<ClusterFabric> {
    return this.#fabric.read(caller);
  }
}
