import ts from 'typescript';

/** What a file declares and exports under one name. */
export interface ExportedName {
  readonly name: string;
  /** Whether a documentation comment stands above it; of a schema and a type under one name, above either. */
  readonly isDocumented: boolean;
}

/** The names that a file declares itself and exports; what it only passes on is counted where it is declared. */
export function declaredExports(file: ts.SourceFile): ExportedName[] {
  const documented = new Map<string, boolean>();
  for (const statement of file.statements.filter(isExported)) {
    for (const name of namesOf(statement)) {
      documented.set(name, documented.get(name) === true || ts.getJSDocCommentsAndTags(statement).length > 0);
    }
  }
  return [...documented].map(([name, isDocumented]) => ({ name, isDocumented }));
}

/** A name that a file exports but another file declares. */
export interface PassedOnName {
  readonly name: string;
  /** The name in the file that declares it. */
  readonly originalName: string;
  /** The other file, as the import writes it. */
  readonly specifier: string;
}

/** The names that a file passes on from other files. */
export function passedOn(file: ts.SourceFile): PassedOnName[] {
  return file.statements.filter(ts.isExportDeclaration).flatMap(({ exportClause, moduleSpecifier }) =>
    moduleSpecifier !== undefined &&
    ts.isStringLiteral(moduleSpecifier) &&
    exportClause !== undefined &&
    ts.isNamedExports(exportClause)
      ? exportClause.elements.map(({ name, propertyName }) => ({
          name: name.text,
          originalName: (propertyName ?? name).text,
          specifier: moduleSpecifier.text,
        }))
      : [],
  );
}

function isExported(statement: ts.Statement): boolean {
  return (
    ts.canHaveModifiers(statement) &&
    (ts.getModifiers(statement) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
  );
}

function namesOf(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.flatMap(({ name }) => (ts.isIdentifier(name) ? [name.text] : []));
  }
  const isNamed =
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isEnumDeclaration(statement);
  return isNamed && statement.name !== undefined ? [statement.name.text] : [];
}
