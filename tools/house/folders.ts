import type { Import } from './imports.ts';
import { isTest, packageOf, type SourceText } from './sources.ts';

/** The folders of each package that has several, top first, by the package's folder: `FOLDER_ORDER` of tools/lint/folder-order.mjs. */
export type FolderOrder = Readonly<Record<string, readonly string[]>>;

/**
 * Folders in `src` that the order of their package does not list, as `apps/api/src/limits`. Lint keeps no boundary of an unlisted folder. A package
 * with one folder needs no order; folders of tests alone are left out.
 */
export function unlistedFolders(sources: readonly SourceText[], order: FolderOrder): string[] {
  return [...foldersByPackage(sources)].flatMap(([name, folders]) =>
    folders.size < 2 && order[name] === undefined
      ? []
      : [...folders].filter((folder) => !(order[name] ?? []).includes(folder)).map((folder) => `${name}/src/${folder}`),
  );
}

/** Entries of the order for which the repository has neither a folder nor a file, as `apps/api/src/limits`. */
export function staleEntries(sources: readonly SourceText[], order: FolderOrder): string[] {
  const paths = sources.map(({ path }) => path);
  return Object.entries(order)
    .flatMap(([name, entries]) => entries.map((entry) => `${name}/src/${entry}`))
    .filter((entry) => !paths.some((path) => path === entry || path.startsWith(`${entry}/`)));
}

/** Pairs of folders of one package whose files import each other, as `apps/api/src: auth, limits`. Imports by tests are not counted. */
export function twoWayPairs(imports: readonly Import[]): string[] {
  const arrows = new Set(imports.filter(({ from }) => !isTest(from)).flatMap(arrowOf));
  return [...arrows]
    .map((arrow) => JSON.parse(arrow) as [string, string, string])
    .filter(([name, from, to]) => from < to && arrows.has(JSON.stringify([name, to, from])))
    .map(([name, from, to]) => `${name}/src: ${from}, ${to}`);
}

function foldersByPackage(sources: readonly SourceText[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { path } of sources) {
    const folder = folderOf(path);
    if (folder === undefined || isTest(path)) continue;
    found.set(packageOf(path), (found.get(packageOf(path)) ?? new Set()).add(folder));
  }
  return found;
}

/** The import as an arrow between two folders of one package, in JSON; none if the import stays in a folder or leaves the package. */
function arrowOf({ from, to }: Import): string[] {
  const folders = [folderOf(from), folderOf(to)];
  if (packageOf(from) !== packageOf(to) || folders.includes(undefined) || folders[0] === folders[1]) return [];
  return [JSON.stringify([packageOf(from), ...folders])];
}

/** `limits` of `apps/api/src/limits/held-places.ts`; nothing for files that stand in `src` itself or outside `src`. */
function folderOf(path: string): string | undefined {
  return /^(?:apps|libs|dev|research)\/[^/]+\/src\/([^/]+)\//.exec(path)?.[1];
}
