import ts from 'typescript';
import type { SourceText } from './sources.ts';

/** A function with a name and a body. */
export interface NamedFunction {
  readonly name: string;
  /** Lines from its first word to its closing brace; a comment above it does not count. */
  readonly lines: number;
  /** The body: a block, or the one expression of an arrow function. Positions are in the text. */
  readonly body: { readonly start: number; readonly end: number; readonly isBlock: boolean };
}

/** What TypeScript reads in a file. */
export function parse({ path, text }: SourceText): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
}

/**
 * Functions, methods, constructors, accessors, and the functions that a variable or a property is declared to be. A function passed on as an
 * argument is part of the one that passes it.
 */
export function namedFunctions(file: ts.SourceFile): NamedFunction[] {
  const found: NamedFunction[] = [];
  const visit = (node: ts.Node): void => {
    const named = asNamedFunction(node);
    if (named !== undefined) found.push(named);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;

  function asNamedFunction(node: ts.Node): NamedFunction | undefined {
    if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return undefined;
    const name = nameOf(node);
    const body = node.body as ts.Node;
    if (name === undefined) return undefined;
    const [first, last] = [node.getStart(file), node.getEnd()].map((at) => file.getLineAndCharacterOfPosition(at).line);
    return {
      name,
      lines: (last ?? 0) - (first ?? 0) + 1,
      body: { start: body.getStart(file), end: body.getEnd(), isBlock: ts.isBlock(body) },
    };
  }
}

function nameOf(node: ts.SignatureDeclaration): string | undefined {
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  if (node.name !== undefined) return node.name.getText();
  const { parent } = node;
  const isDeclared =
    ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent) || ts.isPropertyDeclaration(parent);
  return isDeclared && parent.initializer === node ? parent.name.getText() : undefined;
}
