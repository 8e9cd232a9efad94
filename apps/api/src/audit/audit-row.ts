import type { AuditEntry } from '@coxswain/api-types';

/** An entry as it is kept, with the name of its project. */
export interface AuditRow {
  readonly id: string;
  readonly at: Date;
  readonly principal: string | null;
  readonly principal_kind: AuditEntry['principalKind'];
  readonly principal_name: string | null;
  readonly project: string | null;
  readonly action: string;
  readonly target: string;
  readonly outcome: AuditEntry['outcome'];
  readonly reason: string | null;
  readonly requests: number;
  readonly source_address: string | null;
  readonly user_agent: string | null;
  readonly request_id: string | null;
  readonly detail: AuditEntry['detail'];
}

/** An entry as it is shown. */
export function toAuditEntry(row: AuditRow): AuditEntry {
  return {
    id: Number(row.id),
    at: row.at.toISOString(),
    principalKind: row.principal_kind,
    principalId: row.principal,
    principal: row.principal_name,
    project: row.project,
    verb: row.action,
    object: row.target,
    outcome: row.outcome,
    reason: row.reason,
    requests: row.requests,
    sourceAddress: row.source_address,
    userAgent: row.user_agent,
    requestId: row.request_id,
    detail: row.detail,
  };
}
