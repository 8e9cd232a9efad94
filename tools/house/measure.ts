/**
 * `npm run house`: measures the code, and says where it breaks a rule that lint cannot see.
 *
 *     npm run house                    the table and the violations
 *     npm run house -- --check         the violations alone, in seconds; exit code 1 when there are any (a part of CI's lint)
 *     npm run house -- --root FOLDER   the same of another checkout, with its packages installed
 *
 * The code that counts each line documents how: files and tests in sources.ts, functions in functions.ts, documented exports in exports.ts. The order
 * of folders is in folders.ts, the way from YAML to seconds in walk.ts, style in tools/style. dependency-cruiser finds circles and knip finds what is
 * unused, as unused-code.ts configures them.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { FOLDER_ORDER } from '../lint/folder-order.mjs';
import { describeMeasures, measure } from './measures.ts';
import type { PackageManifest } from './imports.ts';
import { violations } from './rules.ts';
import { readSources } from './sources.ts';
import { traceLayoutToSeconds, walkOf } from './walk.ts';
import { countByKind, findingsIn } from '../style/repository.ts';

const HELP = `npm run house [-- --check] [-- --root FOLDER]

Measures the code: lengths, documented exports, tests per source, style findings, the way from a layout's YAML to a planner's seconds. Then it lists
violations of rules that lint cannot check: files above 400 lines without a reason, unused files and exports, import circles, folders that no
order lists, folders that import each other.

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
const workspace = { packages: readPackages(root), folderOrder: FOLDER_ORDER };
if (values.check !== true) {
  const style = countByKind(findingsIn(root));
  process.stdout.write(describeMeasures(measure(sources, workspace), walkOf(traceLayoutToSeconds(root)), style));
}
const broken = await violations(root, sources, workspace);
process.stdout.write(broken.map((line) => `${line}\n`).join(''));
process.exitCode = broken.length === 0 ? 0 : 1;

function readPackages(from: string): PackageManifest[] {
  return globSync('{apps,libs,dev,research}/*/package.json', { cwd: from }).map((path) => {
    const { name, exports = {} } = JSON.parse(readFileSync(join(from, path), 'utf8')) as {
      readonly name: string;
      readonly exports?: Readonly<Record<string, string>>;
    };
    return { name, exports, folder: dirname(path) };
  });
}
