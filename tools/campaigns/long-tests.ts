import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureSetup } from '../setup/ensure-setup.ts';
import { LONG_TESTS, needsOf, SYSTEM_TESTS } from '../test/parts.ts';
import { describeFailures, summaryLine } from '../test/results.ts';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description = `The tests that take minutes each, which CI leaves out (half an hour; ${LONG_TESTS.join(', ')}).`;

/** Resolves with true when every one of them passed. */
export async function run(): Promise<boolean> {
  const choice = { filters: LONG_TESTS };
  await ensureSetup({ only: needsOf(SYSTEM_TESTS, choice) });
  const directory = mkdtempSync(join(tmpdir(), 'coxswain-long-tests-'));
  const tally = await SYSTEM_TESTS.run({ ...choice, directory });
  process.stderr.write(`${describeFailures(tally.failures, () => [])}\nLogs are in ${directory}\n`);
  process.stdout.write(`${summaryLine(tally)}\n`);
  return tally.failures.length === 0;
}
