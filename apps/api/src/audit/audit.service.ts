import type { AuditList } from '@coxswain/api-types';
import type { TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import { ALL_PROJECTS, inScope, projectIdOf } from '../auth/project-scope.ts';
import { fittingPage } from '../http/page-bytes.ts';
import { PageTokens } from '../http/page-token.ts';
import { CLUSTER, type Cluster, PAGE_TOKENS, TENANT_DATABASE } from '../infrastructure/tokens.ts';
import { type AuditRow, toAuditEntry } from './audit-row.ts';
import type { AuditQuery } from './audit-queries.ts';

/** What was done and what was refused, for those who answer for it: administrators of a project read their project's, those of the cluster everything. */
@Injectable()
export class AuditService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #pageTokens: PageTokens;

  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(PAGE_TOKENS) pageTokens: PageTokens,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#pageTokens = pageTokens;
  }

  /** Newest first. Of the whole cluster it tells also what is about all clusters: its administrators. */
  async list(principal: Principal, project: string, query: AuditQuery): Promise<AuditList> {
    const question = { clusterId: this.#cluster.id, principal, project, action: 'audit.read', work: 'list' } as const;
    const { pageSize, pageToken, ...filters } = query;
    return inScope(this.#database, question, async (sql, scope) => {
      const projectId = projectIdOf(scope);
      const tokenScope = `audit/${projectId ?? ALL_PROJECTS}/${JSON.stringify(filters)}`;
      const after = pageToken === undefined ? undefined : this.#pageTokens.read(tokenScope, pageToken);
      const found = await sql.query<AuditRow & { readonly at_text: string }>(
        projectId === null ? OF_CLUSTER : OF_PROJECT,
        [
          this.#cluster.id,
          filters.since ?? null,
          filters.until ?? null,
          filters.principal ?? null,
          filters.verb ?? null,
          filters.object ?? null,
          filters.outcome ?? null,
          after?.key ?? null,
          after?.id ?? null,
          pageSize + 1,
          ...(projectId === null ? [] : [projectId]),
        ],
      );
      const rows = found.rows.slice(0, pageSize);
      const items = [...fittingPage(rows.map(toAuditEntry))];
      const last = rows[items.length - 1];
      if (items.length === found.rows.length || last === undefined) return { items };
      return { items, nextPageToken: this.#pageTokens.write(tokenScope, { key: last.at_text, id: last.id }) };
    });
  }
}

/** The newest entries for which the condition holds. Each has an index that gives them in order, so that a page costs no more however long the audit is. */
function newest(condition: string): string {
  return `SELECT * FROM audit
           WHERE ${condition}
             AND ($2::timestamptz IS NULL OR at >= $2) AND ($3::timestamptz IS NULL OR at < $3)
             AND ($4::text IS NULL OR principal_name = $4) AND ($5::text IS NULL OR action = $5)
             AND ($6::text IS NULL OR target = $6) AND ($7::text IS NULL OR outcome = $7)
             AND ($8::timestamptz IS NULL OR (at, id) < ($8::timestamptz, $9::bigint))
           ORDER BY at DESC, id DESC LIMIT $10`;
}

function pageOf(source: string): string {
  return `SELECT a.*, a.at::text AS at_text, p.name AS project FROM (${source}) AS a LEFT JOIN projects p ON p.id = a.project_id
           ORDER BY a.at DESC, a.id DESC LIMIT $10`;
}

const OF_PROJECT = pageOf(newest('cluster_id = $1 AND project_id = $11'));
const OF_CLUSTER = pageOf(
  `(${newest('cluster_id = $1')}) UNION ALL (${newest('cluster_id IS NULL AND $1::uuid IS NOT NULL')})`,
);
