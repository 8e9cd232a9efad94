import {
  ApiTokenCreate,
  ApiTokenCreated,
  ApiTokenList,
  ApiTokenRotate,
  Project,
  ProjectCreate,
  ProjectLimitList,
  ProjectList,
  ProjectPatch,
} from '@coxswain/api-types';
import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Patch, Post } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { IdempotencyKey } from '../http/idempotency-key.ts';
import { InsteadOfIdempotencyKey } from '../http/idempotency-key.guard.ts';
import { Answers } from '../http/openapi.ts';
import { ApiTokensService, type TokenAddress } from './api-tokens.service.ts';
import { ProjectsService } from './projects.service.ts';

/** A rotation without a body leaves everything as the installation says. */
const Rotate = ApiTokenRotate.prefault({});

/** REST routes for projects and their API tokens. */
@Controller('v1/projects')
export class ProjectsController {
  readonly #projects: ProjectsService;
  readonly #tokens: ApiTokensService;

  constructor(@Inject(ProjectsService) projects: ProjectsService, @Inject(ApiTokensService) tokens: ApiTokensService) {
    this.#projects = projects;
    this.#tokens = tokens;
  }

  @Post()
  @Answers({
    status: 201,
    schema: Project,
    summary: 'Make a project that owns namespaces (cluster administrators)',
    refusals: ['NAME_TAKEN'],
  })
  create(
    @Caller() caller: Principal,
    @Body({ schema: ProjectCreate }) request: ProjectCreate,
    @IdempotencyKey() key: string | undefined,
  ): Promise<Project> {
    return this.#projects.create(caller, request, key);
  }

  @Get()
  @Answers({ status: 200, schema: ProjectList, summary: 'Projects that the token may see' })
  list(@Caller() caller: Principal): Promise<ProjectList> {
    return this.#projects.list(caller);
  }

  @Get(':project')
  @Answers({ status: 200, schema: Project, summary: 'One project' })
  get(@Caller() caller: Principal, @Param('project') project: string): Promise<Project> {
    return this.#projects.get(caller, project);
  }

  @Patch(':project')
  @Answers({
    status: 200,
    schema: Project,
    summary: 'Change which PriorityClasses jobs of the project may name (cluster administrators)',
  })
  patch(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Body({ schema: ProjectPatch }) request: ProjectPatch,
  ): Promise<Project> {
    return this.#projects.patch(caller, project, request);
  }

  @Get(':project/limits')
  @Answers({
    status: 200,
    schema: ProjectLimitList,
    summary: 'What the project may use of the API, and what of it is used now',
  })
  limits(@Caller() caller: Principal, @Param('project') project: string): Promise<ProjectLimitList> {
    return this.#projects.limits(caller, project);
  }

  @Post(':project/tokens')
  @InsteadOfIdempotencyKey(
    'A token is shown once and kept nowhere: list the tokens to see whether the first request made one, and revoke that',
  )
  @Answers({ status: 201, schema: ApiTokenCreated, summary: 'Make an API token; its secret is shown this once' })
  createToken(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Body({ schema: ApiTokenCreate }) request: ApiTokenCreate,
  ): Promise<ApiTokenCreated> {
    return this.#tokens.create(caller, project, request);
  }

  @Get(':project/tokens')
  @Answers({ status: 200, schema: ApiTokenList, summary: 'Tokens of a project, newest first; never their secrets' })
  listTokens(@Caller() caller: Principal, @Param('project') project: string): Promise<ApiTokenList> {
    return this.#tokens.list(caller, project);
  }

  @Delete(':project/tokens/:tokenId')
  @HttpCode(204)
  @Answers({ status: 204, summary: 'Revoke a token' })
  async revokeToken(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Param('tokenId') tokenId: string,
  ): Promise<void> {
    await this.#tokens.revoke(caller, { project, tokenId });
  }

  @Post(':project/tokens/:tokenId/rotate')
  @InsteadOfIdempotencyKey(
    'A token is shown once and kept nowhere: where the answer was lost, rotate again, and revoke the successor that nobody has',
  )
  @Answers({ status: 201, schema: ApiTokenCreated, summary: 'Make a successor; the old token stays good for a while' })
  rotateToken(
    @Caller() caller: Principal,
    @Param() { project, tokenId }: TokenAddress,
    @Body({ schema: Rotate }) request: ApiTokenRotate,
  ): Promise<ApiTokenCreated> {
    return this.#tokens.rotate(caller, { project, tokenId }, request);
  }
}
