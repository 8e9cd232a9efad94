import { LayoutCreate, LayoutList, StoredLayout } from '@coxswain/api-types';
import { Body, Controller, Get, Inject, Param, Post } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { IdempotencyKey } from '../http/idempotency-key.ts';
import { Answers } from '../http/openapi.ts';
import { LayoutsService } from './layouts.service.ts';

/** REST routes that validate layouts and keep them under a name. */
@Controller('v1/projects/:project/layouts')
export class LayoutsController {
  readonly #layouts: LayoutsService;

  constructor(@Inject(LayoutsService) layouts: LayoutsService) {
    this.#layouts = layouts;
  }

  @Post()
  @Answers({
    status: 201,
    schema: StoredLayout,
    summary: 'Validate a layout and keep it',
    refusals: ['NAME_TAKEN', 'INVALID_LAYOUT'],
  })
  create(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Body({ schema: LayoutCreate }) request: LayoutCreate,
    @IdempotencyKey() key: string | undefined,
  ): Promise<StoredLayout> {
    return this.#layouts.create(caller, { project, request, key });
  }

  @Get()
  @Answers({ status: 200, schema: LayoutList, summary: 'Layouts of a project, newest first' })
  list(@Caller() caller: Principal, @Param('project') project: string): Promise<LayoutList> {
    return this.#layouts.list(caller, project);
  }

  @Get(':layoutId')
  @Answers({ status: 200, schema: StoredLayout, summary: 'One layout' })
  get(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Param('layoutId') layoutId: string,
  ): Promise<StoredLayout> {
    return this.#layouts.get(caller, project, layoutId);
  }
}
