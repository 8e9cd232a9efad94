import { dirname, join } from 'node:path';
import ts from 'typescript';
import { declaredExports, passedOn, type ExportedName } from './exports.ts';
import { parse } from './functions.ts';
import { isTest, packageOf, type SourceText } from './sources.ts';

/** An import, or an export that passes on what another file declares; types count as well. */
export interface Import {
  readonly from: string;
  /** The file, as a path from the root. */
  readonly to: string;
  /** The names it takes; 'all' when it takes the module as a whole. */
  readonly names: readonly string[] | 'all';
}

/** A package of the workspace, as its package.json says. */
export interface PackageManifest {
  readonly name: string;
  readonly folder: string;
  /** From what stands after the package's name (`.`, `./testing`) to the file. */
  readonly exports: Readonly<Record<string, string>>;
}

/** Every import of one file of `sources` by another; what leads out of the repository is left out. */
export function importsOf(sources: readonly SourceText[], packages: readonly PackageManifest[]): Import[] {
  const known = new Set(sources.map(({ path }) => path));
  const byName = new Map(packages.flatMap((one) => specifiersOf(one)));
  return sources
    .filter(({ path }) => !path.endsWith('.py'))
    .flatMap((source) =>
      statementsOf(parse(source)).flatMap(({ specifier, names }) => {
        const to = specifier.startsWith('.') ? join(dirname(source.path), specifier) : byName.get(specifier);
        return to !== undefined && known.has(to) ? [{ from: source.path, to, names }] : [];
      }),
    );
}

function specifiersOf({ name, folder, exports }: PackageManifest): [string, string][] {
  return Object.entries(exports).map(([subpath, file]) => [join(name, subpath), join(folder, file)]);
}

function statementsOf(file: ts.SourceFile): { specifier: string; names: readonly string[] | 'all' }[] {
  const found: { specifier: string; names: readonly string[] | 'all' }[] = [];
  const visit = (node: ts.Node): void => {
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier !== undefined) {
      found.push({ specifier: textOf(node.moduleSpecifier), names: namesTaken(node) });
    } else if (
      ts.isCallExpression(node) &&
      node.expression.kind === ts.SyntaxKind.ImportKeyword &&
      node.arguments[0] !== undefined
    ) {
      found.push({ specifier: textOf(node.arguments[0]), names: 'all' });
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      found.push({ specifier: textOf(node.argument.literal), names: 'all' });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function namesTaken(node: ts.ImportDeclaration | ts.ExportDeclaration): readonly string[] | 'all' {
  const named = ts.isImportDeclaration(node) ? node.importClause?.namedBindings : node.exportClause;
  if (named === undefined || ts.isNamespaceImport(named) || ts.isNamespaceExport(named)) return 'all';
  return named.elements.map(({ name, propertyName }) => (propertyName ?? name).text);
}

function textOf(node: ts.Node): string {
  return ts.isStringLiteralLike(node) ? node.text : '';
}

/** Groups of files of which each reaches every other by imports, largest first. None is what is wanted. */
export function circles(imports: readonly Import[]): string[][] {
  const next = new Map<string, string[]>();
  for (const { from, to } of imports) {
    next.set(from, [...(next.get(from) ?? []), to]);
  }
  return stronglyConnected(next)
    .filter((group) => group.length > 1 || (next.get(group[0] ?? '') ?? []).includes(group[0] ?? ''))
    .map((group) => group.sort())
    .sort((a, b) => b.length - a.length);
}

/** Tarjan's algorithm. */
function stronglyConnected(next: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const groups: string[][] = [];
  const visit = (file: string): number => {
    let low = order.size;
    order.set(file, low);
    const own = low;
    stack.push(file);
    for (const to of next.get(file) ?? []) {
      if (!order.has(to)) low = Math.min(low, visit(to));
      else if (stack.includes(to)) low = Math.min(low, order.get(to) ?? low);
    }
    lowest.set(file, low);
    if (low === own) groups.push(stack.splice(stack.indexOf(file)));
    return low;
  };
  for (const file of next.keys()) {
    if (!order.has(file)) visit(file);
  }
  return groups;
}

/**
 * Names that an entry file of a library passes on and nobody takes from it, as `libs/kube/src/index.ts name`. For the library's index only other
 * packages count; what stands behind a further entry, such as `testing`, may serve the library's own files as well. What an entry file declares
 * itself is left alone.
 */
export function unusedExports(
  sources: readonly SourceText[],
  packages: readonly PackageManifest[],
  imports: readonly Import[],
): string[] {
  const sourceAt = new Map(sources.map((source) => [source.path, source]));
  return packages.flatMap(({ folder, exports }) =>
    Object.entries(exports).flatMap(([subpath, file]) => {
      const entry = join(folder, file);
      const source = sourceAt.get(entry);
      const takers = imports.filter(({ from, to }) => to === entry && (subpath !== '.' || packageOf(from) !== folder));
      if (source === undefined || takers.some(({ names }) => names === 'all')) return [];
      const taken = new Set(takers.flatMap(({ names }) => names));
      return passedOn(parse(source))
        .map(({ name }) => name)
        .filter((name) => !taken.has(name))
        .map((name) => `${entry} ${name}`);
    }),
  );
}

/**
 * What the entry files of the packages export: names that they declare themselves, and names that they pass on, followed to the file that declares
 * them. Entries for tests are left out.
 */
export function indexExports(sources: readonly SourceText[], packages: readonly PackageManifest[]): ExportedName[] {
  const parsed = new Map<string, ts.SourceFile>();
  const textAt = new Map(sources.map((source) => [source.path, source]));
  const read = (path: string): ts.SourceFile | undefined => {
    const source = textAt.get(path);
    const file = parsed.get(path) ?? (source && parse(source));
    if (file !== undefined) parsed.set(path, file);
    return file;
  };
  return packages.flatMap(({ folder, exports }) =>
    Object.values(exports)
      .map((file) => join(folder, file))
      .filter((entry) => !isTest(entry))
      .flatMap((entry) => exportsOf(entry, read)),
  );
}

function exportsOf(path: string, read: (path: string) => ts.SourceFile | undefined): ExportedName[] {
  const file = read(path);
  if (file === undefined) return [];
  const passedOnFrom = passedOn(file).map(({ name, originalName, specifier }) => {
    const target = specifier.startsWith('.') ? exportsOf(join(dirname(path), specifier), read) : [];
    return { name, isDocumented: target.some((one) => one.name === originalName && one.isDocumented) };
  });
  return [...declaredExports(file), ...passedOnFrom];
}
