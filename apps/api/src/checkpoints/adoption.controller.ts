import { CheckpointAdopt, CheckpointRecord } from '@coxswain/api-types';
import { Body, Controller, Inject, Param, Post } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { InsteadOfIdempotencyKey } from '../http/idempotency-key.guard.ts';
import { Answers } from '../http/openapi.ts';
import { AdoptionService } from './adoption.service.ts';

/** REST route that adopts a checkpoint. */
@Controller('v1/projects/:project/checkpoints')
export class AdoptionController {
  readonly #adoption: AdoptionService;

  constructor(@Inject(AdoptionService) adoption: AdoptionService) {
    this.#adoption = adoption;
  }

  @Post()
  @InsteadOfIdempotencyKey('The name makes a repetition safe: the same request again answers the same')
  @Answers({
    status: 201,
    schema: CheckpointRecord,
    summary: 'Adopt a checkpoint that no job saved; it is verified before a job can resume from it',
    operationId: 'Checkpoints_adopt',
    refusals: ['NAME_TAKEN'],
  })
  adopt(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Body({ schema: CheckpointAdopt }) request: CheckpointAdopt,
  ): Promise<CheckpointRecord> {
    return this.#adoption.adopt(caller, { project, request });
  }
}
