import { randomUUID } from 'node:crypto';
import type { Sql } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';

/** Two clusters that share the database. */
export async function twoClusters(sql: Sql): Promise<{ readonly here: Cluster; readonly elsewhere: Cluster }> {
  const here = { id: randomUUID(), name: 'here' };
  const elsewhere = { id: randomUUID(), name: 'elsewhere' };
  for (const { id, name } of [here, elsewhere])
    await sql.query('INSERT INTO clusters (id, name) VALUES ($1, $2)', [id, name]);
  return { here, elsewhere };
}
