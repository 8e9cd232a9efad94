import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { isDomainError } from '@coxswain/domain-error';
import { MAX_WORLD_SIZE } from '@coxswain/layout';
import { Caller, GoesOn } from '../auth/auth.guard.ts';
import { Authenticator } from '../auth/authenticator.ts';
import type { Principal } from '../auth/principal.ts';
import { EventStreamService } from './event-stream.service.ts';
import type { OpenStreams } from './open-streams.ts';
import { invalidRequest } from '../http/validation.ts';
import { Answers } from '../http/openapi.ts';
import { OPEN_STREAMS } from '../infrastructure/tokens.ts';
import { JobLogsService } from './job-logs.service.ts';
import type { JobAddress } from '../jobs/jobs.service.ts';

const StreamQuery = z.strictObject({ after: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0) });
type StreamQuery = z.infer<typeof StreamQuery>;
const LogsQuery = z.strictObject({
  rank: z.coerce
    .number()
    .int()
    .min(0)
    .max(MAX_WORLD_SIZE - 1)
    .default(0),
  tailLines: z.coerce.number().int().min(0).max(100_000).optional(),
  follow: z.stringbool().default(false),
});
type LogsQuery = z.infer<typeof LogsQuery>;

/** How often the token behind an open log is looked at again. */
const CHECK_AGAIN_MS = 2_000;

/** Answers that go on for as long as somebody reads. */
@GoesOn()
@Controller('v1/projects/:project/jobs/:jobId')
export class JobStreamsController {
  readonly #events: EventStreamService;
  readonly #logs: JobLogsService;
  readonly #streams: OpenStreams;
  readonly #authenticator: Authenticator;

  constructor(
    @Inject(EventStreamService) events: EventStreamService,
    @Inject(JobLogsService) logs: JobLogsService,
    @Inject(OPEN_STREAMS) streams: OpenStreams,
    @Inject(Authenticator) authenticator: Authenticator,
  ) {
    this.#events = events;
    this.#logs = logs;
    this.#streams = streams;
    this.#authenticator = authenticator;
  }

  @Get('events/stream')
  @Answers({
    status: 200,
    contentType: 'text/event-stream',
    summary: 'The job as it happens: event, job, step; resumes after Last-Event-ID',
  })
  async stream(
    @Caller() caller: Principal,
    @Query({ schema: StreamQuery }) query: StreamQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const run = await this.#events.open({
      principal: caller,
      address: addressOf(request),
      after: lastEventIdOf(request) ?? query.after,
      authorization: request.headers.authorization,
    });
    reply.hijack();
    reply.raw.writeHead(200, {
      ...headersOf(reply),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    await run(reply.raw);
  }

  @Get('logs')
  @Answers({ status: 200, contentType: 'text/plain', summary: 'The log of the pod that holds a rank' })
  async logs(
    @Caller() caller: Principal,
    @Query({ schema: LogsQuery }) query: LogsQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const leave = this.#streams.enter(caller);
    const gone = new AbortController();
    reply.raw.on('close', () => gone.abort());
    const signal = AbortSignal.any([gone.signal, this.#streams.stopped]);
    // A followed log can outlive its reader’s right to it.
    const checking = setInterval(() => {
      this.#authenticator.authenticate(request.headers.authorization).catch((error: unknown) => {
        if (isDomainError(error)) gone.abort();
      });
    }, CHECK_AGAIN_MS);
    try {
      const body = await this.#logs.open(caller, addressOf(request), { ...query, signal });
      reply.hijack();
      reply.raw.writeHead(200, {
        ...headersOf(reply),
        'content-type': 'text/plain; charset=utf-8',
        'cache-control': 'no-store',
      });
      // Whether reader or pod left first, the answer has ended.
      await pipeline(Readable.from(body), reply.raw).catch(() => undefined);
    } finally {
      clearInterval(checking);
      leave();
    }
  }
}

function addressOf(request: FastifyRequest): JobAddress {
  const { project = '', jobId = '' } = request.params as { readonly project?: string; readonly jobId?: string };
  return { project, jobId };
}

function lastEventIdOf(request: FastifyRequest): number | undefined {
  const header = request.headers['last-event-id'];
  if (typeof header !== 'string' || header === '') return undefined;
  if (/^[0-9]{1,15}$/.test(header)) return Number(header);
  throw invalidRequest([{ message: 'Last-Event-ID must be the id of an event of this stream', path: [] }]);
}

/** Headers that plugins have set (helmet): a hijacked reply does not write them itself. */
function headersOf(reply: FastifyReply): Record<string, string> {
  return Object.fromEntries(Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)]));
}
