import { OBJECT_STORE_VARIABLE } from '@coxswain/test-harness';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBinaries } from '../setup/binaries.ts';
import { progressOn } from '../setup/progress.ts';
import { CLUSTER_TESTS, testsThatNeed } from '../test/parts.ts';
import { describeFailures, summaryLine } from '../test/results.ts';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'The tests of buckets against versitygw, which checks signatures as S3 does (a minute; two more to build it once).';

/** Resolves with true when every one of them passed. */
export async function run(): Promise<boolean> {
  await ensureBinaries(['versitygw'], progressOn(process.stderr));
  process.env[OBJECT_STORE_VARIABLE] = 'versitygw';
  const directory = mkdtempSync(join(tmpdir(), 'coxswain-object-stores-'));
  const tally = await CLUSTER_TESTS.run({ filters: testsThatNeed('object-store'), directory });
  process.stderr.write(`${describeFailures(tally.failures, () => [])}\nLogs are in ${directory}\n`);
  process.stdout.write(`${summaryLine(tally)}\n`);
  return tally.failures.length === 0;
}
