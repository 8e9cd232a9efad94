import { RenderingRequest } from '@coxswain/api-types';
import { Inject, Injectable } from '@nestjs/common';
import { one, present, type RootFields, type RootResolvers } from '../graphql/root-resolvers.ts';
import { parse } from '../http/validation.ts';
import { RenderingsService } from './renderings.service.ts';

/** Renderings by GraphQL. */
@Injectable()
export class RenderingResolvers implements RootResolvers {
  readonly queries: RootFields;

  constructor(@Inject(RenderingsService) renderings: RenderingsService) {
    this.queries = {
      engines: one(() => renderings.engines()),
      rendering: one<{ project: string; input: unknown }>(({ project, input }, { principal }) =>
        renderings.ask(principal, project, parse(RenderingRequest, present(input))),
      ),
      jobRendering: one<{ project: string; jobId: string }>((job, { principal }) => renderings.ofJob(principal, job)),
    };
  }
}
