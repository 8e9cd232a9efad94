import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startPostgres, type Postgres } from './postgres.ts';

describe('a local PostgreSQL', () => {
  let server: Postgres;

  beforeAll(async () => {
    server = await startPostgres();
  });

  afterAll(() => server.stop());

  it('gives every caller a database of its own', async () => {
    const urls = await Promise.all([server.createDatabase('api'), server.createDatabase('api')]);
    await query(urls[0], 'CREATE TABLE jobs (id int)');

    await expect(query(urls[1], 'SELECT * FROM jobs')).rejects.toThrow('relation "jobs" does not exist');
  });

  it('does not run as root', async () => {
    const [row] = await query(server.url, `SELECT pg_read_file('/proc/self/status') AS status`);

    expect(String(row?.['status'])).toMatch(/^Uid:\t[1-9]/m);
  });

  it('refuses a wrong password', async () => {
    const url = new URL(server.url);
    url.password = 'guess';

    await expect(query(url.href, 'SELECT 1')).rejects.toThrow('password authentication failed');
  });

  it.each([
    ['a crash', (): Promise<void> => server.kill()],
    ['a pause', (): Promise<void> => server.pause()],
  ])('ends its connections at %s and comes back with its data', async (_, takeAway) => {
    const url = await server.createDatabase('data');
    await query(url, 'CREATE TABLE steps AS SELECT 42 AS step');

    await takeAway();
    await expect(query(url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED');
    await server.start();

    expect(await query(url, 'SELECT step FROM steps')).toEqual([{ step: 42 }]);
  });

  it('keeps data, port and password in a directory that was given', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'kept-'));
    const first = await startPostgres({ directory });
    await query(first.url, 'CREATE TABLE steps AS SELECT 42 AS step');
    await first.stop();

    const second = await startPostgres({ directory });
    const rows = await query(first.url, 'SELECT step FROM steps');
    await second.stop();
    second.removeData();
    rmSync(directory, { recursive: true });

    expect(rows).toEqual([{ step: 42 }]);
    expect(second.url).toBe(first.url);
  });
});

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
