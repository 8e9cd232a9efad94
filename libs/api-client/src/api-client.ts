import {
  ApiTokenCreated,
  CheckpointList,
  Job,
  JobEvent,
  JobEventList,
  JobList,
  Project,
  ProjectList,
  RankMap,
  StepList,
  StepPoint,
  WhoAmI,
  type JobCreateInput,
} from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import type { z } from 'zod';
import { ApiProblem, ApiUnreachable } from './api-problem.ts';
import { serverSentEvents } from './server-sent-events.ts';

/** Where the API is and who asks. */
export interface ApiAccess {
  /** Base URL without a trailing slash; '' means the page's own origin. */
  readonly server: string;
  readonly token: string;
}

interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** What a job's live stream says; `lastEventId` lets a reader go on where it left off. */
export type StreamedChange =
  | { readonly kind: 'event'; readonly event: JobEvent; readonly lastEventId: string | undefined }
  | { readonly kind: 'job'; readonly job: Job }
  | { readonly kind: 'step'; readonly point: StepPoint };

/** A job as its URL names it. */
interface JobReference {
  readonly project: string;
  readonly id: string;
}

/**
 * The REST API for programs: CLI, dashboard, quickstart and tests. Answers are parsed with the schemas that the API itself uses.
 *
 * Every call rejects with {@link ApiProblem} when the API refuses and {@link ApiUnreachable} when it does not answer.
 */
export class ApiClient {
  readonly #access: ApiAccess;

  constructor(access: ApiAccess) {
    this.#access = access;
  }

  whoAmI(): Promise<WhoAmI> {
    return this.#json(WhoAmI, '/v1/whoami');
  }

  projects(): Promise<ProjectList> {
    return this.#json(ProjectList, '/v1/projects');
  }

  createProject(body: { readonly name: string; readonly namespaces: readonly string[] }): Promise<Project> {
    return this.#json(Project, '/v1/projects', { method: 'POST', body });
  }

  createToken(project: string, body: { readonly name: string; readonly role?: string }): Promise<ApiTokenCreated> {
    return this.#json(ApiTokenCreated, `${projectPath(project)}/tokens`, { method: 'POST', body });
  }

  /** The same idempotency key makes one job however often it is sent. */
  createJob(project: string, body: JobCreateInput, idempotencyKey: string): Promise<Job> {
    return this.#json(Job, `${projectPath(project)}/jobs`, {
      method: 'POST',
      body,
      headers: { 'idempotency-key': idempotencyKey },
    });
  }

  job(reference: JobReference): Promise<Job> {
    return this.#json(Job, jobPath(reference));
  }

  jobPage(
    project: string,
    query: {
      readonly state?: string | undefined;
      readonly pageSize?: number;
      readonly pageToken?: string | undefined;
    } = {},
  ): Promise<JobList> {
    const search = new URLSearchParams();
    for (const [key, value] of Object.entries(query)) if (value !== undefined) search.set(key, String(value));
    return this.#json(JobList, `${projectPath(project)}/jobs?${search.toString()}`);
  }

  /** Every job of the project, newest first, page by page. */
  async *jobs(project: string, state?: string): AsyncGenerator<Job> {
    let pageToken: string | undefined;
    do {
      const page = await this.jobPage(project, { state, pageSize: 100, pageToken });
      yield* page.items;
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
  }

  suspend(reference: JobReference): Promise<Job> {
    return this.#json(Job, `${jobPath(reference)}/suspend`, { method: 'POST', body: {} });
  }

  cancel(reference: JobReference): Promise<Job> {
    return this.#json(Job, `${jobPath(reference)}/cancel`, { method: 'POST', body: {} });
  }

  /** Without a layout the job goes on with the one it has. */
  resume(reference: JobReference, layout?: ParallelLayout): Promise<Job> {
    return this.#json(Job, `${jobPath(reference)}/resume`, {
      method: 'POST',
      body: layout === undefined ? {} : { layout },
    });
  }

  async deleteJob(reference: JobReference): Promise<void> {
    await this.#request(jobPath(reference), { method: 'DELETE' });
  }

  jobEvents(reference: JobReference): Promise<JobEventList> {
    return this.#json(JobEventList, `${jobPath(reference)}/events`);
  }

  steps(reference: JobReference): Promise<StepList> {
    return this.#json(StepList, `${jobPath(reference)}/steps`);
  }

  ranks(reference: JobReference): Promise<RankMap> {
    return this.#json(RankMap, `${jobPath(reference)}/ranks`);
  }

  checkpoints(reference: JobReference): Promise<CheckpointList> {
    return this.#json(CheckpointList, `${jobPath(reference)}/checkpoints`);
  }

  /** Text of a rank's log; with `follow` it ends when the pod does. */
  async logs(
    reference: JobReference,
    options: { readonly rank: number; readonly tailLines?: number; readonly follow?: boolean },
  ): Promise<ReadableStream<Uint8Array>> {
    const query = new URLSearchParams({ rank: String(options.rank) });
    if (options.tailLines !== undefined) query.set('tailLines', String(options.tailLines));
    if (options.follow === true) query.set('follow', 'true');
    const response = await this.#request(`${jobPath(reference)}/logs?${query.toString()}`, {
      headers: { accept: 'text/plain' },
    });
    return bodyOf(response);
  }

  /** What happens to a job from now on (and since `lastEventId`), until the server or the signal ends the stream. */
  async *changes(
    reference: JobReference,
    options: { readonly lastEventId?: string | undefined; readonly signal?: AbortSignal },
  ): AsyncGenerator<StreamedChange> {
    const response = await this.#request(`${jobPath(reference)}/events/stream`, {
      headers: {
        accept: 'text/event-stream',
        ...(options.lastEventId === undefined ? {} : { 'last-event-id': options.lastEventId }),
      },
      signal: options.signal,
    });
    for await (const { event, data, id } of serverSentEvents(bodyOf(response))) {
      if (event === 'event') yield { kind: 'event', event: JobEvent.parse(JSON.parse(data)), lastEventId: id };
      if (event === 'job') yield { kind: 'job', job: Job.parse(JSON.parse(data)) };
      if (event === 'step') yield { kind: 'step', point: StepPoint.parse(JSON.parse(data)) };
    }
  }

  async #json<S extends z.ZodType>(schema: S, path: string, options: RequestOptions = {}): Promise<z.output<S>> {
    const response = await this.#request(path, options);
    return schema.parse(await response.json());
  }

  async #request(path: string, options: RequestOptions): Promise<Response> {
    const { server, token } = this.#access;
    const init: RequestInit = {
      method: options.method ?? 'GET',
      headers: {
        authorization: `Bearer ${token}`,
        ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
    };
    if (options.body !== undefined) init.body = JSON.stringify(options.body);
    if (options.signal !== undefined) init.signal = options.signal;
    let response: Response;
    try {
      response = await fetch(`${server}${path}`, init);
    } catch (error) {
      if (options.signal?.aborted === true) throw error;
      throw new ApiUnreachable(server === '' ? 'the API' : server, error);
    }
    if (response.ok) return response;
    throw await ApiProblem.from(response);
  }
}

function projectPath(project: string): string {
  return `/v1/projects/${encodeURIComponent(project)}`;
}

function jobPath({ project, id }: JobReference): string {
  return `${projectPath(project)}/jobs/${encodeURIComponent(id)}`;
}

function bodyOf(response: Response): ReadableStream<Uint8Array> {
  if (response.body === null) throw new ApiProblem(response.status, 'UNKNOWN', 'The server sent an empty answer.');
  return response.body;
}
