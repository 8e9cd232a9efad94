import type { Incident, IncidentList, JobIncident } from '@coxswain/api-types';
import type { Sql, TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import { ALL_PROJECTS, projectIdOf, readingScope } from '../auth/project-scope.ts';
import { fittingPage } from '../http/page-bytes.ts';
import { PageTokens } from '../http/page-token.ts';
import { CLUSTER, type Cluster, PAGE_TOKENS, TENANT_DATABASE } from '../infrastructure/tokens.ts';
import { type JobAddress, JobsService } from '../jobs/jobs.service.ts';
import type { IncidentQuery } from './incident-queries.ts';

interface IncidentRow {
  readonly id: string;
  readonly at_text: string;
  readonly job_id: string;
  readonly job: string;
  readonly project: string | null;
  readonly incident: Incident;
}

/** Whose incidents, and under which name their pages are signed. */
interface Of {
  readonly projectId: string | null;
  readonly jobId: string | null;
  readonly pages: string;
}

/** What went wrong with jobs, newest first. The right to read a job includes it. */
@Injectable()
export class IncidentsService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #jobs: JobsService;
  readonly #pageTokens: PageTokens;

  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(JobsService) jobs: JobsService,
    @Inject(PAGE_TOKENS) pageTokens: PageTokens,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#jobs = jobs;
    this.#pageTokens = pageTokens;
  }

  ofJob(principal: Principal, address: JobAddress, query: IncidentQuery): Promise<IncidentList> {
    return this.#jobs.readingMany(principal, address, (sql, { id }) =>
      this.#page(sql, { projectId: null, jobId: id, pages: `job/${id}` }, query),
    );
  }

  /** Of every job of the project; of `-` of every job that the caller sees. */
  async list(principal: Principal, project: string, query: IncidentQuery): Promise<IncidentList> {
    const question = { clusterId: this.#cluster.id, principal, project, action: 'job.read', work: 'list' } as const;
    const { sql, scope } = await readingScope(this.#database, question);
    const projectId = projectIdOf(scope);
    return this.#page(sql, { projectId, jobId: null, pages: projectId ?? ALL_PROJECTS }, query);
  }

  async #page(sql: Sql, { projectId, jobId, pages }: Of, query: IncidentQuery): Promise<IncidentList> {
    const { pageSize, pageToken, ...filters } = query;
    const tokenScope = `incidents/${pages}/${JSON.stringify(filters)}`;
    const after = pageToken === undefined ? undefined : this.#pageTokens.read(tokenScope, pageToken);
    const found = await sql.query<IncidentRow>(NEWEST, [
      this.#cluster.id,
      projectId,
      jobId,
      filters.kind ?? null,
      filters.state === undefined ? null : filters.state === 'open',
      filters.node ?? null,
      after?.key ?? null,
      after?.id ?? null,
      pageSize + 1,
    ]);
    const rows = found.rows.slice(0, pageSize);
    const items = [...fittingPage(rows.map(toJobIncident))];
    const last = rows[items.length - 1];
    if (items.length === found.rows.length || last === undefined) return { items };
    return { items, nextPageToken: this.#pageTokens.write(tokenScope, { key: last.at_text, id: last.id }) };
  }
}

const NEWEST = `
  SELECT i.id, i.noticed_at::text AS at_text, i.job_id, i.incident, j.name AS job, p.name AS project
    FROM incidents i JOIN jobs j ON j.id = i.job_id LEFT JOIN projects p ON p.id = j.project_id
   WHERE i.cluster_id = $1
     AND ($2::uuid IS NULL OR j.project_id = $2) AND ($3::uuid IS NULL OR i.job_id = $3)
     AND ($4::text IS NULL OR i.kind = $4) AND ($5::boolean IS NULL OR i.is_open = $5)
     AND ($6::text IS NULL OR i.node = $6)
     AND ($7::timestamptz IS NULL OR (i.noticed_at, i.id) < ($7::timestamptz, $8::bigint))
   ORDER BY i.noticed_at DESC, i.id DESC LIMIT $9`;

function toJobIncident({ job_id: jobId, job, project, incident }: IncidentRow): JobIncident {
  return { ...incident, jobId, job, project };
}
