import { createLogger } from '@coxswain/telemetry';
import { scriptedSql } from '../testing/scripted-sql.ts';
import { removeUnusedCode } from './code-retention.ts';

const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
const bucket = { uri: 's3://training/code', endpoint: undefined, region: 'us-east-1', credentials };

it.each([
  ['nothing before rows are what the cluster has', false, 0],
  ['what no job names once they are', true, 3],
])('a sweep removes %s', async (_which, isCurrent, statements) => {
  const database = scriptedSql([]);
  const stopping = new AbortController();
  const areRowsCurrent = (): boolean => {
    stopping.abort();
    return isCurrent;
  };
  const logger = createLogger({ program: 'coxswain-api', level: 'silent' });
  const parts = { database, cluster: { id: 'c', name: 'c' }, days: 30, bucket, logger, areRowsCurrent };
  await removeUnusedCode(parts, stopping.signal);
  expect(database.statements).toHaveLength(statements);
});
