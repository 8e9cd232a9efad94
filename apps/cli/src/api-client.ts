import { Job, JobList, Problem, WhoAmI } from '@coxswain/api-types';
import { type z } from 'zod';
import { CliError } from './cli-error.ts';
import { serverSentEvents, type ServerSentEvent } from './server-sent-events.ts';
import type { Settings } from './settings.ts';

interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The REST API as the CLI uses it. Every failure is a {@link CliError} with the server's own sentence. */
export class ApiClient {
  readonly #settings: Settings;
  #project: string | undefined;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#project = settings.project;
  }

  whoAmI(): Promise<WhoAmI> {
    return this.#json(WhoAmI, '/v1/whoami');
  }

  /** The project that was named, else the one the token belongs to. */
  async project(): Promise<string> {
    if (this.#project !== undefined) return this.#project;
    const { project } = await this.whoAmI();
    if (project === null)
      throw new CliError('This token may use every project: name one with --project or COXSWAIN_PROJECT.');
    this.#project = project;
    return project;
  }

  /** A job by id or by name. */
  async job(nameOrId: string): Promise<Job> {
    if (UUID.test(nameOrId)) return this.#json(Job, await this.#jobPath(nameOrId));
    for await (const job of this.jobs()) if (job.name === nameOrId && job.state !== 'Deleted') return job;
    throw new CliError(
      `No job named "${nameOrId}" in project ${await this.project()}. \`coxswain list\` shows those there are.`,
    );
  }

  /** Every job of the project, newest first, page by page. */
  async *jobs(state?: string): AsyncGenerator<Job> {
    const base = `/v1/projects/${encodeURIComponent(await this.project())}/jobs`;
    let pageToken: string | undefined;
    do {
      const query = new URLSearchParams({
        pageSize: '100',
        ...(state === undefined ? {} : { state }),
        ...(pageToken === undefined ? {} : { pageToken }),
      });
      const page: JobList = await this.#json(JobList, `${base}?${query.toString()}`);
      yield* page.items;
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
  }

  async createJob(body: unknown, idempotencyKey: string): Promise<Job> {
    const path = `/v1/projects/${encodeURIComponent(await this.project())}/jobs`;
    return this.#json(Job, path, { method: 'POST', body, headers: { 'idempotency-key': idempotencyKey } });
  }

  async act(job: Job, action: 'suspend' | 'resume' | 'cancel', body: unknown = {}): Promise<Job> {
    return this.#json(Job, `${await this.#jobPath(job.id)}/${action}`, { method: 'POST', body });
  }

  async deleteJob(job: Job): Promise<void> {
    await this.#request(await this.#jobPath(job.id), { method: 'DELETE' });
  }

  /** A list below a job, e.g. `events` or `checkpoints`, as the schema declares it. */
  async listOf<S extends z.ZodType>(schema: S, job: Job, below: string): Promise<z.output<S>> {
    return this.#json(schema, `${await this.#jobPath(job.id)}/${below}`);
  }

  async events(
    job: Job,
    options: { readonly lastEventId?: string; readonly signal?: AbortSignal },
  ): Promise<AsyncGenerator<ServerSentEvent>> {
    const response = await this.#request(`${await this.#jobPath(job.id)}/events/stream`, {
      headers: {
        accept: 'text/event-stream',
        ...(options.lastEventId === undefined ? {} : { 'last-event-id': options.lastEventId }),
      },
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    return serverSentEvents(bodyOf(response));
  }

  async logs(job: Job, query: URLSearchParams): Promise<ReadableStream<Uint8Array>> {
    return bodyOf(
      await this.#request(`${await this.#jobPath(job.id)}/logs?${query.toString()}`, {
        headers: { accept: 'text/plain' },
      }),
    );
  }

  async #jobPath(id: string): Promise<string> {
    return `/v1/projects/${encodeURIComponent(await this.project())}/jobs/${encodeURIComponent(id)}`;
  }

  async #json<S extends z.ZodType>(schema: S, path: string, options: RequestOptions = {}): Promise<z.output<S>> {
    const response = await this.#request(path, options);
    return schema.parse(await response.json());
  }

  async #request(path: string, options: RequestOptions = {}): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(`${this.#settings.server}${path}`, {
        method: options.method ?? 'GET',
        headers: {
          authorization: `Bearer ${this.#settings.token}`,
          ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...options.headers,
        },
        ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      });
    } catch (error) {
      if (options.signal?.aborted === true) throw error;
      const cause = (error as Error & { cause?: Error }).cause?.message ?? (error as Error).message;
      throw new CliError(
        `Cannot reach ${this.#settings.server}: ${cause}. Is the API running, and is the address right?`,
        2,
      );
    }
    if (response.ok) return response;
    throw await toCliError(response);
  }
}

function bodyOf(response: Response): ReadableStream<Uint8Array> {
  if (response.body === null) throw new CliError('The server sent an empty answer.', 2);
  return response.body;
}

async function toCliError(response: Response): Promise<CliError> {
  const text = await response.text();
  const problem = Problem.safeParse(parseJson(text));
  if (!problem.success) return new CliError(`The server answered ${response.status}: ${text.slice(0, 500)}`);
  const errors = (problem.data.errors ?? []).map(
    (error) => `  ${error.pointer === '' ? '(body)' : error.pointer}: ${error.detail}`,
  );
  return new CliError([`${problem.data.detail} (${problem.data.code})`, ...errors].join('\n'));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
