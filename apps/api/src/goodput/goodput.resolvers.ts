import { MAX_GOODPUT_SPANS } from '@coxswain/api-types';
import { Inject, Injectable } from '@nestjs/common';
import { list, type RootFields, type RootResolvers } from '../graphql/root-resolvers.ts';
import { GoodputService } from './goodput.service.ts';

/** Goodput by GraphQL. */
@Injectable()
export class GoodputResolvers implements RootResolvers {
  readonly queries: RootFields;

  constructor(@Inject(GoodputService) goodput: GoodputService) {
    this.queries = {
      goodput: list<{ project: string; jobId: string }>(
        () => MAX_GOODPUT_SPANS,
        (job, { principal }) => goodput.ofJob(principal, job),
      ),
    };
  }
}
