import { JobStacks } from '@coxswain/api-types';
import { Controller, HttpCode, Inject, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { InsteadOfIdempotencyKey } from '../http/idempotency-key.guard.ts';
import { Answers } from '../http/openapi.ts';
import { StacksQuery } from './stack-queries.ts';
import { StacksService } from './stacks.service.ts';

/** REST route that asks the ranks of a job for their current stack traces. */
@Controller('v1/projects/:project/jobs/:jobId')
export class StacksController {
  readonly #stacks: StacksService;

  constructor(@Inject(StacksService) stacks: StacksService) {
    this.#stacks = stacks;
  }

  // eslint-disable-next-line max-params -- what is injected is chosen by its decorator, not by its place
  @Post('stacks')
  @InsteadOfIdempotencyKey('It changes nothing: repeat the request without the header')
  @HttpCode(200)
  @Answers({
    status: 200,
    schema: JobStacks,
    summary: 'Current stack traces of a job’s ranks: equal stacks grouped, and the ranks that did not answer',
    refusals: ['CONFLICT'],
  })
  take(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Param('jobId') jobId: string,
    @Query({ schema: StacksQuery }) { rank }: StacksQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<JobStacks> {
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    return this.#stacks.take(caller, { project, jobId }, { rank, signal: gone.signal });
  }
}
