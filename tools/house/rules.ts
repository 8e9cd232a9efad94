import { staleEntries, twoWayPairs, unlistedFolders } from './folders.ts';
import { importsOf } from './imports.ts';
import type { Workspace } from './measures.ts';
import { importCircles, unusedCode } from './unused-code.ts';
import { lineCount, type SourceText } from './sources.ts';

const LONGEST = 400;
/** How a file says in its head why it is longer: in a comment that mentions the number. */
const REASON = new RegExp(`\\b${LONGEST} lines\\b`);

/** What breaks a rule that lint cannot see in `sources`, which are the files below `root`: a line each; none is what is wanted. */
export async function violations(
  root: string,
  sources: readonly SourceText[],
  workspace: Workspace,
): Promise<string[]> {
  const [circles, unused] = await Promise.all([importCircles(root), unusedCode(root)]);
  return [
    ...folderViolations(sources, workspace),
    ...circles.map((group) => `${group.join(', ')}: import each other in a circle; move what they share below them`),
    ...unused.map((name) => `${name}: exported, but imported by nobody; delete it, or do not export it`),
  ];
}

/** Files that are too long, and folders that break the order of their package: a line each. */
export function folderViolations(sources: readonly SourceText[], { packages, folderOrder }: Workspace): string[] {
  const imports = importsOf(sources, packages);
  return [
    ...longFiles(sources).map(
      (path) =>
        `${path}: over ${LONGEST} lines; split it, or say in its head comment why it is more than ${LONGEST} lines`,
    ),
    ...unlistedFolders(sources, folderOrder).map(
      (folder) => `${folder}: in no order; list the folder in tools/lint/folder-order.mjs`,
    ),
    ...staleEntries(sources, folderOrder).map(
      (entry) => `${entry}: listed in tools/lint/folder-order.mjs, but does not exist; remove the entry`,
    ),
    ...twoWayPairs(imports).map((pair) => `${pair}: import each other; move what both need below both`),
  ];
}

/** Files above 400 lines whose head gives no reason. */
export function longFiles(sources: readonly SourceText[]): string[] {
  return sources
    .filter(({ text }) => lineCount(text) > LONGEST && !REASON.test(headComment(text)))
    .map(({ path }) => path);
}

/** The comments (in Python, the docstring) that stand before everything else in a file, or right after its imports. */
function headComment(text: string): string {
  const withoutImports = text.replace(/^#!.*\n/, '').replace(/^import\s[^;]*;\n/gm, '');
  return /^(\s*(\/\*[^]*?\*\/|\/\/.*\n|"""[^]*?"""))*/.exec(withoutImports)?.[0].replaceAll(/\s[*/]*\s*/g, ' ') ?? '';
}
