/**
 * Import circles and unused exports, found by dependency-cruiser (dependency-cruiser.json) and knip (knip.json). Types and tests count as well.
 * Both are programs of their own, so a test can run them as CI does.
 */
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const PROGRAMS = join(import.meta.dirname, '../../node_modules/.bin');
const SOURCES = '{apps,libs,dev,research,tools,e2e,migrations}';
const MAX_BYTES = 64 * 2 ** 20;

/** What dependency-cruiser reports. */
interface Violation {
  readonly cycle?: readonly { readonly name: string }[];
}

type Place = readonly { readonly name: string }[];
/** What knip reports of one file. */
interface Issue {
  readonly file: string;
  readonly files: Place;
  readonly exports: Place;
  readonly types: Place;
}

/** Groups of files below `root` that import each other in a circle, each group once. None is what is wanted. */
export async function importCircles(root: string): Promise<string[][]> {
  const config = join(import.meta.dirname, 'dependency-cruiser.json');
  const args = ['--config', config, '--output-type', 'baseline', ...globSync(SOURCES, { cwd: root })];
  const violations = JSON.parse(await run('depcruise', args, root)) as readonly Violation[];
  const groups = violations.flatMap(({ cycle }) => (cycle === undefined ? [] : [cycle.map(({ name }) => name).sort()]));
  return [...new Map(groups.map((group) => [group.join(), group])).values()];
}

/** Files below `root` that nothing imports, and exports that no other file imports, as `libs/kube/src/index.ts name`. None is what is wanted. */
export async function unusedCode(root: string): Promise<string[]> {
  const config = join(import.meta.dirname, 'knip.json');
  const args = ['--config', config, '--include', 'files,exports,types', '--reporter', 'json', '--no-exit-code'];
  const report = JSON.parse(await run('knip', [...args, '--no-progress', '--no-config-hints'], root)) as {
    readonly issues: readonly Issue[];
  };
  return report.issues.flatMap(({ file, files, exports, types }) =>
    files.length > 0 ? [file] : [...exports, ...types].map(({ name }) => `${file} ${name}`),
  );
}

async function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  const { stdout } = await promisify(execFile)(join(PROGRAMS, program), args, { cwd, maxBuffer: MAX_BYTES });
  return stdout;
}
