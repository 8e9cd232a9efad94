import { ROOT, runSupervised } from './test/run-supervised.ts';
import { AFFECTED_UNIT } from './nx/affected-tests.ts';
import { HOUSE, LINT, STYLE, TYPECHECK, UNIT, type Part } from './test/parts.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { summaryLine } from './test/results.ts';
import { secondsSince } from './setup/progress.ts';

const HELP = `npm run check [-- --all]

What to run before every commit: formats the files, then lint, house rules, style, types, and the unit tests of the projects that changed since main, or
that depend on what changed. Stops at the first that fails.

  --all    every unit test, without a cache
  --help   this text
`;

async function check(unit: Part): Promise<boolean> {
  await runSupervised({
    name: 'format',
    command: join(ROOT, 'node_modules/.bin/prettier'),
    args: ['--write', '.', '--log-level', 'warn'],
  });
  const directory = mkdtempSync(join(tmpdir(), 'coxswain-check-'));
  try {
    for (const part of [LINT, HOUSE, STYLE, TYPECHECK, unit]) {
      if (!(await passes(part, directory))) {
        return false;
      }
    }
    return true;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function passes(part: Part, directory: string): Promise<boolean> {
  const started = performance.now();
  const tally = await part.run({ filters: [], directory });
  process.stderr.write(`${part.name}: ${summaryLine(tally)} (${secondsSince(started)})\n`);
  return tally.failures.length === 0;
}

if (process.argv.includes('--help')) {
  process.stdout.write(HELP);
} else {
  process.exitCode = (await check(process.argv.includes('--all') ? UNIT : AFFECTED_UNIT)) ? 0 : 1;
}
