import {
  ApiTokenCreated,
  ApiTokenList,
  CheckpointList,
  Job,
  JobEvent,
  JobEventList,
  JobList,
  type JobSummary,
  PlanAccuracy,
  PlanList,
  Project,
  ProjectList,
  RankMap,
  StepList,
  StepPoint,
  StoredPlan,
  WhoAmI,
  type ApiTokenCreateInput,
  type ApiTokenRotateInput,
  type JobCreateInput,
  type JobResume,
} from '@coxswain/api-types';
import type { PlanRequestInput } from '@coxswain/planner/types';
import type { z } from 'zod';
import { ApiProblem, ApiUnreachable, parseJson } from './api-problem.ts';
import { chunks } from './chunks.ts';
import { serverSentEvents } from './server-sent-events.ts';

/** Where the API is and who asks. */
export interface ApiAccess {
  /** Base URL without a trailing slash; '' means the page's own origin. */
  readonly server: string;
  readonly token: string;
  /** Ends every call when it aborts; a call then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
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

/** Most steps that the API gives at once. */
const STEPS_PER_PAGE = 10_000;

/** A job as its URL names it. */
interface JobReference {
  readonly project: string;
  readonly id: string;
}

/** A token as its URL names it. */
type TokenReference = JobReference;

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

  tokens(project: string): Promise<ApiTokenList> {
    return this.#json(ApiTokenList, `${projectPath(project)}/tokens`);
  }

  createToken(project: string, body: ApiTokenCreateInput): Promise<ApiTokenCreated> {
    return this.#json(ApiTokenCreated, `${projectPath(project)}/tokens`, { method: 'POST', body });
  }

  /** Its successor; the old token stays good for a while. */
  rotateToken(token: TokenReference, body: ApiTokenRotateInput): Promise<ApiTokenCreated> {
    return this.#json(ApiTokenCreated, `${tokenPath(token)}/rotate`, { method: 'POST', body });
  }

  async revokeToken(token: TokenReference): Promise<void> {
    await this.#request(tokenPath(token), { method: 'DELETE' });
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
    return this.#json(JobList, `${projectPath(project)}/jobs${search(query)}`);
  }

  /** Every job of the project in short, newest first, page by page. */
  async *jobs(project: string, state?: string): AsyncGenerator<JobSummary> {
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

  /** Without a layout or a number of GPUs the job goes on with what it has. */
  resume(reference: JobReference, request: JobResume = {}): Promise<Job> {
    return this.#json(Job, `${jobPath(reference)}/resume`, { method: 'POST', body: request });
  }

  async deleteJob(reference: JobReference): Promise<void> {
    await this.#request(jobPath(reference), { method: 'DELETE' });
  }

  jobEvents(reference: JobReference): Promise<JobEventList> {
    return this.#json(JobEventList, `${jobPath(reference)}/events`);
  }

  /** One page of the loss curve: at most `limit` steps (the API's default 2,000) from `fromStep` on. */
  steps(
    reference: JobReference,
    query: { readonly fromStep?: number; readonly limit?: number; readonly epoch?: number } = {},
  ): Promise<StepList> {
    return this.#json(StepList, `${jobPath(reference)}/steps${search(query)}`);
  }

  /** The whole loss curve, ascending, in pages of at most {@link STEPS_PER_PAGE} steps. */
  async *stepPages(reference: JobReference): AsyncGenerator<readonly StepPoint[]> {
    let fromStep = 0;
    for (;;) {
      const { items } = await this.steps(reference, { fromStep, limit: STEPS_PER_PAGE });
      if (items.length > 0) yield items;
      const last = items.at(-1);
      if (last === undefined || items.length < STEPS_PER_PAGE) return;
      fromStep = last.step + 1;
    }
  }

  ranks(reference: JobReference): Promise<RankMap> {
    return this.#json(RankMap, `${jobPath(reference)}/ranks`);
  }

  checkpoints(reference: JobReference): Promise<CheckpointList> {
    return this.#json(CheckpointList, `${jobPath(reference)}/checkpoints`);
  }

  /** Asks the planner what if; the same idempotency key gives the same answer however often it is sent. */
  createPlan(
    request: PlanRequestInput,
    options: { readonly idempotencyKey: string; readonly project?: string | undefined },
  ): Promise<StoredPlan> {
    return this.#json(StoredPlan, `/v1/plans${search({ project: options.project })}`, {
      method: 'POST',
      body: request,
      headers: { 'idempotency-key': options.idempotencyKey },
    });
  }

  plan(id: string): Promise<StoredPlan> {
    return this.#json(StoredPlan, `/v1/plans/${encodeURIComponent(id)}`);
  }

  planPage(
    query: {
      readonly project?: string | undefined;
      readonly pageSize?: number;
      readonly pageToken?: string | undefined;
    } = {},
  ): Promise<PlanList> {
    return this.#json(PlanList, `/v1/plans${search(query)}`);
  }

  /** Predicted against measured step times; of every project that the token may see unless one is named. */
  planAccuracy(project?: string): Promise<PlanAccuracy> {
    return this.#json(PlanAccuracy, `/v1/plans/accuracy${search({ project })}`);
  }

  /** Bytes of a rank's log as they come; with `follow` they end when the pod does. */
  async logs(
    reference: JobReference,
    options: { readonly rank: number; readonly tailLines?: number | undefined; readonly follow?: boolean },
  ): Promise<AsyncIterable<Uint8Array>> {
    const { rank, tailLines, follow } = options;
    const query = search({ rank, tailLines, follow: follow === true ? true : undefined });
    return this.#stream(`${jobPath(reference)}/logs${query}`, { headers: { accept: 'text/plain' } });
  }

  /**
   * What happened to a job since `lastEventId` (from the beginning without one) and what happens from now on, until the server or the
   * signal ends the stream. The first change of kind `job` is the job as it is now; steps are only those that come after it.
   */
  async *changes(
    reference: JobReference,
    options: { readonly lastEventId?: string | undefined; readonly signal?: AbortSignal },
  ): AsyncGenerator<StreamedChange> {
    const stream = await this.#stream(`${jobPath(reference)}/events/stream`, {
      headers: {
        accept: 'text/event-stream',
        ...(options.lastEventId === undefined ? {} : { 'last-event-id': options.lastEventId }),
      },
      signal: options.signal,
    });
    for await (const { event, data, id } of serverSentEvents(stream)) {
      if (event === 'event') yield { kind: 'event', event: this.#read(JobEvent, data), lastEventId: id };
      if (event === 'job') yield { kind: 'job', job: this.#read(Job, data) };
      if (event === 'step') yield { kind: 'step', point: this.#read(StepPoint, data) };
    }
  }

  async #json<S extends z.ZodType>(schema: S, path: string, options: RequestOptions = {}): Promise<z.output<S>> {
    const response = await this.#request(path, options);
    return this.#read(schema, await this.#answered(options.signal, () => response.text()));
  }

  /** Parses what the server sent; something else than agreed means that it is no Coxswain, or one of another version. */
  #read<S extends z.ZodType>(schema: S, text: string): z.output<S> {
    const answer = parseJson(text);
    const parsed = schema.safeParse(answer);
    if (parsed.success) return parsed.data;
    // A spec that was made in the cluster is what the cluster let pass; one that we would have refused must not hide all others of its list.
    if (parsed.error.issues.every(({ path }) => path.includes('spec'))) return answer as z.output<S>;
    const where = parsed.error.issues[0]?.path.join('.') ?? '';
    throw new ApiProblem(
      200,
      'UNKNOWN',
      `${this.#name} answered in a way this version does not understand${where === '' ? '' : ` (at ${where})`}. Is it a Coxswain API, and of the same version?`,
    );
  }

  async #stream(path: string, options: RequestOptions): Promise<AsyncIterable<Uint8Array>> {
    const { body } = await this.#request(path, options);
    return body === null ? noChunks() : this.#readable(body, options.signal);
  }

  /** A connection that is cut in the middle ends with {@link ApiUnreachable}, as one that was never made does. */
  async *#readable(body: ReadableStream<Uint8Array>, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    const reader = chunks(body);
    try {
      for (;;) {
        const next = await this.#answered(signal, () => reader.next());
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await reader.return(undefined);
    }
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
    const signals = [this.#access.signal, options.signal].filter((signal) => signal !== undefined);
    if (signals.length > 0) init.signal = AbortSignal.any(signals);
    return this.#answered(options.signal, async () => {
      const response = await fetch(`${server}${path}`, init);
      if (response.ok) return response;
      throw await ApiProblem.from(response);
    });
  }

  /** Says who did not answer when the connection fails; what we aborted ourselves stays what it is. */
  async #answered<T>(signal: AbortSignal | undefined, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      if (error instanceof ApiProblem || signal?.aborted === true || this.#access.signal?.aborted === true) throw error;
      throw new ApiUnreachable(this.#name, error);
    }
  }

  get #name(): string {
    return this.#access.server === '' ? 'the API' : this.#access.server;
  }
}

function projectPath(project: string): string {
  return `/v1/projects/${encodeURIComponent(project)}`;
}

function tokenPath({ project, id }: TokenReference): string {
  return `${projectPath(project)}/tokens/${encodeURIComponent(id)}`;
}

function jobPath({ project, id }: JobReference): string {
  return `${projectPath(project)}/jobs/${encodeURIComponent(id)}`;
}

/** `?a=1&b=2` of what is defined; nothing when nothing is. */
function search(query: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) parameters.set(key, String(value));
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}

async function* noChunks(): AsyncGenerator<Uint8Array> {
  // A refusal would have had a status; an empty answer is an empty log.
}
