import { randomUUID } from 'node:crypto';
import { waitFor } from '@coxswain/local-cluster';
import type { SharedPostgres } from '@coxswain/test-harness';
import type { Database } from '@coxswain/persistence';
import { createLogger, createMetrics } from '@coxswain/telemetry';
import { TrainingJobSpec } from '@coxswain/api-types';
import { ensureCluster } from '../infrastructure/installation.ts';
import type { Cluster } from '../infrastructure/tokens.ts';
import { enqueueApply } from '../jobs/job-changes.ts';
import { insertRequestedJob } from '../jobs/job-table.ts';
import { createTestDatabase, migratedPostgres, type TestDatabase } from '../testing/test-database.ts';
import { ApplyQueue } from './apply-queue.ts';

let postgres: SharedPostgres;
let there: TestDatabase;
let database: Database;

beforeAll(async () => {
  postgres = migratedPostgres();
  there = await createTestDatabase(postgres, 'queue');
  ({ database } = there);
});
afterAll(async () => {
  await there?.close();
});

/** A job that was asked for on that cluster, with its outbox entry. */
async function aRequestedJob(cluster: Cluster): Promise<string> {
  const [id, projectId] = [randomUUID(), randomUUID()];
  const spec = TrainingJobSpec.parse({
    engine: { name: 'command', image: 'example/image', command: ['train'] },
    layout: { dataParallelDegree: 1 },
  });
  await database.transaction(async (sql) => {
    await sql.query('INSERT INTO projects (id, cluster_id, name) VALUES ($1, $2, $3)', [projectId, cluster.id, id]);
    const submittedBy = { id, name: 'ada' };
    await insertRequestedJob(sql, cluster, {
      id,
      projectId,
      namespace: 'research',
      name: id,
      spec,
      labels: {},
      submittedBy,
    });
    await enqueueApply(sql, id);
  });
  return id;
}

/** The worker of that cluster, which records what it carries. */
function carrying(cluster: Cluster): { readonly carried: readonly string[]; readonly queue: ApplyQueue } {
  const carried: string[] = [];
  const queue = new ApplyQueue({
    database,
    queueUrl: there.urls.queue,
    cluster,
    writer: { apply: (jobId) => Promise.resolve(void carried.push(jobId)) },
    logger: createLogger({ program: 'test', level: 'silent' }),
    metrics: createMetrics(),
  });
  queue.start();
  return { carried, queue };
}

describe('two clusters in one database', () => {
  it('each carries its own jobs, and leaves those of the other for it to come', async () => {
    const alpha = await ensureCluster(database, { name: 'alpha', id: undefined });
    const beta = await ensureCluster(database, { name: 'beta', id: undefined });
    // The other one's is first in line.
    const betas = await aRequestedJob(beta);
    const alphas = await aRequestedJob(alpha);

    const first = carrying(alpha);
    await waitFor(() => Promise.resolve(first.carried.includes(alphas)), { what: 'the job of alpha' });
    await first.queue.close();
    const left = await database.query<{ job_id: string }>('SELECT job_id FROM outbox');
    expect([first.carried, left.rows.map((row) => row.job_id)]).toEqual([[alphas], [betas]]);

    const second = carrying(beta);
    await waitFor(() => Promise.resolve(second.carried.includes(betas)), { what: 'the job of beta' });
    await second.queue.close();
    expect(second.carried).toEqual([betas]);
  });
});
