import type { ServerResponse } from 'node:http';
import { Job, JobEvent, StepPoint } from '@coxswain/api-types';
import type { Metrics } from '@coxswain/telemetry';
import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { Authenticator } from '../auth/authenticator.ts';
import type { Credential } from '../auth/credential.ts';
import type { Principal } from '../auth/principal.ts';
import type { Config } from '../config/config.ts';
import { ALL_PROJECTS } from '../auth/project-scope.ts';
import { CONFIG, FAN_OUT, METRICS, STOPPING } from '../infrastructure/tokens.ts';
import { type JobAddress, JobsService } from '../jobs/jobs.service.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import type { FeedScope } from './feed-reader.ts';
import type { JobFanOut } from './job-fan-out.ts';
import { mayRead } from './reading-right.ts';
import type { StreamPlace } from './stream-place.ts';
import { StreamWriter } from './stream-writer.ts';
import { UnreadBytes } from './unread-bytes.ts';

/** Who wants to see which job, from where on. */
export interface StreamRequest {
  readonly principal: Principal;
  readonly address: JobAddress;
  /** What was seen last. */
  readonly place: StreamPlace;
  readonly credential: Credential | undefined;
}

/** What a stream sends, by the name of the event. */
export const STREAMED_EVENTS = {
  event: { description: 'something happened to the job.', schema: JobEvent },
  job: { description: 'the job as it is now; the first is sent at once.', schema: Job },
  step: {
    description: 'a step of training that was reported since the stream was opened, or since what was seen last.',
    schema: StepPoint,
  },
  resync: {
    description:
      'steps were left out, because there were too many to catch up with or too much was left unread: read the curve again.',
    schema: z.strictObject({}),
  },
} as const;

/** Of all unread bytes, those of one project or administrator. */
const SHARE_OF_OWNER = 1 / 4;

const BEGIN = Buffer.from(': begin\n\n');

/** A job as it happens, over server-sent events: `event` (JobEvent), `job` (Job), `step` (StepPoint), and `resync` when something was left out. */
@Injectable()
export class EventStreamService {
  readonly #jobs: Pick<JobsService, 'requireRow'>;
  readonly #authenticator: Pick<Authenticator, 'authenticate'>;
  readonly #fanOut: Pick<JobFanOut, 'watch' | 'leave'>;
  readonly #limits: Pick<ProjectLimits, 'openStream'>;
  readonly #stopping: AbortSignal;
  readonly #mostUnreadBytes: number;
  readonly #unread: UnreadBytes;

  // eslint-disable-next-line max-params -- what is injected is chosen by its token, not by its place
  constructor(
    @Inject(JobsService) jobs: Pick<JobsService, 'requireRow'>,
    @Inject(Authenticator) authenticator: Pick<Authenticator, 'authenticate'>,
    @Inject(FAN_OUT) fanOut: Pick<JobFanOut, 'watch' | 'leave'>,
    @Inject(ProjectLimits) limits: Pick<ProjectLimits, 'openStream'>,
    @Inject(STOPPING) stopping: AbortSignal,
    @Inject(CONFIG) config: Config,
    @Inject(METRICS) metrics: Metrics,
  ) {
    this.#jobs = jobs;
    this.#authenticator = authenticator;
    this.#fanOut = fanOut;
    this.#limits = limits;
    this.#stopping = stopping;
    this.#mostUnreadBytes = config.projectLimits.unreadStreamKib * 1_024;
    const most = config.replicaLimits.unreadStreamsMib * 1_048_576;
    this.#unread = new UnreadBytes({ most, mostOfOwner: most * SHARE_OF_OWNER });
    metrics.gauge({
      name: 'coxswain_api_streams_unread_bytes',
      help: 'Bytes of event streams that their readers have not read, as last noted.',
      collect: () => this.#unread.bytes,
    });
  }

  /** NOT_FOUND for a caller that may not open its stream. */
  async requireReadable(principal: Principal, address: JobAddress): Promise<void> {
    await this.#jobs.requireRow(principal, address);
  }

  /** Decides whether the stream may be opened; what it returns runs it until the reader leaves, may not read any more, or the process stops. */
  async open(request: StreamRequest): Promise<(response: ServerResponse) => Promise<void>> {
    const { principal, address, place, credential } = request;
    const { id: jobId, project_id: ofProject } = await this.#jobs.requireRow(principal, address);
    const scope: FeedScope =
      address.project === ALL_PROJECTS || ofProject === null ? { kind: 'cluster' } : { kind: 'project', id: ofProject };
    const projectId = scope.kind === 'project' ? scope.id : undefined;
    const cut = new AbortController();
    const leave = this.#limits.openStream(principal, projectId, () => cut.abort());
    const check = async (): Promise<(scope: FeedScope) => boolean> =>
      mayRead(await this.#authenticator.authenticate(credential));
    return (response) =>
      new Promise((ended) => {
        const stop = (): void => writer.end({ isComplete: true });
        const onEnd = (): void => {
          this.#stopping.removeEventListener('abort', stop);
          this.#fanOut.leave(writer);
          leave();
          ended();
        };
        const share = { owner: projectId ?? principal.id, unread: this.#unread };
        const writer = new StreamWriter(response, this.#mostUnreadBytes, onEnd, share);
        this.#stopping.addEventListener('abort', stop);
        cut.signal.addEventListener('abort', stop);
        writer.write(BEGIN);
        if (response.destroyed) return;
        if (this.#stopping.aborted || cut.signal.aborted) return stop();
        this.#fanOut
          .watch({ scope, jobId, place, writer, check, credential: `${credential?.by} ${credential?.text}` })
          .catch(stop);
      });
  }
}
