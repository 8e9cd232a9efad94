import { staleEntries, twoWayPairs, unlistedFolders } from './folders.ts';
import { circles, importsOf, unusedExports } from './imports.ts';
import type { Workspace } from './measures.ts';
import { lineCount, type SourceText } from './sources.ts';

const LONGEST = 400;
/** How a file says in its head why it is longer: in a comment that mentions the number. */
const REASON = new RegExp(`\\b${LONGEST} lines\\b`);

/** What breaks a rule that lint cannot see, a line each; none is what is wanted. */
export function violations(sources: readonly SourceText[], { packages, folderOrder }: Workspace): string[] {
  const imports = importsOf(sources, packages);
  return [
    ...longFiles(sources).map(
      (path) =>
        `${path}: over ${LONGEST} lines; split it, or say in its head comment why it is more than ${LONGEST} lines`,
    ),
    ...circles(imports).map(
      (group) => `${group.join(', ')}: import each other in a circle; move what they share below them`,
    ),
    ...unlistedFolders(sources, folderOrder).map(
      (folder) => `${folder}: in no order; list the folder in tools/lint/folder-order.mjs`,
    ),
    ...staleEntries(sources, folderOrder).map(
      (entry) => `${entry}: listed in tools/lint/folder-order.mjs, but does not exist; remove the entry`,
    ),
    ...twoWayPairs(imports).map((pair) => `${pair}: import each other; move what both need below both`),
    ...unusedExports(sources, packages, imports).map(
      (name) => `${name}: exported, but imported by nobody outside its library`,
    ),
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
