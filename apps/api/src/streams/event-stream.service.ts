import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { isDomainError } from '@coxswain/domain-error';
import type { Logger } from '@coxswain/telemetry';
import { Inject, Injectable } from '@nestjs/common';
import { Authenticator } from '../auth/authenticator.ts';
import type { Principal } from '../auth/principal.ts';
import { LIVE_JOBS, LOGGER, OPEN_STREAMS } from '../infrastructure/tokens.ts';
import { JobHistoryService } from '../jobs/job-history.service.ts';
import { type JobAddress, JobsService } from '../jobs/jobs.service.ts';
import type { LiveJobs } from './live-jobs.ts';
import type { OpenStreams } from './open-streams.ts';

const HEARTBEAT_MS = 15_000;
/** A change is shown at the earliest so long after the one before it: bursts are sent as one. */
const COALESCE_MS = 200;
/** Without notifications (their connection is down) the rows are looked at anyway; also how often the token is checked again. */
const LOOK_ANYWAY_MS = 5_000;
/** A reader that leaves so much unread is cut off; it comes back with Last-Event-ID. */
const MAX_UNREAD_BYTES = 1_048_576;

/** Who wants to see which job, from where on. */
export interface StreamRequest {
  readonly principal: Principal;
  readonly address: JobAddress;
  /** Id of the last event that was seen; 0 for all. */
  readonly after: number;
  readonly authorization: string | undefined;
}

/** What a stream shows of a job's history. */
type StreamedHistory = Pick<JobHistoryService, 'eventsAfter' | 'stepsPosition' | 'stepsChangedAfter'>;

/** A job as it happens, over server-sent events: `event` (JobEvent, with id), `job` (Job) and `step` (StepPoint). */
@Injectable()
export class EventStreamService {
  readonly #jobs: Pick<JobsService, 'get' | 'requireRow'>;
  readonly #history: StreamedHistory;
  readonly #authenticator: Pick<Authenticator, 'authenticate'>;
  readonly #live: Pick<LiveJobs, 'subscribe'>;
  readonly #streams: OpenStreams;
  readonly #logger: Logger;

  // eslint-disable-next-line max-params -- what is injected is chosen by its token, not by its place
  constructor(
    @Inject(JobsService) jobs: Pick<JobsService, 'get' | 'requireRow'>,
    @Inject(JobHistoryService) history: StreamedHistory,
    @Inject(Authenticator) authenticator: Pick<Authenticator, 'authenticate'>,
    @Inject(LIVE_JOBS) live: Pick<LiveJobs, 'subscribe'>,
    @Inject(OPEN_STREAMS) streams: OpenStreams,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.#jobs = jobs;
    this.#history = history;
    this.#authenticator = authenticator;
    this.#live = live;
    this.#streams = streams;
    this.#logger = logger;
  }

  /** Decides whether the stream may be opened; what it returns runs it until the reader leaves, may not read any more, or the process stops. */
  async open(request: StreamRequest): Promise<(response: ServerResponse) => Promise<void>> {
    await this.#jobs.requireRow(request.principal, request.address);
    const leave = this.#streams.enter(request.principal);
    return async (response) => {
      try {
        await this.#run(request, response);
      } catch (error) {
        // A token that was revoked or a job that is no longer the reader’s ends the stream; the next attempt is told why.
        if (!isDomainError(error))
          this.#logger.warn({ reason: (error as Error).message }, 'an event stream ended early');
      } finally {
        leave();
        response.end();
      }
    };
  }

  async #run(request: StreamRequest, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const ended = AbortSignal.any([gone.signal, this.#streams.stopped]);
    let isAwake = true;
    let wake = (): void => undefined;
    const unsubscribe = this.#live.subscribe(request.address.jobId, () => {
      isAwake = true;
      wake();
    });
    const writer = new EventWriter(response);
    const heartbeat = setInterval(() => writer.comment('ping'), HEARTBEAT_MS);
    writer.comment('begin');
    try {
      const seen: Seen = { event: request.after, version: -1, steps: undefined };
      while (!ended.aborted && !writer.isStuck) {
        isAwake = false;
        await this.#show(request, writer, seen);
        await pause(COALESCE_MS, ended);
        if (isAwake) continue;
        const woken = new AbortController();
        wake = () => woken.abort();
        await pause(LOOK_ANYWAY_MS, AbortSignal.any([ended, woken.signal]));
      }
    } finally {
      clearInterval(heartbeat);
      unsubscribe();
    }
  }

  async #show(request: StreamRequest, writer: EventWriter, seen: Seen): Promise<void> {
    const principal = await this.#authenticator.authenticate(request.authorization);
    const job = await this.#jobs.get(principal, { ...request.address, ifVersion: undefined });
    for (const event of await this.#history.eventsAfter(job.id, seen.event)) {
      writer.send('event', event, event.id);
      seen.event = event.id;
    }
    if (job.version !== seen.version) writer.send('job', job);
    seen.version = job.version;
    if (job.uid === null) return;
    seen.steps ??= await this.#history.stepsPosition(job.uid);
    const { steps, position } = await this.#history.stepsChangedAfter(job.uid, seen.steps);
    for (const step of steps) writer.send('step', step);
    seen.steps = position;
  }
}

/** How far a stream has got. */
interface Seen {
  event: number;
  version: number;
  steps: string | undefined;
}

class EventWriter {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get isStuck(): boolean {
    return this.#response.destroyed || this.#response.writableLength > MAX_UNREAD_BYTES;
  }

  send(type: 'event' | 'job' | 'step', data: unknown, id?: number): void {
    const idLine = id === undefined ? '' : `id: ${id}\n`;
    this.#response.write(`event: ${type}\n${idLine}data: ${JSON.stringify(data)}\n\n`);
  }

  comment(text: string): void {
    if (!this.#response.destroyed) this.#response.write(`: ${text}\n\n`);
  }
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { signal }).catch(() => undefined);
}
