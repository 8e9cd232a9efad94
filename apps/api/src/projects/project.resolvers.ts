import { ApiTokenCreate, ApiTokenRotate, ProjectCreate } from '@coxswain/api-types';
import { Inject, Injectable } from '@nestjs/common';
import { type FieldResolvers, present, resolver, type RootResolvers } from '../graphql/root-resolvers.ts';
import { parse } from '../http/validation.ts';
import { ApiTokensService } from './api-tokens.service.ts';
import { ProjectsService } from './projects.service.ts';
import { whoAmI } from './whoami.controller.ts';

/** Projects, tokens and the caller by GraphQL. */
@Injectable()
export class ProjectResolvers implements RootResolvers {
  readonly queries: FieldResolvers;
  readonly mutations: FieldResolvers;

  constructor(@Inject(ProjectsService) projects: ProjectsService, @Inject(ApiTokensService) tokens: ApiTokensService) {
    this.queries = {
      whoAmI: resolver((_root, _args, { principal }) => whoAmI(principal)),
      projects: resolver(async (_root, _args, { principal, budget }) => budget.spend(await projects.list(principal))),
      project: resolver<{ name: string }>((_root, { name }, { principal }) => projects.get(principal, name)),
      tokens: resolver<{ project: string }>(async (_root, { project }, { principal, budget }) =>
        budget.spend(await tokens.list(principal, project)),
      ),
    };
    this.mutations = {
      createProject: resolver<{ input: unknown }>((_root, { input }, { principal }) =>
        projects.create(principal, parse(ProjectCreate, present(input))),
      ),
      createToken: resolver<{ project: string; input: unknown }>((_root, { project, input }, { principal }) =>
        tokens.create(principal, project, parse(ApiTokenCreate, present(input))),
      ),
      rotateToken: resolver<{ project: string; id: string; input?: unknown }>(
        (_root, { project, id, input }, { principal }) =>
          tokens.rotate(principal, { project, tokenId: id }, parse(ApiTokenRotate, present(input ?? {}))),
      ),
      revokeToken: resolver<{ project: string; id: string }>((_root, { project, id }, { principal }) =>
        tokens.revoke(principal, { project, tokenId: id }).then(() => true),
      ),
    };
  }
}
