import { ApiTokenCreate, ApiTokenRotate, PROJECT_LIMITS, ProjectCreate, ProjectPatch } from '@coxswain/api-types';
import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../config/config.ts';
import { CONFIG } from '../infrastructure/tokens.ts';
import { list, one, present, type RootFields, type RootResolvers } from '../graphql/root-resolvers.ts';
import { idempotencyKeyOf } from '../http/idempotency-key.ts';
import { parse } from '../http/validation.ts';
import { ApiTokensService, MAX_LISTED_TOKENS } from './api-tokens.service.ts';
import { MAX_LISTED_PROJECTS, ProjectsService } from './projects.service.ts';
import { whoAmI } from './whoami.controller.ts';

/** Projects, tokens and the caller by GraphQL. */
@Injectable()
export class ProjectResolvers implements RootResolvers {
  readonly queries: RootFields;
  readonly mutations: RootFields;

  constructor(
    @Inject(ProjectsService) projects: ProjectsService,
    @Inject(ApiTokensService) tokens: ApiTokensService,
    @Inject(CONFIG) config: Pick<Config, 'links'>,
  ) {
    this.queries = {
      whoAmI: one((_args, { principal }) => whoAmI(principal, config)),
      projects: list(
        () => MAX_LISTED_PROJECTS,
        (_args, { principal }) => projects.list(principal),
      ),
      project: one<{ name: string }>(({ name }, { principal }) => projects.get(principal, name)),
      projectLimits: list<{ project: string }>(
        () => PROJECT_LIMITS.length,
        ({ project }, { principal }) => projects.limits(principal, project),
      ),
      tokens: list<{ project: string }>(
        () => MAX_LISTED_TOKENS,
        ({ project }, { principal }) => tokens.list(principal, project),
      ),
    };
    this.mutations = {
      createProject: one<{ input: unknown; idempotencyKey?: string | null }>(
        ({ input, idempotencyKey }, { principal }) =>
          projects.create(
            principal,
            parse(ProjectCreate, present(input)),
            idempotencyKeyOf(idempotencyKey ?? undefined),
          ),
      ),
      updateProject: one<{ project: string; input: unknown }>(({ project, input }, { principal }) =>
        projects.patch(principal, project, parse(ProjectPatch, present(input))),
      ),
      createToken: one<{ project: string; input: unknown }>(({ project, input }, { principal }) =>
        tokens.create(principal, project, parse(ApiTokenCreate, present(input))),
      ),
      rotateToken: one<{ project: string; id: string; input?: unknown }>(({ project, id, input }, { principal }) =>
        tokens.rotate(principal, { project, tokenId: id }, parse(ApiTokenRotate, present(input ?? {}))),
      ),
      revokeToken: one<{ project: string; id: string }>(({ project, id }, { principal }) =>
        tokens.revoke(principal, { project, tokenId: id }).then(() => true),
      ),
    };
  }
}
