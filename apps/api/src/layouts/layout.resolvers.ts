import { LayoutCreate } from '@coxswain/api-types';
import { Inject, Injectable } from '@nestjs/common';
import { type FieldResolvers, present, resolver, type RootResolvers } from '../graphql/root-resolvers.ts';
import { parse } from '../http/validation.ts';
import { LayoutsService } from './layouts.service.ts';

/** Layouts by GraphQL. */
@Injectable()
export class LayoutResolvers implements RootResolvers {
  readonly queries: FieldResolvers;
  readonly mutations: FieldResolvers;

  constructor(@Inject(LayoutsService) layouts: LayoutsService) {
    this.queries = {
      layouts: resolver<{ project: string }>(async (_root, { project }, { principal, budget }) =>
        budget.spend(await layouts.list(principal, project)),
      ),
    };
    this.mutations = {
      createLayout: resolver<{ project: string; input: unknown }>((_root, { project, input }, { principal }) =>
        layouts.create(principal, project, parse(LayoutCreate, present(input))),
      ),
    };
  }
}
