import { Job, JobCreate, JobList, JobResume } from '@coxswain/api-types';
import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, UseInterceptors } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { IdempotencyKey } from '../http/idempotency-key.ts';
import { Answers } from '../http/openapi.ts';
import { JobsQuery } from './job-queries.ts';
import { AddressedJob, JobEtag } from './job-request.ts';
import { type JobAddress, JobsService } from './jobs.service.ts';

/** A resume without a body resumes as it was. */
const Resume = JobResume.prefault({});

@Controller('v1/projects/:project/jobs')
@UseInterceptors(JobEtag)
export class JobsController {
  readonly #jobs: JobsService;

  constructor(@Inject(JobsService) jobs: JobsService) {
    this.#jobs = jobs;
  }

  @Post()
  @Answers({ status: 201, schema: Job, summary: 'Submit a job; an Idempotency-Key makes a repetition safe' })
  create(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Body({ schema: JobCreate }) body: JobCreate,
    @IdempotencyKey() idempotencyKey: string | undefined,
  ): Promise<Job> {
    return this.#jobs.create(caller, { project, body, idempotencyKey });
  }

  @Get()
  @Answers({ status: 200, schema: JobList, summary: 'Jobs of a project, newest first' })
  list(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Query({ schema: JobsQuery }) query: JobsQuery,
  ): Promise<JobList> {
    return this.#jobs.list(caller, { project, ...query });
  }

  @Get(':jobId')
  @Answers({ status: 200, schema: Job, summary: 'One job; ETag is its version' })
  get(@Caller() caller: Principal, @AddressedJob() address: JobAddress): Promise<Job> {
    return this.#jobs.get(caller, { ...address, ifVersion: undefined });
  }

  @Delete(':jobId')
  @HttpCode(202)
  @Answers({ status: 202, summary: 'Delete the job; its record stays' })
  remove(@Caller() caller: Principal, @AddressedJob() address: JobAddress): Promise<void> {
    return this.#jobs.remove(caller, address);
  }

  @Post(':jobId/suspend')
  @HttpCode(200)
  @Answers({ status: 200, schema: Job, summary: 'Save, stop and hold' })
  suspend(@Caller() caller: Principal, @AddressedJob() address: JobAddress): Promise<Job> {
    return this.#jobs.suspend(caller, address);
  }

  @Post(':jobId/resume')
  @HttpCode(200)
  @Answers({ status: 200, schema: Job, summary: 'Run again, on another layout if one is given' })
  resume(
    @Caller() caller: Principal,
    @AddressedJob() address: JobAddress,
    @Body({ schema: Resume }) body: JobResume,
  ): Promise<Job> {
    return this.#jobs.resume(caller, address, body);
  }

  @Post(':jobId/cancel')
  @HttpCode(200)
  @Answers({ status: 200, schema: Job, summary: 'Stop for good; the object stays' })
  cancel(@Caller() caller: Principal, @AddressedJob() address: JobAddress): Promise<Job> {
    return this.#jobs.cancel(caller, address);
  }
}
