import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { Database, Sql } from '@coxswain/persistence';
import { freshToken } from './token-format.ts';

/**
 * Makes the first cluster administrator when there is none, and writes its token to `file` (mode 0600), before it becomes valid: a crash
 * in between leaves a useless file, never a lost token. Returns whether it did.
 */
export async function ensureBootstrapAdministrator(database: Database, file: string): Promise<boolean> {
  return database.transaction(async (sql) => {
    await sql.query("SELECT pg_advisory_xact_lock(hashtextextended('coxswain/bootstrap', 0))");
    if (await hasAdministrator(sql)) return false;
    const fresh = freshToken();
    writeFileSync(file, `${fresh.token}\n`, { mode: 0o600 });
    await sql.query(
      `INSERT INTO api_tokens (id, project_id, name, role, prefix, secret_sha256) VALUES ($1, NULL, 'bootstrap', 'clusterAdmin', $2, $3)`,
      [randomUUID(), fresh.prefix, fresh.secretSha256],
    );
    return true;
  });
}

async function hasAdministrator(sql: Sql): Promise<boolean> {
  const found = await sql.query("SELECT 1 FROM api_tokens WHERE role = 'clusterAdmin' AND revoked_at IS NULL LIMIT 1");
  return found.rows.length > 0;
}
