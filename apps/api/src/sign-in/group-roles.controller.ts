import { GroupRole, GroupRoleCreate, GroupRoleList } from '@coxswain/api-types';
import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { IdempotencyKey } from '../http/idempotency-key.ts';
import { Answers } from '../http/openapi.ts';
import { GroupRolesService } from './group-roles.service.ts';

/** REST routes for the roles that groups of the issuer or of Kubernetes have in a project. */
@Controller('v1/projects/:project/group-roles')
export class GroupRolesController {
  readonly #groups: GroupRolesService;

  constructor(@Inject(GroupRolesService) groups: GroupRolesService) {
    this.#groups = groups;
  }

  @Get()
  @Answers({ status: 200, schema: GroupRoleList, summary: 'Groups that have a role; project "-": in the cluster' })
  list(@Caller() caller: Principal, @Param('project') project: string): Promise<GroupRoleList> {
    return this.#groups.list(caller, project);
  }

  @Post()
  @Answers({
    status: 201,
    schema: GroupRole,
    summary: 'Give a group a role, in place of the one that it had',
    refusals: ['CONFLICT'],
  })
  grant(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Body({ schema: GroupRoleCreate }) request: GroupRoleCreate,
    @IdempotencyKey() key: string | undefined,
  ): Promise<GroupRole> {
    return this.#groups.grant(caller, { project, request, key });
  }

  @Delete(':groupRoleId')
  @HttpCode(204)
  @Answers({ status: 204, summary: 'Take a role from a group' })
  async revoke(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Param('groupRoleId') groupRoleId: string,
  ): Promise<void> {
    await this.#groups.revoke(caller, project, groupRoleId);
  }
}
