import { LayoutCreate } from '@coxswain/api-types';
import { Inject, Injectable } from '@nestjs/common';
import { list, one, present, type RootFields, type RootResolvers } from '../graphql/root-resolvers.ts';
import { idempotencyKeyOf } from '../http/idempotency-key.ts';
import { parse } from '../http/validation.ts';
import { LayoutsService, MAX_LISTED_LAYOUTS } from './layouts.service.ts';

/** Layouts by GraphQL. */
@Injectable()
export class LayoutResolvers implements RootResolvers {
  readonly queries: RootFields;
  readonly mutations: RootFields;

  constructor(@Inject(LayoutsService) layouts: LayoutsService) {
    this.queries = {
      layouts: list<{ project: string }>(
        () => MAX_LISTED_LAYOUTS,
        ({ project }, { principal }) => layouts.list(principal, project),
      ),
      layout: one<{ project: string; id: string }>(({ project, id }, { principal }) =>
        layouts.get(principal, project, id),
      ),
    };
    this.mutations = {
      createLayout: one<{ project: string; input: unknown; idempotencyKey?: string | null }>(
        ({ project, input, idempotencyKey }, { principal }) =>
          layouts.create(principal, {
            project,
            request: parse(LayoutCreate, present(input)),
            key: idempotencyKeyOf(idempotencyKey ?? undefined),
          }),
      ),
    };
  }
}
