import { Inject, Injectable } from '@nestjs/common';
import { list, type Relations, type RootFields, type RootResolvers } from '../graphql/root-resolvers.ts';
import { newestRelation } from '../jobs/newest-relation.ts';
import { CheckpointsService, MAX_LISTED_CHECKPOINTS } from './checkpoints.service.ts';

/** Checkpoints by GraphQL: those of a job, and the newest beside each job of an answer. */
@Injectable()
export class CheckpointsResolvers implements RootResolvers {
  readonly queries: RootFields;
  readonly relations: Relations;

  constructor(@Inject(CheckpointsService) checkpoints: CheckpointsService) {
    this.queries = {
      checkpoints: list<{ readonly project: string; readonly jobId: string }>(
        () => MAX_LISTED_CHECKPOINTS,
        (job, { principal }) => checkpoints.ofJob(principal, job),
      ),
    };
    const ofEach = {
      checkpoints: newestRelation((jobs, limit, principal) => checkpoints.ofJobs(principal, jobs, limit)),
    };
    this.relations = { Job: ofEach, JobSummary: ofEach };
  }
}
