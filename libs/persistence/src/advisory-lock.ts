import { Client } from 'pg';
import { CONNECT_DEADLINE_MS } from './connect-deadline.ts';
import { toDatabaseError } from './errors.ts';

/** Which lock, on which database. */
export interface LockAddress {
  readonly url: string;
  /** Hashed to the lock's 64-bit key by PostgreSQL. */
  readonly name: string;
}

/** Runs `work` while holding the lock on a connection of its own; waits for it as long as it takes. */
export async function withAdvisoryLock<T>(lock: LockAddress, work: () => Promise<T>): Promise<T> {
  const client = await connect(lock);
  try {
    await client.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [lock.name]);
    return await work();
  } catch (error) {
    throw error instanceof Error && error.name !== 'error' ? error : toDatabaseError(error);
  } finally {
    await client.end().catch(() => undefined); // Ending the session releases the lock.
  }
}

/**
 * Tries to take the lock once. While held, `lost` aborts as soon as the connection breaks: the server has then given, or will give, the lock
 * to somebody else. `release` ends it in good order.
 */
export async function tryAdvisoryLock(
  lock: LockAddress,
): Promise<{ readonly lost: AbortSignal; release(): Promise<void> } | undefined> {
  const client = await connect(lock);
  const lost = new AbortController();
  client.on('error', () => lost.abort());
  client.on('end', () => lost.abort());
  try {
    const result = await client.query<{ held: boolean }>(
      'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS held',
      [lock.name],
    );
    if (result.rows[0]?.held !== true) {
      await client.end();
      return undefined;
    }
  } catch (error) {
    await client.end().catch(() => undefined);
    throw toDatabaseError(error);
  }
  return {
    lost: lost.signal,
    release: async () => {
      await client.end().catch(() => undefined);
    },
  };
}

async function connect(lock: LockAddress): Promise<Client> {
  const client = new Client({
    connectionString: lock.url,
    application_name: lock.name,
    connectionTimeoutMillis: CONNECT_DEADLINE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
  });
  // An error event without a listener would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    throw toDatabaseError(error);
  }
  return client;
}
