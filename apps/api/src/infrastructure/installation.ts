import { randomBytes, randomUUID } from 'node:crypto';
import { type Database, firstOf } from '@coxswain/persistence';
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
