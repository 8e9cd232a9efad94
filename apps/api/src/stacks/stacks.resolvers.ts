import { Inject, Injectable } from '@nestjs/common';
import { one, present, type RootFields, type RootResolvers } from '../graphql/root-resolvers.ts';
import { parse } from '../http/validation.ts';
import { StacksQuery } from './stack-queries.ts';
import { StacksService } from './stacks.service.ts';

/** Stacks by GraphQL. */
@Injectable()
export class StacksResolvers implements RootResolvers {
  readonly mutations: RootFields;

  constructor(@Inject(StacksService) stacks: StacksService) {
    this.mutations = {
      takeStacks: one<{ project: string; id: string; rank?: number | null }>(
        ({ project, id, ...query }, { principal, gone }) =>
          stacks.take(principal, { project, jobId: id }, { ...parse(StacksQuery, present(query)), signal: gone }),
      ),
    };
  }
}
