import { Job, JobCheck, JobCreate, JobList, JobPatch, JobResume } from '@coxswain/api-types';
import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Patch, Post, Query } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { IdempotencyKey } from '../http/idempotency-key.ts';
import { ETAG } from '../http/etag.ts';
import { InsteadOfIdempotencyKey } from '../http/idempotency-key.guard.ts';
import { Answers } from '../http/openapi.ts';
import { JobsQuery } from './job-queries.ts';
import { JobCheckService } from './job-check.service.ts';
import { AddressedJob } from './job-request.ts';
import { type JobAddress, JobsService } from './jobs.service.ts';

/** A resume without a body resumes as it was. */
const Resume = JobResume.prefault({});

const COMMANDS_REPEAT =
  'Asking for what is so already changes nothing: repeat the request without the header, with If-Match where nothing else may have come between';

/** REST routes that submit, list, read, suspend, resume, cancel and delete jobs, and change their labels. */
@Controller('v1/projects/:project/jobs')
export class JobsController {
  readonly #jobs: JobsService;
  readonly #checks: JobCheckService;

  constructor(@Inject(JobsService) jobs: JobsService, @Inject(JobCheckService) checks: JobCheckService) {
    this.#jobs = jobs;
    this.#checks = checks;
  }

  @Post()
  @Answers({
    status: 201,
    schema: Job,
    summary: 'Submit a job; an Idempotency-Key makes a repetition safe',
    headers: [ETAG],
    refusals: ['NAME_TAKEN', 'INVALID_LAYOUT'],
  })
  create(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Body({ schema: JobCreate }) body: JobCreate,
    @IdempotencyKey() idempotencyKey: string | undefined,
  ): Promise<Job> {
    return this.#jobs.create(caller, { project, body, idempotencyKey });
  }

  @Post('check')
  @InsteadOfIdempotencyKey('Nothing is submitted: ask again without the header')
  @HttpCode(200)
  @Answers({ status: 200, schema: JobCheck, summary: 'What the job would wait for; nothing is submitted' })
  check(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Body({ schema: JobCreate }) body: JobCreate,
  ): Promise<JobCheck> {
    return this.#checks.check(caller, { project, body });
  }

  @Get()
  @Answers({
    status: 200,
    schema: JobList,
    summary: 'Jobs of a project: by labels, owner, state and name, in the order that is asked for',
  })
  list(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Query({ schema: JobsQuery }) query: JobsQuery,
  ): Promise<JobList> {
    return this.#jobs.list(caller, { project, ...query });
  }

  @Get(':jobId')
  @Answers({ status: 200, schema: Job, summary: 'One job; its ETag begins with specVersion, for If-Match' })
  get(@Caller() caller: Principal, @AddressedJob() address: JobAddress): Promise<Job> {
    return this.#jobs.get(caller, address);
  }

  @Patch(':jobId')
  @Answers({ status: 200, schema: Job, summary: 'Change its labels', headers: [ETAG], refusals: ['CONFLICT'] })
  patch(
    @Caller() caller: Principal,
    @AddressedJob() address: JobAddress,
    @Body({ schema: JobPatch }) body: JobPatch,
  ): Promise<Job> {
    return this.#jobs.patch(caller, address, body);
  }

  @Delete(':jobId')
  @HttpCode(202)
  @Answers({ status: 202, summary: 'Delete the job; its record stays' })
  remove(@Caller() caller: Principal, @AddressedJob() address: JobAddress): Promise<void> {
    return this.#jobs.remove(caller, address);
  }

  @Post(':jobId/suspend')
  @InsteadOfIdempotencyKey(COMMANDS_REPEAT)
  @HttpCode(200)
  @Answers({
    status: 200,
    schema: Job,
    summary: 'Save, stop and hold',
    headers: [ETAG],
    refusals: ['ALREADY_FINISHED', 'CONFLICT'],
  })
  suspend(@Caller() caller: Principal, @AddressedJob() address: JobAddress): Promise<Job> {
    return this.#jobs.suspend(caller, address);
  }

  @Post(':jobId/resume')
  @InsteadOfIdempotencyKey(COMMANDS_REPEAT)
  @HttpCode(200)
  @Answers({
    status: 200,
    schema: Job,
    summary: 'Run again, on another layout if one is given',
    headers: [ETAG],
    refusals: ['NOT_SUSPENDED', 'ALREADY_FINISHED', 'CONFLICT', 'INVALID_LAYOUT'],
  })
  resume(
    @Caller() caller: Principal,
    @AddressedJob() address: JobAddress,
    @Body({ schema: Resume }) body: JobResume,
  ): Promise<Job> {
    return this.#jobs.resume(caller, address, body);
  }

  @Post(':jobId/cancel')
  @InsteadOfIdempotencyKey(COMMANDS_REPEAT)
  @HttpCode(200)
  @Answers({
    status: 200,
    schema: Job,
    summary: 'Stop for good; the object stays',
    headers: [ETAG],
    refusals: ['ALREADY_FINISHED', 'CONFLICT'],
  })
  cancel(@Caller() caller: Principal, @AddressedJob() address: JobAddress): Promise<Job> {
    return this.#jobs.cancel(caller, address);
  }
}
