import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { MAX_WORLD_SIZE } from '@coxswain/layout';
import { Caller, GoesOn } from '../auth/auth.guard.ts';
import { Authenticator } from '../auth/authenticator.ts';
import { credentialOf } from '../auth/credential.ts';
import type { Principal } from '../auth/principal.ts';
import { EventStreamService, STREAMED_EVENTS } from './event-stream.service.ts';
import type { DescribedHeader } from '../http/described-parameter.ts';
import { Answers } from '../http/openapi.ts';
import { STOPPING } from '../infrastructure/tokens.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { partsAfterWaiting } from '../limits/request-cpu.ts';
import type { FeedScope } from './feed-reader.ts';
import { endsReading, mayRead, RECHECK_MS } from './reading-right.ts';
import { PLACE, placeOf } from './stream-place.ts';
import { JobLogsService } from './job-logs.service.ts';
import type { JobAddress } from '../jobs/jobs.service.ts';

const StreamQuery = z.strictObject({
  after: z.coerce
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .default(0)
    .describe('Id of the last event that was seen.'),
});
type StreamQuery = z.infer<typeof StreamQuery>;
const LogsQuery = z.strictObject({
  rank: z.coerce
    .number()
    .int()
    .min(0)
    .max(MAX_WORLD_SIZE - 1)
    .default(0)
    .describe('Whose log.'),
  allRanks: z.stringbool().default(false).describe('The logs of all ranks, in place of one.'),
  attempt: z.coerce
    .number()
    .int()
    .min(1)
    .max(2_147_483_647)
    .optional()
    .describe('Number of the attempt. Absent: the newest attempt that was placed.'),
  tailLines: z.coerce.number().int().min(0).max(100_000).optional().describe('Absent: the whole log.'),
  since: z.iso.datetime({ offset: true }).optional().describe('Only lines that were written since then.'),
  grep: z.string().min(1).max(256).optional().describe('Only lines that contain this text.'),
  follow: z.stringbool().default(false).describe('Whether the answer goes on as the log grows.'),
});
type LogsQuery = z.infer<typeof LogsQuery>;

/** After which event a stream that broke off goes on. */
const LAST_EVENT_ID: DescribedHeader = {
  name: 'Last-Event-ID',
  description: 'The id that was seen last; the stream goes on after it, steps included. It goes before `after`.',
  schema: z.string().regex(PLACE),
};

/** Which of the two was answered. */
const LOG_SOURCE: DescribedHeader = {
  name: 'Coxswain-Log-Source',
  description:
    '`pod`: its log. `kept`: the pod is gone, and this was kept beside the checkpoints. `attempt`: nothing was, and this is what the attempt recorded of its end.',
  schema: z.enum(['pod', 'kept', 'attempt']),
};

const HEADERS_OF_STREAM = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
};

/** Answers that go on for as long as somebody reads. */
@GoesOn()
@Controller('v1/projects/:project/jobs/:jobId')
export class JobStreamsController {
  readonly #events: EventStreamService;
  readonly #logs: JobLogsService;
  readonly #limits: ProjectLimits;
  readonly #stopping: AbortSignal;
  readonly #authenticator: Authenticator;

  // eslint-disable-next-line max-params -- what is injected is chosen by its token, not by its place
  constructor(
    @Inject(EventStreamService) events: EventStreamService,
    @Inject(JobLogsService) logs: JobLogsService,
    @Inject(ProjectLimits) limits: ProjectLimits,
    @Inject(STOPPING) stopping: AbortSignal,
    @Inject(Authenticator) authenticator: Authenticator,
  ) {
    this.#events = events;
    this.#logs = logs;
    this.#limits = limits;
    this.#stopping = stopping;
    this.#authenticator = authenticator;
  }

  @Get('events/stream')
  @Answers({
    status: 200,
    contentType: 'text/event-stream',
    summary:
      'The job as it happens: event, job, step, and resync where something was left out; goes on after Last-Event-ID',
    requestHeaders: [LAST_EVENT_ID],
    events: STREAMED_EVENTS,
  })
  async stream(
    @Caller() caller: Principal,
    @Query({ schema: StreamQuery }) query: StreamQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const address = addressOf(request);
    // A HEAD request gets no body, so a stream would never send its headers.
    if (request.method === 'HEAD') return this.#headOfStream(caller, address, reply);
    const run = await this.#events.open({
      principal: caller,
      address,
      place: placeOf(request.headers['last-event-id']) ?? { event: query.after, change: undefined },
      credential: credentialOf(request.headers),
    });
    reply.hijack();
    reply.raw.writeHead(200, { ...headersOf(reply), ...HEADERS_OF_STREAM });
    await run(reply.raw);
  }

  async #headOfStream(caller: Principal, address: JobAddress, reply: FastifyReply): Promise<void> {
    await this.#events.requireReadable(caller, address);
    reply.hijack();
    reply.raw.writeHead(200, { ...headersOf(reply), ...HEADERS_OF_STREAM }).end();
  }

  @Get('logs')
  @Answers({
    status: 200,
    contentType: 'text/plain',
    summary:
      'The log of the pod that holds a rank, or of all pods; where a pod is gone, what was kept of it or what its attempt recorded; 64 MiB unless it is followed',
    headers: [LOG_SOURCE],
    refusals: ['CONFLICT'],
  })
  async logs(
    @Caller() caller: Principal,
    @Query({ schema: LogsQuery }) query: LogsQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const scope = scopeOfReader(caller, addressOf(request).project);
    const gone = new AbortController();
    const projectId = scope.kind === 'project' ? scope.id : undefined;
    const leave = this.#limits.openLog(caller, projectId, () => gone.abort());
    reply.raw.on('close', () => gone.abort());
    const signal = AbortSignal.any([gone.signal, this.#stopping]);
    // A followed log can outlive its reader’s right to it.
    let checkedAtMs = performance.now();
    const checking = setInterval(() => {
      const nowMs = performance.now();
      this.#authenticator.authenticate(credentialOf(request.headers)).then(
        (principal) => {
          checkedAtMs = nowMs;
          if (!mayRead(principal)(scope)) gone.abort();
        },
        (error: unknown) => {
          if (endsReading(error, nowMs - checkedAtMs)) gone.abort();
        },
      );
    }, RECHECK_MS);
    try {
      const { source, body } = await this.#logs.open(caller, addressOf(request), {
        ...onlyHead(request, query),
        signal,
      });
      reply.hijack();
      reply.raw.writeHead(200, {
        ...headersOf(reply),
        'content-type': 'text/plain; charset=utf-8',
        'coxswain-log-source': source,
        'cache-control': 'no-store',
      });
      // Whether reader or pod left first, the answer has ended.
      await pipeline(Readable.from(partsAfterWaiting(body)), reply.raw).catch(() => undefined);
    } finally {
      clearInterval(checking);
      leave();
    }
  }
}

/** A HEAD request waits for no line. */
function onlyHead({ method }: FastifyRequest, query: LogsQuery): LogsQuery & { readonly isHead: boolean } {
  return method === 'HEAD' ? { ...query, follow: false, tailLines: 0, isHead: true } : { ...query, isHead: false };
}

function addressOf(request: FastifyRequest): JobAddress {
  const { project = '', jobId = '' } = request.params as { readonly project?: string; readonly jobId?: string };
  return { project, jobId };
}

/** Headers that plugins have set (helmet): a hijacked reply does not write them itself. */
function headersOf(reply: FastifyReply): Record<string, string> {
  return Object.fromEntries(Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)]));
}

/** What a reader must go on being allowed to read: the project that he named, or, for administrators, the cluster. */
function scopeOfReader({ isClusterAdmin, memberships }: Principal, project: string): FeedScope {
  if (isClusterAdmin) return { kind: 'cluster' };
  // One that he does not belong to is refused before anything is read.
  return { kind: 'project', id: memberships.find(({ name }) => name === project)?.id ?? '' };
}
