import { randomUUID } from 'node:crypto';
import {
  type Job,
  type JobCreate,
  type JobDetail,
  type JobList,
  type JobOrder,
  type JobPatch,
  FINAL_JOB_STATES,
  type JobResume,
} from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { isUniqueViolation, type Sql, type TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import { type Action, requireAction } from '../auth/roles.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { isUuid } from '../http/ids.ts';
import { fittingPage, MAX_PAGE_BYTES } from '../http/page-bytes.ts';
import { PageTokens } from '../http/page-token.ts';
import { recordAudit } from '../auth/audit.ts';
import { createIdempotently } from '../http/idempotency.ts';
import type { Config } from '../config/config.ts';
import { CLUSTER, type Cluster, CONFIG, PAGE_TOKENS, TENANT_DATABASE } from '../infrastructure/tokens.ts';
import { enqueueApply, notifyJobChanged } from './job-changes.ts';
import {
  ALL_PROJECTS,
  inProject,
  inScope,
  projectIdOf,
  type ProjectScope,
  readingScope,
  type ScopeQuestion,
} from '../auth/project-scope.ts';
import { cancelChange, deleteChange, labelChange, resumeChange, suspendChange, urgencyOf } from './job-commands.ts';
import { requireAllowedClass } from './allowed-classes.ts';
import { jobListQuery } from './job-list-query.ts';
import { findJob, SELECT_JOB_IN_SHORT, type TimedJobRow, toJobSummaries } from './job-of-row.ts';
import { findJobRow, type JobRow } from './job-row.ts';
import { insertRequestedJob, recordDesiredChange, type DesiredChange } from './job-table.ts';
import type { LabelRequirement } from './label-selector.ts';
import type { KnownCheckpoint } from './resume-loads.ts';
import { requireUploadedCode } from './uploaded-code.ts';
import { requireNoPlainSecrets, requireRunnable } from './spec-rules.ts';

/** Which job, and which versions of what is asked of it when the caller insists (If-Match). */
export interface JobAddress {
  readonly project: string;
  readonly jobId: string;
  readonly ifSpecVersions?: readonly number[] | undefined;
}

/** Which part of a list. */
export interface JobListRequest {
  readonly project: string;
  readonly pageSize: number;
  readonly pageToken?: string | undefined;
  readonly state?: Job['state'] | undefined;
  readonly labelSelector: readonly LabelRequirement[];
  /** Name of who made them. */
  readonly owner?: string | undefined;
  /** Each begins a word of the name. */
  readonly q: readonly string[];
  readonly orderBy: JobOrder;
  /** Default: names from a, times from the newest. */
  readonly direction?: 'asc' | 'desc' | undefined;
  /** What each item says beside its summary. */
  readonly fields: readonly JobDetail[];
}

/** Never held up by other changes of their project. They need no rate: a job is created or resumed before each that changes something. */
const STOPS: ReadonlySet<string> = new Set(['job.suspend', 'job.cancel', 'job.delete']);

/** A job keeps fewer. */
const MAX_KNOWN_CHECKPOINTS = 1_000;

/** Jobs: what people ask for is written to the row together with an outbox entry; the cluster follows. */
@Injectable()
export class JobsService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #pageTokens: PageTokens;
  readonly #limits: ProjectLimits;
  /** The only namespaces that the API may write; empty: all. */
  readonly #confinedTo: readonly string[];

  // eslint-disable-next-line max-params -- what is injected is chosen by its token, not by its place
  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(PAGE_TOKENS) pageTokens: PageTokens,
    @Inject(ProjectLimits) limits: ProjectLimits,
    @Inject(CONFIG) config: Config,
  ) {
    this.#confinedTo = config.namespaces.confinedTo;
    this.#limits = limits;
    this.#database = database;
    this.#cluster = cluster;
    this.#pageTokens = pageTokens;
  }

  /** NAME_TAKEN when a live job of that name is known; a name taken in the cluster alone is found when the job is carried there (state Refused). */
  async create(
    principal: Principal,
    request: { readonly project: string; readonly body: JobCreate; readonly idempotencyKey?: string | undefined },
  ): Promise<Job> {
    const { project: projectName, body, idempotencyKey } = request;
    this.#limits.chargeChange(principal, projectName);
    try {
      return await inProject(this.#database, this.#question(principal, projectName, 'job.submit'), (sql, project) => {
        requireNoPlainSecrets(body.spec, '/spec');
        requireRunnable(body.spec, '/spec');
        const repeatable = { principal, key: idempotencyKey, request: { create: projectName, body: repeated(body) } };
        return createIdempotently(sql, repeatable, {
          make: () => this.#insert(sql, { principal, project, body }),
          find: (jobId) => this.#madeBefore(sql, { jobId, projectId: project.id }),
        });
      });
    } catch (error) {
      if (!isUniqueViolation(error, 'jobs_live_name')) throw error;
      throw new DomainError(
        'NAME_TAKEN',
        `a job named "${body.name}" exists in this namespace; choose another name or delete it`,
      );
    }
  }

  async get(principal: Principal, address: JobAddress): Promise<Job> {
    const { sql, scope } = await readingScope(this.#database, this.#question(principal, address.project, 'job.read'));
    return this.#job(sql, scope, address);
  }

  /** In short; deleted ones only when asked for by state. A page ends when it is full, so it can have fewer than were asked for. */
  async list(principal: Principal, request: JobListRequest): Promise<JobList> {
    const { sql, scope } = await readingScope(this.#database, {
      ...this.#question(principal, request.project, 'job.read'),
      work: 'list',
    });
    return this.#listIn(sql, scope, request);
  }

  async #listIn(sql: Sql, scope: ProjectScope, request: JobListRequest): Promise<JobList> {
    const projectId = projectIdOf(scope);
    const { state, labelSelector: labels, owner, q: words, orderBy, pageToken } = request;
    const filter = { state, labels, owner, words };
    const isDescending = (request.direction ?? (orderBy === 'name' ? 'asc' : 'desc')) === 'desc';
    const tokenScope = `jobs/${projectId ?? ALL_PROJECTS}/${JSON.stringify({ filter, orderBy, isDescending })}`;
    const after = pageToken === undefined ? undefined : this.#pageTokens.read(tokenScope, pageToken);
    const { text, parameters } = jobListQuery({ clusterId: this.#cluster.id, projectId }, filter, {
      orderBy,
      isDescending,
      after,
      rows: request.pageSize + 1,
    });
    const found = await sql.query<TimedJobRow>(`${SELECT_JOB_IN_SHORT} ${text}`, parameters);
    const rows = found.rows.slice(0, request.pageSize);
    const wanted = { details: request.fields, maxBytes: MAX_PAGE_BYTES };
    const items = [...fittingPage(await toJobSummaries(sql, this.#cluster, rows, wanted))];
    const last = rows[items.length - 1];
    if (items.length === found.rows.length || last === undefined) return { items };
    const position = { key: keyIn(orderBy, last), id: last.id };
    return { items, nextPageToken: this.#pageTokens.write(tokenScope, position) };
  }

  /** Changes its labels. */
  patch(principal: Principal, address: JobAddress, request: JobPatch): Promise<Job> {
    return this.#command(principal, address, { action: 'job.label', decide: (row) => labelChange(row, request) });
  }

  /** Asks the job to save, stop and hold. Asking again changes nothing. */
  suspend(principal: Principal, address: JobAddress): Promise<Job> {
    return this.#command(principal, address, { action: 'job.suspend', decide: suspendChange });
  }

  /** Lets it run again, on another layout if one is given, or on one that the planner chooses for a number of GPUs; from a checkpoint if one is named. */
  resume(principal: Principal, address: JobAddress, request: JobResume): Promise<Job> {
    return this.#command(principal, address, {
      action: 'job.resume',
      decide: async (row, sql) => resumeChange(row, request, await this.#checkpointsOf(sql, row, request)),
    });
  }

  /** Stops it for good; the object stays. */
  cancel(principal: Principal, address: JobAddress): Promise<Job> {
    return this.#command(principal, address, { action: 'job.cancel', decide: cancelChange });
  }

  /** Removes the resource; the row stays as history. Beats everything else. */
  async remove(principal: Principal, address: JobAddress): Promise<void> {
    await this.#command(principal, address, { action: 'job.delete', decide: deleteChange });
  }

  /** The row, if the principal may read it. */
  requireRow(principal: Principal, address: JobAddress): Promise<JobRow> {
    return this.reading(principal, address, (_sql, row) => Promise.resolve(row));
  }

  /** Runs `work` with the row, if the principal may read it, in one transaction that sees no more than the scope. */
  reading<T>(principal: Principal, address: JobAddress, work: (sql: Sql, row: JobRow) => Promise<T>): Promise<T> {
    return this.#reading(this.#question(principal, address.project, 'job.read'), address, work);
  }

  /** The same for work that reads many rows of the job. */
  readingMany<T>(principal: Principal, address: JobAddress, work: (sql: Sql, row: JobRow) => Promise<T>): Promise<T> {
    const question = { ...this.#question(principal, address.project, 'job.read'), work: 'list' } as const;
    return this.#reading(question, address, work);
  }

  #reading<T>(question: ScopeQuestion, address: JobAddress, work: (sql: Sql, row: JobRow) => Promise<T>): Promise<T> {
    return inScope(this.#database, question, async (sql, scope) =>
      work(sql, await this.#row(sql, { scope, address, lock: false })),
    );
  }

  async #insert(
    sql: Sql,
    request: {
      readonly principal: Principal;
      readonly project: { readonly id: string; readonly name: string };
      readonly body: JobCreate;
    },
  ): Promise<Job> {
    const { principal, project, body } = request;
    await requireAllowedClass(sql, project, body.spec);
    await this.#limits.requireRoom(sql, project, 'endedJobs');
    await this.#limits.requireRoom(sql, project, 'jobs');
    const namespace = await this.namespaceFor(sql, project, body.namespace);
    await requireUploadedCode(sql, { clusterId: this.#cluster.id, projectId: project.id, namespace }, body.spec);
    const id = randomUUID();
    await insertRequestedJob(sql, this.#cluster, {
      id,
      projectId: project.id,
      namespace,
      name: body.name,
      spec: body.spec,
      labels: body.labels,
      submittedBy: principal,
    });
    await enqueueApply(sql, id, 'run');
    await recordAudit(sql, principal, {
      action: 'job.create',
      target: `${namespace}/${body.name}`,
      projectId: project.id,
    });
    const job = await findJob(sql, this.#cluster, { jobId: id });
    if (job === undefined) throw new Error('the row that was inserted is not there');
    return job;
  }

  /** A second job is never made under one key, whatever became of the first. */
  async #madeBefore(sql: Sql, made: { readonly jobId: string; readonly projectId: string }): Promise<Job> {
    const job = await findJob(sql, this.#cluster, made);
    if (job !== undefined) return job;
    throw new DomainError(
      'CONFLICT',
      'the job that was made under this Idempotency-Key is gone, and its record was removed; use a new key to make another one',
    );
  }

  /** The namespace of a job of the project; the caller's rights were checked. */
  async namespaceFor(
    sql: Sql,
    project: { readonly id: string; readonly name: string },
    wanted: string | undefined,
  ): Promise<string> {
    const owned = await sql.query<{ namespace: string }>(
      'SELECT namespace FROM project_namespaces WHERE project_id = $1 ORDER BY position',
      [project.id],
    );
    const names = owned.rows.map((row) => row.namespace);
    const usable = this.#confinedTo.length === 0 ? names : names.filter((name) => this.#confinedTo.includes(name));
    const chosen = wanted ?? usable[0];
    if (chosen !== undefined && usable.includes(chosen)) return chosen;
    const detail =
      chosen === undefined || names.includes(chosen)
        ? `the API may not use ${chosen ?? names.join(', ')}; an administrator can add it to api.namespaces of the chart`
        : `project "${project.name}" does not own it; it owns ${names.join(', ')}`;
    throw new DomainError('INVALID_REQUEST', `namespace: ${detail}`, [{ pointer: '/namespace', detail }]);
  }

  /** Locks the row, lets `decide` look at it (undefined: the job is so already), and records the desired change together with its outbox entry. */
  async #command(
    principal: Principal,
    address: JobAddress,
    command: {
      readonly action: string;
      readonly decide: (row: JobRow, sql: Sql) => DesiredChange | undefined | Promise<DesiredChange | undefined>;
    },
  ): Promise<Job> {
    if (!STOPS.has(command.action)) this.#limits.chargeChange(principal, address.project);
    return inScope(this.#database, this.#question(principal, address.project, 'job.changeOwn'), async (sql, scope) => {
      const row = await this.#row(sql, { scope, address, lock: true });
      if (row.submitted_by !== principal.id)
        requireAction(scope.role, 'job.changeAny', scope.kind === 'project' ? scope : undefined);
      const change = await command.decide(row, sql);
      if (change === undefined) return this.#job(sql, scope, address);
      if (!(await recordDesiredChange(sql, row, change))) throw changedMeanwhile(row);
      await enqueueApply(sql, row.id, urgencyOf(change));
      await notifyJobChanged(sql, row.id);
      const target = `${row.namespace}/${row.name}`;
      await recordAudit(sql, principal, {
        action: command.action,
        target,
        projectId: row.project_id,
      });
      return this.#job(sql, scope, address);
    });
  }

  /** What a request to begin from a checkpoint is held against, newest first. */
  async #checkpointsOf(sql: Sql, row: JobRow, { from, layout }: JobResume): Promise<readonly KnownCheckpoint[]> {
    // A job that has ended is refused with the checkpoint from which another one can continue.
    if (from === undefined && layout === undefined && !FINAL_JOB_STATES.has(row.state)) return [];
    const found = await sql.query<KnownCheckpoint>(
      // No job saved an adopted one, so every job of its namespace may name it.
      `SELECT name, coalesce(contents->>'step', spec->>'step')::float8 AS step, state, message, spec, contents, verification
         FROM checkpoints
        WHERE cluster_id = $1 AND (job_uid = $2 OR (job_uid = '' AND name = $4)) AND namespace = $3 AND deleted_at IS NULL
        ORDER BY step DESC NULLS LAST LIMIT ${MAX_KNOWN_CHECKPOINTS}`,
      [this.#cluster.id, row.uid, row.namespace, from ?? null],
    );
    return found.rows;
  }

  /** The job as it is; the caller has already compared its version. */
  async #job(sql: Sql, scope: ProjectScope, address: JobAddress): Promise<Job> {
    const { jobId } = address;
    const job = isUuid(jobId) ? await findJob(sql, this.#cluster, { jobId, projectId: projectIdOf(scope) }) : undefined;
    if (job === undefined) throw noSuchJob(address);
    return job;
  }

  async #row(
    sql: Sql,
    wanted: { readonly scope: ProjectScope; readonly address: JobAddress; readonly lock: boolean },
  ): Promise<JobRow> {
    const { scope, address, lock } = wanted;
    const { jobId, ifSpecVersions } = address;
    const projectId = projectIdOf(scope);
    const row = isUuid(jobId)
      ? await findJobRow(sql, { clusterId: this.#cluster.id, jobId, projectId, lock })
      : undefined;
    if (row === undefined) throw noSuchJob(address);
    if (ifSpecVersions?.includes(Number(row.spec_version)) === false) throw changedMeanwhile(row);
    return row;
  }

  #question(principal: Principal, project: string, action: Action): ScopeQuestion {
    return { clusterId: this.#cluster.id, principal, project, action };
  }
}

/** What the row has in that order. */
function keyIn(orderBy: JobOrder, row: JobRow): string {
  switch (orderBy) {
    case 'createdAt':
      return row.created_at_text;
    case 'name':
      return row.name;
    case 'finishedAt':
      return row.finished_at_text ?? '';
  }
}

/** What must be the same under one key: a request without labels is what the release before stored of it. */
function repeated({ labels, ...rest }: JobCreate): object {
  return Object.keys(labels).length === 0 ? rest : { ...rest, labels };
}

function noSuchJob({ project, jobId }: JobAddress): DomainError {
  return new DomainError(
    'NOT_FOUND',
    `project ${JSON.stringify(project)} has no job ${JSON.stringify(jobId.slice(0, 63))}`,
  );
}

function changedMeanwhile(row: JobRow): DomainError {
  return new DomainError(
    'PRECONDITION_FAILED',
    `job "${row.name}" is at specVersion ${row.spec_version} now; read it again, then repeat the change if it is still right`,
  );
}
