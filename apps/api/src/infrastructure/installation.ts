import { randomBytes, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { type Database, firstOf, type Sql } from '@coxswain/persistence';
import { freshToken } from '../auth/token-format.ts';
import type { Cluster } from './tokens.ts';

/** The row of this cluster; made once, then found by name. */
export async function ensureCluster(
  database: Database,
  wanted: { readonly name: string; readonly id: string | undefined },
): Promise<Cluster> {
  await database.query('INSERT INTO clusters (id, name) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING', [
    wanted.id ?? randomUUID(),
    wanted.name,
  ]);
  const row = firstOf(await database.query<{ id: string }>('SELECT id FROM clusters WHERE name = $1', [wanted.name]));
  if (row === undefined) throw new Error(`the cluster "${wanted.name}" could not be recorded`);
  if (wanted.id !== undefined && row.id !== wanted.id) {
    throw new Error(
      `cluster "${wanted.name}" has id ${row.id}, not ${wanted.id}: correct COXSWAIN_CLUSTER_ID or the name`,
    );
  }
  return { id: row.id, name: wanted.name };
}

/** The secret that signs page tokens; replicas share it through the database. */
export async function ensurePageTokenSecret(database: Database): Promise<Buffer> {
  await database.query("INSERT INTO settings (key, value) VALUES ('page-token-secret', $1) ON CONFLICT DO NOTHING", [
    randomBytes(32).toString('base64'),
  ]);
  const row = firstOf(
    await database.query<{ value: string }>("SELECT value FROM settings WHERE key = 'page-token-secret'"),
  );
  return Buffer.from(row?.value ?? '', 'base64');
}

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
