import type { Job } from '@coxswain/api-types';
import { MAX_WORLD_SIZE } from '@coxswain/layout';
import { Inject, Injectable } from '@nestjs/common';
import { ALL_PROJECTS } from '../auth/project-scope.ts';
import { present, type Relation, type Relations, type RootResolvers } from '../graphql/root-resolvers.ts';
import { parse } from '../http/validation.ts';
import { JobHistoryService } from './job-history.service.ts';
import { stepRows, StepsQuery } from './job-queries.ts';
import type { JobAddress } from './jobs.service.ts';
import { type Limited, newestRelation } from './newest-relation.ts';

/** What GraphQL reads beside a job. A list of jobs has what can be read for all of them at once. */
@Injectable()
export class JobRelationResolvers implements RootResolvers {
  readonly relations: Relations;

  constructor(@Inject(JobHistoryService) history: JobHistoryService) {
    const ofEach = {
      events: newestRelation((jobs, limit, principal) => history.eventsOfJobs(principal, jobs, limit)),
    };
    this.relations = { Job: { ...ofEach, ...ofOne(history) }, JobSummary: ofEach };
  }
}

/** A job alone: of these there are as many in an answer as fields at its root. */
function ofOne(history: JobHistoryService): {
  readonly steps: Relation<Job, Limited>;
  readonly ranks: Relation<Job, object>;
} {
  return {
    steps: {
      rows: stepRows,
      resolve: (jobs, args, { principal }) => {
        const query = parse(StepsQuery, present(args));
        return Promise.all(jobs.map((job) => history.steps(principal, addressOf(job), query)));
      },
    },
    ranks: {
      rows: () => MAX_WORLD_SIZE,
      resolve: (jobs, _args, { principal }) => Promise.all(jobs.map((job) => history.ranks(principal, addressOf(job)))),
    },
  };
}

function addressOf({ id, project }: Job): JobAddress {
  return { project: project ?? ALL_PROJECTS, jobId: id };
}
