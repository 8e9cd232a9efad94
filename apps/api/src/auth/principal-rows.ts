import { randomUUID } from 'node:crypto';
import type { Sql } from '@coxswain/persistence';

/**
 * Records the owner of a service token, in the transaction that makes the token. `projectId` null: of a cluster administrator's. `id`: of one that may be
 * there already, as of a token that an API of an earlier release made, which stands for itself.
 */
export async function addServicePrincipal(
  sql: Sql,
  service: { readonly name: string; readonly projectId: string | null; readonly id?: string },
): Promise<string> {
  const { id = randomUUID() } = service;
  await sql.query(
    "INSERT INTO principals (id, kind, issuer, subject, name, project_id) VALUES ($1, 'service', '', $2, $3, $4) ON CONFLICT DO NOTHING",
    [id, id, service.name, service.projectId],
  );
  return id;
}
