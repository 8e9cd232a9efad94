/**
 * The least program that answers the questions of the API's bench: node:http and pg, nothing else. It runs the same transaction (scope set as it begins), under the
 * same role and policies, checks the same token in the same way, and asks with the same statements, of which the one for a job has a name and is planned once, as the
 * API's is. It sends them one after the other, checks no parameters, makes no `Job` of a row, knows no ETag and writes no log. Started by `jobs.bench.ts`, which gives URL and ids in the environment; prints its port.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool, type PoolClient } from 'pg';
import { partsOfToken, secretMatches } from '../src/auth/token-format.ts';
import type { TokenRow } from '../src/auth/token-lookup.ts';
import { JOB_BY_ID, SELECT_JOB_IN_SHORT } from '../src/jobs/job-of-row.ts';
import { jobListQuery } from '../src/jobs/job-list-query.ts';
import { PAGE_SIZE } from './questions.ts';

const { BENCH_DATABASE_URL = '', BENCH_CLUSTER_ID = '', BENCH_PROJECT_ID = '', BENCH_CONNECTIONS = '10' } = process.env;
const pool = new Pool({ connectionString: BENCH_DATABASE_URL, max: Number(BENCH_CONNECTIONS) });

const server = createServer((request, response) => {
  answer(request).then(
    (body) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
    (error: unknown) => response.writeHead(500).end(String(error)),
  );
});
server.listen(0, '127.0.0.1', () => console.log(`port ${(server.address() as AddressInfo).port}`));

async function answer(request: IncomingMessage): Promise<unknown> {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
  const token = await tokenOf(request);
  const id = /\/jobs\/([^/]+)$/.exec(pathname)?.[1];
  return inTransaction(token.principal_id, async (client) => {
    if (id !== undefined) {
      const { rows } = await client.query({ ...JOB_BY_ID, values: [id, BENCH_CLUSTER_ID, BENCH_PROJECT_ID] });
      return rows[0];
    }
    const [key = '', value = ''] = (searchParams.get('labelSelector') ?? '').split('=');
    const { text, parameters } = jobListQuery(
      { clusterId: BENCH_CLUSTER_ID, projectId: BENCH_PROJECT_ID },
      {
        labels: key === '' ? [] : [{ key, operator: 'in', values: [value] }],
        words: (searchParams.get('q') ?? '').split(' ').filter(Boolean),
      },
      { orderBy: 'createdAt', isDescending: true, rows: PAGE_SIZE + 1 },
    );
    const { rows } = await client.query(`${SELECT_JOB_IN_SHORT} ${text}`, [...parameters]);
    return { items: rows };
  });
}

/** As long as the API believes a token without asking again. */
const BELIEVED_MS = 2_000;
let believed: { readonly header: string; readonly token: TokenRow; readonly untilMs: number } | undefined;

async function tokenOf({ headers: { authorization = '' } }: IncomingMessage): Promise<TokenRow> {
  if (believed?.header === authorization && Date.now() < believed.untilMs) return believed.token;
  const parts = partsOfToken(authorization.replace('Bearer ', ''));
  if (parts === undefined) throw new Error('no token');
  const { rows } = await pool.query<TokenRow>('SELECT * FROM find_credentials($1, $2, 480)', [
    [parts.prefix],
    BENCH_CLUSTER_ID,
  ]);
  const row = rows.find(({ secret_sha256 }) => secretMatches(parts.secret, secret_sha256));
  if (row === undefined) throw new Error('an unknown token');
  believed = { header: authorization, token: row, untilMs: Date.now() + BELIEVED_MS };
  return row;
}

async function inTransaction<T>(principalId: string, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query(`BEGIN; SELECT set_config('coxswain.cluster_id', '${BENCH_CLUSTER_ID}', true),
      set_config('coxswain.project_ids', '${BENCH_PROJECT_ID}', true), set_config('coxswain.principal_id', '${principalId}', true)`);
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } finally {
    client.release();
  }
}
