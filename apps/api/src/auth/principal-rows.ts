import { randomUUID } from 'node:crypto';
import type { Sql } from '@coxswain/persistence';

/**
 * Records the owner of a service token, in the transaction that creates the token. `projectId` is null for a cluster administrator's token. The
 * owner `id` may exist already, because a token of an earlier release is its own owner.
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
