import type { Sql } from '@coxswain/persistence';
import type { Principal } from './principal.ts';

/** Something that a principal did. */
export interface AuditEntry {
  readonly action: string;
  readonly target: string;
  readonly projectId: string | null;
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** Records it in the transaction that does it: what is not recorded has not happened. */
export async function recordAudit(sql: Sql, principal: Principal, entry: AuditEntry): Promise<void> {
  await sql.query(
    'INSERT INTO audit (principal, principal_name, project_id, action, target, detail) VALUES ($1, $2, $3, $4, $5, $6)',
    [
      principal.tokenId,
      principal.name,
      entry.projectId,
      entry.action,
      entry.target,
      JSON.stringify(entry.detail ?? {}),
    ],
  );
}
