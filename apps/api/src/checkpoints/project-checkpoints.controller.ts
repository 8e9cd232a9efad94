import {
  CheckpointDetail,
  CheckpointPage,
  CheckpointPin,
  CheckpointRecord,
  CheckpointVerify,
  CheckpointVerifyRequest,
} from '@coxswain/api-types';
import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post, Put, Query } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { InsteadOfIdempotencyKey } from '../http/idempotency-key.guard.ts';
import { Answers } from '../http/openapi.ts';
import { CheckpointCatalogueService } from './checkpoint-catalogue.service.ts';
import { CheckpointCommandsService } from './checkpoint-commands.service.ts';
import { CheckpointsQuery } from './checkpoint-queries.ts';

/** Without a body, all bytes are verified. */
const Verify = CheckpointVerify.prefault({});

/** REST routes of the checkpoints of a project. */
@Controller('v1/projects/:project/checkpoints')
export class ProjectCheckpointsController {
  readonly #catalogue: CheckpointCatalogueService;
  readonly #commands: CheckpointCommandsService;

  constructor(
    @Inject(CheckpointCatalogueService) catalogue: CheckpointCatalogueService,
    @Inject(CheckpointCommandsService) commands: CheckpointCommandsService,
  ) {
    this.#catalogue = catalogue;
    this.#commands = commands;
  }

  @Get()
  @Answers({ status: 200, schema: CheckpointPage, summary: 'Checkpoints of a project, newest first' })
  list(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Query({ schema: CheckpointsQuery }) query: CheckpointsQuery,
  ): Promise<CheckpointPage> {
    return this.#catalogue.list(caller, project, query);
  }

  @Get(':uid')
  @Answers({ status: 200, schema: CheckpointDetail, summary: 'One checkpoint with its verifications' })
  get(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Param('uid') uid: string,
  ): Promise<CheckpointDetail> {
    return this.#catalogue.get(caller, { project, uid });
  }

  @Delete(':uid')
  @HttpCode(204)
  @Answers({
    status: 204,
    summary: 'Forget an adopted checkpoint; its files stay',
    refusals: ['CONFLICT', 'UNAVAILABLE'],
  })
  forget(@Caller() caller: Principal, @Param('project') project: string, @Param('uid') uid: string): Promise<void> {
    return this.#commands.forget(caller, { project, uid });
  }

  @Post(':uid/verify')
  @InsteadOfIdempotencyKey('While a verification is awaited, asking again changes nothing: leave the header out')
  @HttpCode(202)
  @Answers({
    status: 202,
    schema: CheckpointVerifyRequest,
    summary: 'Have a pod verify its bytes; the answer comes before the verification',
    refusals: ['CONFLICT', 'UNAVAILABLE'],
  })
  verify(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Param('uid') uid: string,
    @Body({ schema: Verify }) body: CheckpointVerify,
  ): Promise<CheckpointVerifyRequest> {
    return this.#commands.verify(caller, { project, uid }, body);
  }

  @Put(':uid/pin')
  @Answers({
    status: 200,
    schema: CheckpointRecord,
    summary: 'Keep it, whatever the retention; a reason replaces the one before',
    refusals: ['CONFLICT', 'UNAVAILABLE'],
  })
  pin(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Param('uid') uid: string,
    @Body({ schema: CheckpointPin }) body: CheckpointPin,
  ): Promise<CheckpointRecord> {
    return this.#commands.pin(caller, { project, uid }, body);
  }

  @Delete(':uid/pin')
  @Answers({
    status: 200,
    schema: CheckpointRecord,
    summary: 'Remove the pin; retention may delete the checkpoint',
    refusals: ['CONFLICT', 'UNAVAILABLE'],
  })
  unpin(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Param('uid') uid: string,
  ): Promise<CheckpointRecord> {
    return this.#commands.unpin(caller, { project, uid });
  }
}
