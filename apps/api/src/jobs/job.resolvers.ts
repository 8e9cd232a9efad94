import { JobCreate, JobResume } from '@coxswain/api-types';
import { Inject, Injectable } from '@nestjs/common';
import { type FieldResolvers, present, resolver, type RootResolvers } from '../graphql/root-resolvers.ts';
import { idempotencyKeyOf } from '../http/idempotency-key.ts';
import { parse } from '../http/validation.ts';
import { JobHistoryService } from './job-history.service.ts';
import { EventsQuery, JobsQuery, StepsQuery } from './job-queries.ts';
import { type JobAddress, JobsService } from './jobs.service.ts';

interface InProject {
  readonly project: string;
}
interface OfJob extends InProject {
  readonly jobId: string;
}
interface JobCommand extends InProject {
  readonly id: string;
  readonly version?: number | null;
}

/** Jobs and what became of them by GraphQL. */
@Injectable()
export class JobResolvers implements RootResolvers {
  readonly queries: FieldResolvers;
  readonly mutations: FieldResolvers;

  constructor(@Inject(JobsService) jobs: JobsService, @Inject(JobHistoryService) history: JobHistoryService) {
    this.queries = { ...jobQueries(jobs), ...historyQueries(history) };
    this.mutations = jobMutations(jobs);
  }
}

function jobQueries(jobs: JobsService): FieldResolvers {
  return {
    jobs: resolver<InProject>(async (_root, { project, ...query }, { principal, budget }) =>
      budget.spend(await jobs.list(principal, { project, ...parse(JobsQuery, present(query)) })),
    ),
    job: resolver<InProject & { id: string }>((_root, { project, id }, { principal }) =>
      jobs.get(principal, { project, jobId: id }),
    ),
  };
}

function historyQueries(history: JobHistoryService): FieldResolvers {
  return {
    checkpoints: resolver<OfJob>(async (_root, job, { principal, budget }) =>
      budget.spend(await history.checkpoints(principal, job)),
    ),
    events: resolver<OfJob>(async (_root, { project, jobId, ...query }, { principal, budget }) => {
      const { after } = parse(EventsQuery, present(query));
      return budget.spend(await history.events(principal, { project, jobId }, after));
    }),
    steps: resolver<OfJob>(async (_root, { project, jobId, ...query }, { principal, budget }) =>
      budget.spend(await history.steps(principal, { project, jobId }, parse(StepsQuery, present(query)))),
    ),
    ranks: resolver<OfJob>(async (_root, job, { principal, budget }) =>
      budget.spend(await history.ranks(principal, job)),
    ),
  };
}

function jobMutations(jobs: JobsService): FieldResolvers {
  return {
    createJob: resolver<InProject & { input: unknown; idempotencyKey?: string | null }>(
      (_root, { project, input, idempotencyKey }, { principal }) =>
        jobs.create(principal, {
          project,
          body: parse(JobCreate, present(input)),
          idempotencyKey: idempotencyKeyOf(idempotencyKey ?? undefined),
        }),
    ),
    suspendJob: resolver<JobCommand>((_root, command, { principal }) => jobs.suspend(principal, addressOf(command))),
    resumeJob: resolver<JobCommand & { input?: unknown }>((_root, { input, ...command }, { principal }) =>
      jobs.resume(principal, addressOf(command), parse(JobResume, present(input ?? {}))),
    ),
    cancelJob: resolver<JobCommand>((_root, command, { principal }) => jobs.cancel(principal, addressOf(command))),
    deleteJob: resolver<JobCommand>((_root, command, { principal }) =>
      jobs.remove(principal, addressOf(command)).then(() => true),
    ),
  };
}

function addressOf({ project, id, version }: JobCommand): JobAddress {
  return { project, jobId: id, ifVersion: version ?? undefined };
}
