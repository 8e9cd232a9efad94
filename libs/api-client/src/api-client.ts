/* More than 400 lines, because each route that a program of ours asks has its method here. */
import {
  ApiTokenCreated,
  ApiTokenList,
  type AuditEntry,
  AuditList,
  type CheckpointAdoptInput,
  CheckpointDetail,
  CheckpointList,
  CheckpointPage,
  type CheckpointPin,
  CheckpointRecord,
  type CheckpointVerify,
  CheckpointVerifyRequest,
  ClusterFabric,
  CODE_MEDIA_TYPE,
  CodeArchive,
  CostList,
  GpuCounts,
  GroupRole,
  GroupRoleList,
  Job,
  JobCheck,
  JobEvent,
  JobEventList,
  type IncidentKind,
  FabricChanges,
  FabricSnapshotList,
  IncidentList,
  JobGoodput,
  JobList,
  JobRendering,
  JobStacks,
  JobStart,
  type JobSummary,
  PlanAccuracy,
  PlanList,
  Project,
  ProjectLimitList,
  ProjectList,
  type ProjectPatch,
  ObservedJobs,
  Queue,
  RankMap,
  RecordedFabric,
  SignInMethods,
  SignInToken,
  StepList,
  StepPoint,
  StoredPlan,
  Webhook,
  WebhookCreated,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookList,
  WhoAmI,
  type GroupRoleCreateInput,
  type SignInTrade,
  type ApiTokenCreateInput,
  type ApiTokenRotateInput,
  type JobCreateInput,
  type JobLabelChange,
  type JobOrder,
  type JobResume,
  type WebhookCreateInput,
  type WebhookRotateInput,
} from '@coxswain/api-types';
import type { PlanRequestInput } from '@coxswain/planner/types';
import type { z } from 'zod';
import { ApiProblem, ApiUnreachable, parseJson } from './api-problem.ts';
import { chunks } from './chunks.ts';
import { readAnswer } from './read-answer.ts';
import { serverSentEvents } from './server-sent-events.ts';

/** The address of the API and the credentials of the caller. */
export interface ApiAccess {
  /** Base URL without a trailing slash; '' means the page's own origin. */
  readonly server: string;
  /** Undefined in the browser, which sends its session cookie, and before sign-in. */
  readonly token: string | undefined;
  /** Aborts every call; a call then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly body?: unknown;
  /** In place of a JSON body. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

interface Making {
  readonly body: unknown;
  /** Undefined: a new key. */
  readonly idempotencyKey: string | undefined;
}

/** A change from a job's live stream. Pass `lastEventId` to continue after it. After `resync` read the job's curve again: the stream left something out. */
export type StreamedChange = { readonly lastEventId?: string | undefined } & (
  | { readonly kind: 'event'; readonly event: JobEvent }
  | { readonly kind: 'job'; readonly job: Job }
  | { readonly kind: 'step'; readonly point: StepPoint }
  | { readonly kind: 'resync' }
);

/** Project and id of a job. */
interface JobReference {
  readonly project: string;
  readonly id: string;
}

/** Project and UID of a checkpoint. */
export interface CheckpointReference {
  readonly project: string;
  readonly uid: string;
}

/** An archive of code, for jobs of a namespace; absent: the first of the project. */
interface CodeReference {
  readonly project: string;
  readonly sha256: string;
  readonly namespace?: string | undefined;
}

/** Filters for checkpoints of a project. */
export interface CheckpointFilters {
  /** Id or name of the job that saved it. */
  readonly job?: string | undefined;
  readonly name?: string | undefined;
  /** Verdict of the closest verification; `none`: it has none. */
  readonly verdict?: string | undefined;
  /** Only those that are complete, not suspect, and not found damaged or incomplete. */
  readonly good?: boolean | undefined;
  /** With those whose object was deleted. */
  readonly deleted?: boolean | undefined;
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
}

/** Filters for incidents. */
export interface IncidentFilters {
  readonly kind?: IncidentKind | undefined;
  readonly state?: 'open' | 'over' | undefined;
  readonly node?: string | undefined;
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
}

/** Filters for snapshots of the fabric. Times are ISO texts with a zone. */
interface SnapshotFilters {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
}

/** Filters for audit entries. Times are ISO texts with a zone. */
interface AuditFilters {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly principal?: string | undefined;
  readonly verb?: string | undefined;
  readonly object?: string | undefined;
  readonly outcome?: AuditEntry['outcome'] | undefined;
  readonly pageSize?: number;
}

/** Filters and order of a list of jobs. Absent fields do not filter. */
export interface JobQuery {
  readonly state?: string | undefined;
  /** Label selector in the syntax of kubectl. */
  readonly labelSelector?: string | undefined;
  /** Name of the creator. */
  readonly owner?: string | undefined;
  /** Prefixes of words in the name, separated by spaces. */
  readonly q?: string | undefined;
  readonly orderBy?: JobOrder | undefined;
  readonly direction?: 'asc' | 'desc' | undefined;
}

/** Project and id of a token. */
type TokenReference = JobReference;
/** Project and id of a webhook. */
type WebhookReference = JobReference;
/** Project and id of a stored plan. */
type PlanReference = JobReference;

/**
 * The REST API for programs: CLI, dashboard, quickstart and tests. Answers are parsed with the schemas that the API itself uses. A name that a list of this
 * release lacks, such as a crash class of a newer server, is returned as it is.
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

  /** Every node with GPUs, its position, and the jobs on it (administrators). */
  fabric(): Promise<ClusterFabric> {
    return this.#json(ClusterFabric, '/v1/fabric');
  }

  signInMethods(): Promise<SignInMethods> {
    return this.#json(SignInMethods, '/v1/sign-in');
  }

  /** Exchanges a token of the identity provider for a Coxswain token. */
  tradeForToken(body: SignInTrade): Promise<SignInToken> {
    return this.#json(SignInToken, '/v1/sign-in/tokens', { method: 'POST', body });
  }

  /** Ends the session of the cookie or of the token. */
  async signOut(): Promise<void> {
    await this.#request('/v1/sign-out', { method: 'POST' });
  }

  /** Group roles of a project; `-` is the cluster. */
  groupRoles(project: string): Promise<GroupRoleList> {
    return this.#json(GroupRoleList, `${projectPath(project)}/group-roles`);
  }

  grantGroupRole(project: string, body: GroupRoleCreateInput, idempotencyKey?: string): Promise<GroupRole> {
    return this.#make(GroupRole, `${projectPath(project)}/group-roles`, { body, idempotencyKey });
  }

  async revokeGroupRole({ project, id }: { readonly project: string; readonly id: string }): Promise<void> {
    await this.#request(`${projectPath(project)}/group-roles/${encodeURIComponent(id)}`, { method: 'DELETE' });
  }

  /** GPUs of the cluster, and how many are free. */
  gpus(project: string): Promise<GpuCounts> {
    return this.#json(GpuCounts, `${projectPath(project)}/gpus`);
  }

  /** Jobs of other controllers that the operator observes. */
  observedJobs(project: string): Promise<ObservedJobs> {
    return this.#json(ObservedJobs, `${projectPath(project)}/observed-jobs`);
  }

  /** Jobs that wait for GPUs, in order; those of other projects have no names. */
  queue(project: string, query: { readonly limit?: number | undefined } = {}): Promise<Queue> {
    return this.#json(Queue, `${projectPath(project)}/queue${search(query)}`);
  }

  /** When a job is expected to start, and what would let it start earlier. */
  jobStart(reference: JobReference): Promise<JobStart> {
    return this.#json(JobStart, `${jobPath(reference)}/start`);
  }

  /** What the job would wait for; nothing is submitted. */
  checkJob(project: string, body: JobCreateInput): Promise<JobCheck> {
    return this.#json(JobCheck, `${projectPath(project)}/jobs/check`, { method: 'POST', body });
  }

  /** Adopts a checkpoint that no job saved. */
  adoptCheckpoint(project: string, body: CheckpointAdoptInput): Promise<CheckpointRecord> {
    return this.#json(CheckpointRecord, `${projectPath(project)}/checkpoints`, { method: 'POST', body });
  }

  /** One checkpoint of the project; a moment after its object was made, it is not found yet. */
  checkpointByUid(project: string, uid: string): Promise<CheckpointRecord> {
    return this.#json(CheckpointRecord, `${projectPath(project)}/checkpoints/${encodeURIComponent(uid)}`);
  }

  projectLimits(project: string): Promise<ProjectLimitList> {
    return this.#json(ProjectLimitList, `${projectPath(project)}/limits`);
  }

  projects(): Promise<ProjectList> {
    return this.#json(ProjectList, '/v1/projects');
  }

  project(name: string): Promise<Project> {
    return this.#json(Project, projectPath(name));
  }

  createProject(
    body: { readonly name: string; readonly namespaces: readonly string[] },
    idempotencyKey?: string,
  ): Promise<Project> {
    return this.#make(Project, '/v1/projects', { body, idempotencyKey });
  }

  /** Changes which PriorityClasses jobs of the project may name. */
  updateProject(name: string, body: ProjectPatch): Promise<Project> {
    return this.#json(Project, projectPath(name), { method: 'PATCH', body });
  }

  auditPage(
    project: string,
    query: AuditFilters & { readonly pageToken?: string | undefined } = {},
  ): Promise<AuditList> {
    return this.#json(AuditList, `${projectPath(project)}/audit${search({ ...query })}`);
  }

  /** Audit entries that match all filters, newest first, page by page. Project `-` is the whole cluster. */
  async *audit(project: string, filters: AuditFilters = {}): AsyncGenerator<AuditEntry> {
    let pageToken: string | undefined;
    do {
      const page = await this.auditPage(project, { ...filters, pageToken });
      yield* page.items;
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
  }

  tokens(project: string): Promise<ApiTokenList> {
    return this.#json(ApiTokenList, `${projectPath(project)}/tokens`);
  }

  createToken(project: string, body: ApiTokenCreateInput): Promise<ApiTokenCreated> {
    return this.#json(ApiTokenCreated, `${projectPath(project)}/tokens`, { method: 'POST', body });
  }

  /** Creates a successor of the token. The old token stays valid for a while. */
  rotateToken(token: TokenReference, body: ApiTokenRotateInput): Promise<ApiTokenCreated> {
    return this.#json(ApiTokenCreated, `${tokenPath(token)}/rotate`, { method: 'POST', body });
  }

  async revokeToken(token: TokenReference): Promise<void> {
    await this.#request(tokenPath(token), { method: 'DELETE' });
  }

  webhooks(project: string): Promise<WebhookList> {
    return this.#json(WebhookList, `${projectPath(project)}/webhooks`);
  }

  createWebhook(project: string, body: WebhookCreateInput): Promise<WebhookCreated> {
    return this.#json(WebhookCreated, `${projectPath(project)}/webhooks`, { method: 'POST', body });
  }

  /** Creates a new secret. For a while messages are also signed with the old one. */
  rotateWebhook(webhook: WebhookReference, body: WebhookRotateInput): Promise<WebhookCreated> {
    return this.#json(WebhookCreated, `${webhookPath(webhook)}/rotate`, { method: 'POST', body });
  }

  enableWebhook(webhook: WebhookReference): Promise<Webhook> {
    return this.#json(Webhook, `${webhookPath(webhook)}/enable`, { method: 'POST' });
  }

  testWebhook(webhook: WebhookReference): Promise<WebhookDelivery> {
    return this.#json(WebhookDelivery, `${webhookPath(webhook)}/test`, { method: 'POST' });
  }

  webhookDeliveries(webhook: WebhookReference): Promise<WebhookDeliveryList> {
    return this.#json(WebhookDeliveryList, `${webhookPath(webhook)}/deliveries`);
  }

  async removeWebhook(webhook: WebhookReference): Promise<void> {
    await this.#request(webhookPath(webhook), { method: 'DELETE' });
  }

  /** Creates a job. The same idempotency key creates one job, however often it is sent. */
  createJob(project: string, body: JobCreateInput, idempotencyKey?: string): Promise<Job> {
    return this.#make(Job, `${projectPath(project)}/jobs`, { body, idempotencyKey });
  }

  /** Undefined: the project has not uploaded it. */
  async code(reference: CodeReference): Promise<CodeArchive | undefined> {
    try {
      return await this.#json(CodeArchive, codePath(reference));
    } catch (error) {
      if (error instanceof ApiProblem && error.status === 404) return undefined;
      throw error;
    }
  }

  uploadCode(reference: CodeReference, bytes: Uint8Array<ArrayBuffer>): Promise<CodeArchive> {
    const headers = { 'content-type': CODE_MEDIA_TYPE };
    return this.#json(CodeArchive, codePath(reference), { method: 'PUT', bytes, headers });
  }

  job(reference: JobReference): Promise<Job> {
    return this.#json(Job, jobPath(reference));
  }

  jobPage(
    project: string,
    query: JobQuery & { readonly pageSize?: number; readonly pageToken?: string | undefined } = {},
  ): Promise<JobList> {
    return this.#json(JobList, `${projectPath(project)}/jobs${search({ ...query })}`);
  }

  /** Summaries of the jobs that match the query, page by page. */
  async *jobs(project: string, query: JobQuery = {}): AsyncGenerator<JobSummary> {
    let pageToken: string | undefined;
    do {
      const page = await this.jobPage(project, { ...query, pageSize: 100, pageToken });
      yield* page.items;
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
  }

  /** Changes labels of a job. Null removes a label; other labels stay. */
  labelJob(reference: JobReference, labels: JobLabelChange): Promise<Job> {
    return this.#json(Job, jobPath(reference), { method: 'PATCH', body: { labels } });
  }

  suspend(reference: JobReference): Promise<Job> {
    return this.#json(Job, `${jobPath(reference)}/suspend`, { method: 'POST', body: {} });
  }

  cancel(reference: JobReference): Promise<Job> {
    return this.#json(Job, `${jobPath(reference)}/cancel`, { method: 'POST', body: {} });
  }

  /** Resumes a job. Without a layout or a number of GPUs it keeps its layout. */
  resume(reference: JobReference, request: JobResume = {}): Promise<Job> {
    return this.#json(Job, `${jobPath(reference)}/resume`, { method: 'POST', body: request });
  }

  async deleteJob(reference: JobReference): Promise<void> {
    await this.#request(jobPath(reference), { method: 'DELETE' });
  }

  jobEvents(reference: JobReference): Promise<JobEventList> {
    return this.#json(JobEventList, `${jobPath(reference)}/events`);
  }

  /** A page of the loss curve (`limit` steps, 2,000 by default), or the whole curve in at most `maxPoints` points, each of one or several steps. */
  steps(
    reference: JobReference,
    query: {
      readonly fromStep?: number | undefined;
      readonly toStep?: number | undefined;
      readonly epoch?: number | undefined;
      readonly limit?: number | undefined;
      readonly maxPoints?: number | undefined;
    } = {},
  ): Promise<StepList> {
    return this.#json(StepList, `${jobPath(reference)}/steps${search(query)}`);
  }

  ranks(reference: JobReference): Promise<RankMap> {
    return this.#json(RankMap, `${jobPath(reference)}/ranks`);
  }

  /** What the engine of the job runs, or why it cannot run. */
  rendering(reference: JobReference): Promise<JobRendering> {
    return this.#json(JobRendering, `${jobPath(reference)}/rendering`);
  }

  /** Current stack traces of the job's ranks; with `rank`, of the ranks of its pod. */
  stacks(reference: JobReference, query: { readonly rank?: number | undefined } = {}): Promise<JobStacks> {
    return this.#json(JobStacks, `${jobPath(reference)}/stacks${search(query)}`, { method: 'POST' });
  }

  checkpoints(reference: JobReference): Promise<CheckpointList> {
    return this.#json(CheckpointList, `${jobPath(reference)}/checkpoints`);
  }

  /** A page of the checkpoints of a project, newest first. */
  projectCheckpoints(project: string, query: CheckpointFilters = {}): Promise<CheckpointPage> {
    return this.#json(CheckpointPage, `${projectPath(project)}/checkpoints${search({ ...query })}`);
  }

  /** One checkpoint with its verifications. */
  checkpoint(reference: CheckpointReference): Promise<CheckpointDetail> {
    return this.#json(CheckpointDetail, checkpointPath(reference));
  }

  /** Has a pod verify the bytes of the checkpoint. */
  verifyCheckpoint(reference: CheckpointReference, body: CheckpointVerify): Promise<CheckpointVerifyRequest> {
    return this.#json(CheckpointVerifyRequest, `${checkpointPath(reference)}/verify`, { method: 'POST', body });
  }

  pinCheckpoint(reference: CheckpointReference, body: CheckpointPin): Promise<CheckpointRecord> {
    return this.#json(CheckpointRecord, `${checkpointPath(reference)}/pin`, { method: 'PUT', body });
  }

  /** Forgets an adopted checkpoint; its files stay. */
  async forgetCheckpoint(reference: CheckpointReference): Promise<void> {
    await this.#request(checkpointPath(reference), { method: 'DELETE' });
  }

  unpinCheckpoint(reference: CheckpointReference): Promise<CheckpointRecord> {
    return this.#json(CheckpointRecord, `${checkpointPath(reference)}/pin`, { method: 'DELETE' });
  }

  /** Incidents, newest first, of one job or of a whole project. */
  incidents(of: JobReference | { readonly project: string }, query: IncidentFilters = {}): Promise<IncidentList> {
    const path = 'id' in of ? jobPath(of) : projectPath(of.project);
    return this.#json(IncidentList, `${path}/incidents${search({ ...query })}`);
  }

  /** Snapshots of the cluster's fabric, newest first (administrators). */
  fabricSnapshots(query: SnapshotFilters = {}): Promise<FabricSnapshotList> {
    return this.#json(FabricSnapshotList, `/v1/fabric/snapshots${search({ ...query })}`);
  }

  fabricSnapshot(id: string): Promise<RecordedFabric> {
    return this.#json(RecordedFabric, `/v1/fabric/snapshots/${encodeURIComponent(id)}`);
  }

  /** Changes since the snapshot before, or since the given one. */
  fabricChanges(id: string, since?: string): Promise<FabricChanges> {
    return this.#json(FabricChanges, `/v1/fabric/snapshots/${encodeURIComponent(id)}/changes${search({ since })}`);
  }

  /** The GPU-seconds of the job by category. */
  goodput(reference: JobReference): Promise<JobGoodput> {
    return this.#json(JobGoodput, `${jobPath(reference)}/goodput`);
  }

  /** What the jobs of a project cost in a month such as `2030-01`, by the price list of the administrator; project `-`: all jobs that the caller may read. */
  async costs(project: string, month: string): Promise<CostList> {
    const read = (pageToken?: string): Promise<CostList> =>
      this.#json(CostList, `${projectPath(project)}/costs${search({ month, pageSize: 100, pageToken })}`);
    const { currency, items, nextPageToken } = await read();
    const all = [...items];
    for (let next = nextPageToken; next !== undefined;) {
      const page = await read(next);
      all.push(...page.items);
      next = page.nextPageToken;
    }
    return { currency, items: all };
  }

  /** Creates a plan. The same idempotency key returns the same plan, however often it is sent. */
  createPlan(project: string, request: PlanRequestInput, idempotencyKey?: string): Promise<StoredPlan> {
    return this.#make(StoredPlan, `${projectPath(project)}/plans`, { body: request, idempotencyKey });
  }

  plan({ project, id }: PlanReference): Promise<StoredPlan> {
    return this.#json(StoredPlan, `${projectPath(project)}/plans/${encodeURIComponent(id)}`);
  }

  planPage(
    project: string,
    query: { readonly pageSize?: number; readonly pageToken?: string | undefined } = {},
  ): Promise<PlanList> {
    return this.#json(PlanList, `${projectPath(project)}/plans${search(query)}`);
  }

  /** Predicted and measured step times. Project `-` is all projects (administrators). */
  planAccuracy(project: string): Promise<PlanAccuracy> {
    return this.#json(PlanAccuracy, `${projectPath(project)}/plans/accuracy`);
  }

  /** The log of a rank as a stream of bytes; if the pod is gone, what its attempt recorded. With `follow` the stream ends with the pod. */
  async logs(
    reference: JobReference,
    options: {
      readonly rank?: number | undefined;
      readonly allRanks?: boolean;
      readonly attempt?: number | undefined;
      readonly tailLines?: number | undefined;
      readonly since?: string | undefined;
      readonly grep?: string | undefined;
      readonly follow?: boolean;
      readonly signal?: AbortSignal;
    },
  ): Promise<AsyncIterable<Uint8Array>> {
    const { rank, attempt, tailLines, since, grep } = options;
    const [allRanks, follow] = [options.allRanks, options.follow].map((is) => (is === true ? true : undefined));
    const query = search({ rank, allRanks, attempt, tailLines, since, grep, follow });
    return this.#stream(`${jobPath(reference)}/logs${query}`, {
      headers: { accept: 'text/plain' },
      signal: options.signal,
    });
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
      if (event === 'job') yield { kind: 'job', job: this.#read(Job, data), lastEventId: id };
      if (event === 'step') yield { kind: 'step', point: this.#read(StepPoint, data), lastEventId: id };
      if (event === 'resync') yield { kind: 'resync', lastEventId: id };
    }
  }

  /** A POST with an idempotency key, so that a repeated request, also by a proxy, creates nothing twice. */
  #make<S extends z.ZodType>(schema: S, path: string, { body, idempotencyKey }: Making): Promise<z.output<S>> {
    const headers = { 'idempotency-key': idempotencyKey ?? crypto.randomUUID() };
    return this.#json(schema, path, { method: 'POST', body, headers });
  }

  async #json<S extends z.ZodType>(schema: S, path: string, options: RequestOptions = {}): Promise<z.output<S>> {
    const response = await this.#request(path, options);
    return this.#read(schema, await this.#answered(options.signal, () => response.text()));
  }

  /** Parses the answer. An unexpected form means that the server is not Coxswain, or has another version. */
  #read<S extends z.ZodType>(schema: S, text: string): z.output<S> {
    const read = readAnswer(schema, parseJson(text));
    if (read.isRead) return read.answer;
    const where = read.at;
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

  /** A connection that breaks ends with {@link ApiUnreachable}, as one that cannot be opened does. */
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
        ...(token === undefined ? { 'x-coxswain-request': '1' } : { authorization: `Bearer ${token}` }),
        ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
    };
    if (options.bytes !== undefined) init.body = options.bytes;
    if (options.body !== undefined) init.body = JSON.stringify(options.body);
    const signals = [this.#access.signal, options.signal].filter((signal) => signal !== undefined);
    if (signals.length > 0) init.signal = AbortSignal.any(signals);
    return this.#answered(options.signal, async () => {
      const response = await fetch(`${server}${path}`, init);
      if (response.ok) return response;
      throw await ApiProblem.from(response);
    });
  }

  /** Turns a failed connection into {@link ApiUnreachable}. Aborts by the caller stay as they are. */
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

function webhookPath({ project, id }: WebhookReference): string {
  return `${projectPath(project)}/webhooks/${encodeURIComponent(id)}`;
}

function checkpointPath({ project, uid }: CheckpointReference): string {
  return `${projectPath(project)}/checkpoints/${encodeURIComponent(uid)}`;
}

function codePath({ project, sha256, namespace }: CodeReference): string {
  return `${projectPath(project)}/code/${encodeURIComponent(sha256)}${search({ namespace })}`;
}

function jobPath({ project, id }: JobReference): string {
  return `${projectPath(project)}/jobs/${encodeURIComponent(id)}`;
}

/** `?a=1&b=2` of the defined values; empty if none is defined. */
function search(query: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) parameters.set(key, String(value));
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}

async function* noChunks(): AsyncGenerator<Uint8Array> {
  // A refusal would have had a status; an empty answer is an empty log.
}
