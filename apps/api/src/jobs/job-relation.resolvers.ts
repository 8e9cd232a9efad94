import type { Job } from '@coxswain/api-types';
import { MAX_WORLD_SIZE } from '@coxswain/layout';
import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { ALL_PROJECTS } from '../auth/project-scope.ts';
import { present, type Relation, type Relations, type RootResolvers } from '../graphql/root-resolvers.ts';
import { parse } from '../http/validation.ts';
import { JobHistoryService } from './job-history.service.ts';
import { stepRows, StepsQuery } from './job-queries.ts';
import { type AnsweredJob, JobRelationsService } from './job-relations.service.ts';
import type { JobAddress } from './jobs.service.ts';

/** Most of what is read beside one job of a list. */
export const MAX_RELATED = 100;
const DEFAULT_RELATED = 20;
/** What is read beside the jobs of a page is in no page that ends by bytes, so that each row of it counts as so many. */
const RELATED_ROWS = 5;
const RelatedQuery = z.strictObject({ limit: z.int().min(1).max(MAX_RELATED).default(DEFAULT_RELATED) });

interface Limited {
  readonly limit?: number | null;
}

/** What GraphQL reads beside a job. A list of jobs has what can be read for all of them at once. */
@Injectable()
export class JobRelationResolvers implements RootResolvers {
  readonly relations: Relations;

  constructor(
    @Inject(JobRelationsService) related: JobRelationsService,
    @Inject(JobHistoryService) history: JobHistoryService,
  ) {
    const ofEach = {
      checkpoints: newest((jobs, limit, principal) => related.checkpoints(principal, jobs, limit)),
      events: newest((jobs, limit, principal) => related.events(principal, jobs, limit)),
    };
    this.relations = { Job: { ...ofEach, ...ofOne(history) }, JobSummary: ofEach };
  }
}

type ReadNewest = (
  jobs: readonly AnsweredJob[],
  limit: number,
  principal: Parameters<JobRelationsService['events']>[0],
) => Promise<readonly object[]>;

function newest(read: ReadNewest): Relation<AnsweredJob, Limited> {
  return {
    rows: ({ limit }) => RELATED_ROWS * Math.min(limit ?? DEFAULT_RELATED, MAX_RELATED),
    resolve: (jobs, args, { principal }) => read(jobs, parse(RelatedQuery, present(args)).limit, principal),
  };
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
