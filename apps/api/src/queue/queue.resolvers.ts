import { MAX_QUEUE_JOBS } from '@coxswain/api-types';
import { Inject, Injectable } from '@nestjs/common';
import { list, present, type RootFields, type RootResolvers } from '../graphql/root-resolvers.ts';
import { parse } from '../http/validation.ts';
import { DEFAULT_QUEUE_JOBS, QueueQuery } from './queue-queries.ts';
import { QueueService } from './queue.service.ts';

/** Changes that an answer about one job lists at most. */
const CHANGES_ROWS = 3;

/** The queue by GraphQL. */
@Injectable()
export class QueueResolvers implements RootResolvers {
  readonly queries: RootFields;

  constructor(@Inject(QueueService) queue: QueueService) {
    this.queries = {
      queue: list<{ readonly project: string; readonly limit?: number | null }>(
        ({ limit }) => Math.min(limit ?? DEFAULT_QUEUE_JOBS, MAX_QUEUE_JOBS),
        ({ project, ...query }, { principal }) =>
          queue.read(principal, { project, ...parse(QueueQuery, present(query)) }),
      ),
      jobStart: list<{ readonly project: string; readonly jobId: string }>(
        () => CHANGES_ROWS,
        (job, { principal }) => queue.ofJob(principal, job),
      ),
    };
  }
}
