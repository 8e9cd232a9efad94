import { sharedPostgres, type SharedPostgres } from '@coxswain/test-harness';
import { ConnectionPool } from './connection-pool.ts';

let postgres: SharedPostgres;
let url: string;

beforeAll(async () => {
  postgres = sharedPostgres();
  url = await postgres.createDatabase('pool');
});

describe.each([true, false])('a transaction (its first statement sent with its begin: %s)', (isPipelined) => {
  let pool: ConnectionPool;
  beforeAll(async () => {
    pool = await ConnectionPool.connect({ url, applicationName: 'pool test', maxConnections: 1, isPipelined });
  });
  afterAll(() => pool?.close());

  const settingIn = "SELECT set_config('pool.place', 'inside', true)";
  const place = "SELECT current_setting('pool.place', true) AS place";

  it('has begun before its first statement runs, and what it set is gone when it ends', async () => {
    expect((await pool.transaction(`BEGIN; ${settingIn}`, (sql) => sql.query(place))).rows).toEqual([
      { place: 'inside' },
    ]);
    expect((await pool.query<{ place: string | null }>(place)).rows[0]?.place ?? '').toBe('');
  });

  it('shows nothing of its statements when it did not begin, and leaves the connection as it was', async () => {
    let shown: unknown;
    const failed = pool.transaction('BEGIN NONSENSE', async (sql) => {
      shown = await sql.query('SELECT 1');
    });
    await expect(failed).rejects.toMatchObject({ code: '42601' });
    expect(shown).toBeUndefined();
    expect((await pool.query('SELECT 2 AS two')).rows).toEqual([{ two: 2 }]);
  });

  it('fails with its first statement, and the connection is good for the next one', async () => {
    await expect(pool.transaction('BEGIN', (sql) => sql.query('SELECT nonsense'))).rejects.toMatchObject({
      code: '42703',
    });
    expect((await pool.query('SELECT 2 AS two')).rows).toEqual([{ two: 2 }]);
  });

  it('of one statement is one too: it has begun before, and what it set is gone after', async () => {
    const asked = [1, 2, 3].map(() => pool.transactionOf(`BEGIN; ${settingIn}`, place, []));
    for (const { rows } of await Promise.all(asked)) expect(rows).toEqual([{ place: 'inside' }]);
    expect((await pool.query<{ place: string | null }>(place)).rows[0]?.place ?? '').toBe('');
  });

  it.each<[string, string, string, string]>([
    ['does not begin', 'BEGIN NONSENSE', 'SELECT 1', '42601'],
    ['begins and fails', 'BEGIN; SELECT nonsense', 'SELECT 1', '42703'],
    ['has a statement that fails', 'BEGIN', 'SELECT nonsense', '42703'],
  ])('of one statement that %s gives nothing, and leaves the connection good', async (_how, begin, statement, code) => {
    await expect(pool.transactionOf(begin, statement, [])).rejects.toMatchObject({ code });
    expect((await pool.query('SELECT 2 AS two, pg_current_xact_id_if_assigned() AS xact')).rows).toEqual([
      { two: 2, xact: null },
    ]);
    expect((await pool.transactionOf(`BEGIN; ${settingIn}`, place, [])).rows).toEqual([{ place: 'inside' }]);
  });

  it('keeps the order of statements that are asked for at once', async () => {
    const rows = await pool.transaction('BEGIN', async (sql) => {
      const results = await Promise.all([1, 2, 3].map((n) => sql.query<{ n: number }>('SELECT $1::integer AS n', [n])));
      return results.map((result) => result.rows[0]?.n);
    });
    expect(rows).toEqual([1, 2, 3]);
  });

  it('runs a statement that has a name again under other parameters, and refuses another text under it', async () => {
    const named = { name: 'twice', text: 'SELECT 2 * $1::integer AS n' };
    for (const n of [1, 2, 3, 4, 5, 6, 7])
      expect((await pool.transaction('BEGIN', (sql) => sql.query(named, [n]))).rows).toEqual([{ n: 2 * n }]);
    const other = pool.query({ name: 'twice', text: 'SELECT 3 * $1::integer AS n' }, [1]);
    await expect(other).rejects.toThrow(/must be unique/);
  });
});
