import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureSetup } from '../setup/ensure-setup.ts';
import { INTEGRATION, LONG_TESTS, needsOf } from '../test/parts.ts';
import { describeFailures, summaryLine } from '../test/results.ts';

export const description = `The tests that take minutes each, which no other run holds unless a path names them (${LONG_TESTS.join(', ')}).`;

/** Resolves with true when every one of them passed. */
export async function run(): Promise<boolean> {
  const directory = mkdtempSync(join(tmpdir(), 'coxswain-long-tests-'));
  await ensureSetup({ only: needsOf(INTEGRATION, LONG_TESTS) });
  const tally = await INTEGRATION.run({ filters: LONG_TESTS, directory });
  process.stderr.write(`${describeFailures(tally.failures, () => [])}\nLogs are in ${directory}\n`);
  process.stdout.write(`${summaryLine(tally)}\n`);
  return tally.failures.length === 0;
}
