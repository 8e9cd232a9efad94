import { JOB_DETAILS, JobCreate, JobPatch, JobResume } from '@coxswain/api-types';
import { MAX_WORLD_SIZE } from '@coxswain/layout';
import { Inject, Injectable } from '@nestjs/common';
import { list, one, present, type RootFields, type RootResolvers } from '../graphql/root-resolvers.ts';
import { isItemFieldAsked } from '../graphql/selected-fields.ts';
import { idempotencyKeyOf } from '../http/idempotency-key.ts';
import { pageRows } from '../http/page-query.ts';
import { parse } from '../http/validation.ts';
import { JobHistoryService, MAX_HISTORY } from './job-history.service.ts';
import { EventsQuery, JobsQuery, stepRows, StepsQuery } from './job-queries.ts';
import { type JobAddress, JobsService } from './jobs.service.ts';

interface InProject {
  readonly project: string;
}
interface OfJob extends InProject {
  readonly jobId: string;
}
interface JobCommand extends InProject {
  readonly id: string;
  readonly specVersion?: number | null;
}

/** Jobs and what became of them by GraphQL. */
@Injectable()
export class JobResolvers implements RootResolvers {
  readonly queries: RootFields;
  readonly mutations: RootFields;

  constructor(@Inject(JobsService) jobs: JobsService, @Inject(JobHistoryService) history: JobHistoryService) {
    this.queries = { ...jobQueries(jobs), ...historyQueries(history) };
    this.mutations = jobMutations(jobs);
  }
}

function jobQueries(jobs: JobsService): RootFields {
  return {
    jobs: list<InProject & { pageSize?: number | null }>(pageRows, ({ project, ...query }, { principal }, info) => {
      const fields = JOB_DETAILS.filter((detail) => isItemFieldAsked(info, detail));
      return jobs.list(principal, { project, ...parse(JobsQuery, present(query)), fields });
    }),
    job: one<InProject & { id: string }>(({ project, id }, { principal }) =>
      jobs.get(principal, { project, jobId: id }),
    ),
  };
}

function historyQueries(history: JobHistoryService): RootFields {
  return {
    events: list<OfJob>(
      () => MAX_HISTORY,
      ({ project, jobId, ...query }, { principal }) =>
        history.events(principal, { project, jobId }, parse(EventsQuery, present(query)).after),
    ),
    steps: list<OfJob & { limit?: number | null; maxPoints?: number | null }>(
      stepRows,
      ({ project, jobId, ...query }, { principal }) =>
        history.steps(principal, { project, jobId }, parse(StepsQuery, present(query))),
    ),
    ranks: list<OfJob>(
      () => MAX_WORLD_SIZE,
      (job, { principal }) => history.ranks(principal, job),
    ),
  };
}

function jobMutations(jobs: JobsService): RootFields {
  return {
    createJob: one<InProject & { input: unknown; idempotencyKey?: string | null }>(
      ({ project, input, idempotencyKey }, { principal }) =>
        jobs.create(principal, {
          project,
          body: parse(JobCreate, present(input)),
          idempotencyKey: idempotencyKeyOf(idempotencyKey ?? undefined),
        }),
    ),
    suspendJob: one<JobCommand>((command, { principal }) => jobs.suspend(principal, addressOf(command))),
    resumeJob: one<JobCommand & { input?: unknown }>(({ input, ...command }, { principal }) =>
      jobs.resume(principal, addressOf(command), parse(JobResume, present(input ?? {}))),
    ),
    labelJob: one<JobCommand & { labels: unknown }>(({ labels, ...command }, { principal }) =>
      jobs.patch(principal, addressOf(command), parse(JobPatch, { labels })),
    ),
    cancelJob: one<JobCommand>((command, { principal }) => jobs.cancel(principal, addressOf(command))),
    deleteJob: one<JobCommand>((command, { principal }) => jobs.remove(principal, addressOf(command)).then(() => true)),
  };
}

function addressOf({ project, id, specVersion }: JobCommand): JobAddress {
  return { project, jobId: id, ifSpecVersions: typeof specVersion === 'number' ? [specVersion] : undefined };
}
