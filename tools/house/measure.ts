/**
 * `npm run house`: measures the code, and says where it breaks a rule that lint cannot see.
 *
 *     npm run house                    the table and the violations
 *     npm run house -- --check         the violations alone, in seconds; exit code 1 when there are any (a part of CI's lint)
 *     npm run house -- --root FOLDER   the same of another checkout, with its packages installed
 *
 * How each line is counted stands beside what counts it: files and tests in sources.ts, functions in functions.ts, documented exports in
 * exports.ts, the way from YAML to seconds in walk.ts; dependency-cruiser finds circles and knip what is unused, as imports.ts configures them. Style is counted in tools/style.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { describeMeasures, measure } from './measures.ts';
import { violations } from './rules.ts';
import { readSources } from './sources.ts';
import { traceLayoutToSeconds, walkOf } from './walk.ts';
import { countByKind, findingsIn } from '../style/repository.ts';

const HELP = `npm run house [-- --check] [-- --root FOLDER]

Measures the code (lengths, documented exports, tests per source, style findings, the way from a layout's YAML to a planner's seconds) and lists what breaks
a rule that lint cannot see: files above 400 lines without a reason, unused files and exports, import circles.

  --check         the violations alone, in seconds; exit code 1 when there are any
  --root FOLDER   the same of another checkout, with its packages installed
  --help          this text
`;

const { values } = parseArgs({
  options: { check: { type: 'boolean' }, root: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
});
if (values.help === true) {
  process.stdout.write(HELP);
  process.exit();
}
const root = resolve(values.root ?? join(import.meta.dirname, '../..'));
const sources = readSources(root);
if (values.check !== true) {
  const style = countByKind(findingsIn(root));
  process.stdout.write(describeMeasures(measure(sources), walkOf(traceLayoutToSeconds(root)), style));
}
const broken = await violations(root, sources);
process.stdout.write(broken.map((line) => `${line}\n`).join(''));
process.exitCode = broken.length === 0 ? 0 : 1;
