import { randomUUID } from 'node:crypto';
import type { Database } from '@coxswain/persistence';
import type { SharedPostgres } from '@coxswain/test-harness';
import { ensureCluster } from '../infrastructure/installation.ts';
import { findJobRow } from '../jobs/job-row.ts';
import { insertRequestedJob, recordDesiredChange } from '../jobs/job-table.ts';
import { createTestDatabase, migratedPostgres, type TestDatabase } from '../testing/test-database.ts';
import { PostgresJobRowStore } from './job-row-store.ts';
import { describeClusterWriter, type RowsUnderTest } from './testing/cluster-writer-cases.ts';

let postgres: SharedPostgres;
let there: TestDatabase;
let database: Database;

beforeAll(async () => {
  postgres = migratedPostgres();
  there = await createTestDatabase(postgres, 'writer');
  ({ database } = there);
});
afterAll(async () => {
  await there?.close();
});

describeClusterWriter('in the database', async (): Promise<RowsUnderTest> => {
  const cluster = await ensureCluster(database, { name: `cluster-${randomUUID()}`, id: undefined });
  const projectId = randomUUID();
  await database.query("INSERT INTO projects (id, cluster_id, name) VALUES ($1, $2, 'research')", [
    projectId,
    cluster.id,
  ]);
  return {
    rows: new PostgresJobRowStore(database, cluster),
    insert: async ({ name, spec }) => {
      const id = randomUUID();
      await insertRequestedJob(database, cluster, {
        id,
        projectId,
        namespace: 'research',
        name,
        spec,
        labels: {},
        submittedBy: { id, name: 'ada' },
      });
      return id;
    },
    change: async (jobId, change) => {
      const row = await findJobRow(database, { clusterId: cluster.id, jobId });
      if (row === undefined || !(await recordDesiredChange(database, row, change))) throw new Error('not written');
    },
    eventsOf: async (jobId) => {
      const found = await database.query<{ type: string; message: string }>(
        'SELECT type, message FROM job_events WHERE job_id = $1 ORDER BY id',
        [jobId],
      );
      return found.rows.map(({ type, message }) => `${type}: ${message}`);
    },
  };
});
