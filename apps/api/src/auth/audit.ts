import { cutText, safeText } from '@coxswain/safe-text';
import { type Sql, storableJson } from '@coxswain/persistence';
import type { CountedDenial } from './denial-counts.ts';
import type { Principal } from './principal.ts';

/** Something that a principal did. */
export interface AuditEntry {
  readonly action: string;
  readonly target: string;
  readonly projectId: string | null;
  /** Absent: that of the transaction's scope; without one it is about all of them. */
  readonly clusterId?: string;
  /** Holds no secret and nothing of a request body: a reader of the audit may lack the right to read the object. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** Longest texts of an entry, in UTF-16 code units; who asks chooses the user agent and the path. */
const MAX_TEXT = 300;
const MAX_DETAIL = 2_000;

/** Records it in the transaction that does it: what is not recorded has not happened. */
export async function recordAudit(sql: Sql, principal: Principal, entry: AuditEntry): Promise<void> {
  const { origin } = principal;
  await sql.query(
    `INSERT INTO audit (principal, principal_kind, principal_name, project_id, action, target, detail, source_address, user_agent, request_id, cluster_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, coalesce($11, scope_cluster()))`,
    [
      principal.id,
      principal.kind,
      short(principal.name),
      entry.projectId,
      entry.action,
      short(entry.target),
      detailOf(entry.detail),
      origin?.sourceAddress ?? null,
      origin?.userAgent === undefined ? null : short(origin.userAgent),
      origin?.requestId ?? null,
      entry.clusterId ?? null,
    ],
  );
}

/** Records what was not allowed. A principal's belong to his own project, whatever he asked about: nobody learns who asked about theirs. */
export async function recordDenials(sql: Sql, clusterId: string, denials: readonly CountedDenial[]): Promise<void> {
  const rows = denials.map((denial) => ({
    at: new Date(denial.atMs).toISOString(),
    principal: denial.principal?.id ?? null,
    principal_kind: denial.principal?.kind ?? null,
    principal_name: denial.principal === null ? null : short(denial.principal.name),
    project_id: denial.principal?.projectId ?? denial.ofProjectId ?? null,
    action: denial.verb,
    target: denial.object,
    detail: denial.project === null ? {} : { project: denial.project },
    reason: denial.reason,
    requests: denial.requests,
    source_address: denial.sourceAddress,
    user_agent: denial.userAgent,
    request_id: denial.requestId,
  }));
  await sql.query(
    `INSERT INTO audit (cluster_id, outcome, at, principal, principal_kind, principal_name, project_id, action, target, detail, reason, requests,
                        source_address, user_agent, request_id)
     SELECT $1, 'denied', * FROM jsonb_to_recordset($2::jsonb) AS told (at timestamptz, principal uuid, principal_kind text, principal_name text, project_id uuid, action text,
            target text, detail jsonb, reason text, requests integer, source_address text, user_agent text, request_id text)`,
    [clusterId, storableJson(rows)],
  );
}

/** A text as it is kept. */
export function short(text: string): string {
  return safeText(text.slice(0, 2 * MAX_TEXT), MAX_TEXT);
}

/** What is too long is left out as a whole: half of it would be no JSON. */
function detailOf(detail: Readonly<Record<string, unknown>> = {}): string {
  const json = storableJson(detail);
  return json.length <= MAX_DETAIL
    ? json
    : JSON.stringify({ omitted: cutText(Object.keys(detail).join(', '), MAX_TEXT) });
}
