import { dirname, join } from 'node:path';
import ts from 'typescript';
import { declaredExports, passedOn, type ExportedName } from './exports.ts';
import { parse } from './functions.ts';
import { isTest, type SourceText } from './sources.ts';

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
