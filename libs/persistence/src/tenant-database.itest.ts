import { randomUUID } from 'node:crypto';
import { sharedPostgres, type SharedPostgres } from '@coxswain/test-harness';
import type { Sql } from './connection-pool.ts';
import type { Scope } from './scope.ts';
import { TenantDatabase } from './tenant-database.ts';

let postgres: SharedPostgres;
let tenants: TenantDatabase;

beforeAll(async () => {
  postgres = sharedPostgres();
  const url = await postgres.createDatabase('tenants');
  tenants = await TenantDatabase.connect({ url, applicationName: 'tenants test', maxConnections: 1 });
});
afterAll(async () => {
  await tenants?.close();
});

const aScope = (overrides: Partial<Scope> = {}): Scope => ({
  clusterId: randomUUID(),
  principalId: randomUUID(),
  reach: { kind: 'projects', ids: [randomUUID()] },
  ...overrides,
});
const projectsOf = async (sql: Sql): Promise<unknown> => {
  const { rows } = await sql.query<{ ids: string }>("SELECT current_setting('coxswain.project_ids', true) AS ids");
  return rows[0]?.ids;
};

describe('a transaction within a scope', () => {
  it('is told of the projects as it begins, or that it is every one of the cluster', async () => {
    const ids = [randomUUID(), randomUUID()];
    expect(await tenants.within(aScope({ reach: { kind: 'projects', ids } }), projectsOf)).toBe(ids.join(','));
    expect(await tenants.within(aScope({ reach: { kind: 'cluster' } }), projectsOf)).toBe('*');
  });

  it('can be narrowed to one of its projects, and to no other', async () => {
    const ids = [randomUUID(), randomUUID()];
    const narrowed = (id: string, reach: Scope['reach']): Promise<unknown> =>
      tenants.within(aScope({ reach }), async (sql) => {
        await sql.narrowTo(id);
        return projectsOf(sql);
      });
    expect(await narrowed(ids[1] ?? '', { kind: 'projects', ids })).toBe(ids[1]);
    expect(await narrowed(ids[0] ?? '', { kind: 'cluster' })).toBe(ids[0]);
    await expect(narrowed(randomUUID(), { kind: 'projects', ids })).rejects.toThrow(/narrowed, not moved/);
  });

  it.each<[string, Partial<Scope>]>([
    ['a cluster', { clusterId: "', true); DROP TABLE jobs; --" }],
    ['a principal', { principalId: '*' }],
    ['a project', { reach: { kind: 'projects', ids: ['*'] } }],
  ])('does not begin with what is no id of %s', async (_what, overrides) => {
    await expect(tenants.within(aScope(overrides), projectsOf)).rejects.toThrow(/UUIDs/);
  });

  it('is told of them too where it is of one statement', async () => {
    const asked = await tenants.ask<{ ids: string }>(
      aScope({ reach: { kind: 'cluster' } }),
      "SELECT current_setting('coxswain.project_ids', true) AS ids",
      [],
    );
    expect(asked).toEqual([{ ids: '*' }]);
  });

  it('takes no statement once it has ended, when its connection may be another one’s', async () => {
    let kept: Sql | undefined;
    await tenants.within(aScope(), (sql) => {
      kept = sql;
      return Promise.resolve();
    });
    await expect(kept?.query('SELECT 1')).rejects.toThrow(/has ended/);
  });

  it('waits for a statement that nobody awaited before it ends', async () => {
    let late: Promise<unknown> | undefined;
    await tenants.within(aScope(), (sql) => {
      late = sql.query("SELECT pg_sleep(0.05), 'late' AS word");
      return Promise.resolve();
    });
    expect(await late).toMatchObject({ rows: [{ word: 'late' }] });
  });

  it('fails when a failure inside of it was swallowed: nothing would have been written, and nobody told', async () => {
    const swallowing = tenants.within(aScope(), async (sql) => {
      await sql.query('SELECT nonsense').catch(() => undefined);
    });
    await expect(swallowing).rejects.toMatchObject({ code: '25P02' });
    // The only connection is good for the next one.
    expect(await tenants.within(aScope({ reach: { kind: 'cluster' } }), projectsOf)).toBe('*');
  });
});

describe('connections that tenants share', () => {
  let shared: TenantDatabase;
  beforeAll(async () => {
    const url = await postgres.createDatabase('shared');
    shared = await TenantDatabase.connect({ url, applicationName: 'shares test', maxConnections: 4, waitMs: 200 });
  });
  afterAll(() => shared?.close());

  it('leave another tenant its turn and the API its own connection while one tenant holds all it may', async () => {
    const [greedy, modest] = [aScope(), aScope()];
    const held = Promise.withResolvers<void>();
    let running = 0;
    const holding = Array.from({ length: 20 }, () =>
      shared.within({ ...greedy, principalId: randomUUID() }, async (sql) => {
        await sql.query('SELECT 1');
        running += 1;
        await held.promise;
      }),
    );
    const outcomes = Promise.allSettled(holding);
    expect(await shared.ask(modest, 'SELECT 7 AS n', [])).toEqual([{ n: 7 }]);
    await shared.ping();
    expect(await shared.within(modest, projectsOf, 'list')).toBe(idOf(modest));
    // Those that wait are told to come again, and the two that hold a connection go on.
    const rejected = await Promise.race(holding.slice(2).map((one) => one.catch((error: unknown) => error)));
    expect(rejected).toMatchObject({ name: 'PoolBusyError', retryAfterSeconds: 2 });
    expect(running).toBe(2);
    held.resolve();
    const statuses = (await outcomes).map(({ status }) => status);
    expect(statuses.filter((status) => status === 'fulfilled')).toHaveLength(2);
    expect(shared.load).toEqual({ held: 0, waiting: 0 });
  });

  it.each([
    ['key', '3s'],
    ['change', '5s'],
    ['list', '5s'],
    ['system', '5s'],
  ] as const)('give a statement that is %s its budget for the transaction alone', async (kind, budget) => {
    const timeout = 'SELECT current_setting($1) AS timeout';
    expect(await shared.ask(aScope(), timeout, ['statement_timeout'], kind)).toEqual([{ timeout: budget }]);
    const inTransaction = await shared.within(
      aScope(),
      async (sql) => (await sql.query(timeout, ['statement_timeout'])).rows,
      kind,
    );
    expect(inTransaction).toEqual([{ timeout: budget }]);
  });
});

const idOf = ({ reach }: Scope): unknown => (reach.kind === 'projects' ? reach.ids[0] : undefined);
