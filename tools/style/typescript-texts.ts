import ts from 'typescript';
import { paragraphsOf, type Prose } from './prose.ts';

/** What people read of a source file: its comments, and the strings that may be shown to a user. */
export interface SourceProse {
  readonly comments: readonly Prose[];
  readonly messages: readonly Prose[];
}

/** A name, a path or a label has fewer words; such strings are not sentences. */
const FEWEST_WORDS = 4;
/** Languages of other programs, kept in strings: SQL, GraphQL, JavaScript, shell, PromQL. */
const CODE =
  /^\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|GRANT|REVOKE|WITH|SET|BEGIN|DO \$|LOCK|ANALYZE|TRUNCATE|import |export |const |function |query |mutation |#!|<)|=>|[{};]\s*$|\$\$|\bSELECT\b|\bjsonb_|\bEND IF\b|::\w/;

/**
 * The comments and messages of a TypeScript file. A message is any string, template or JSX text of at least four words that is
 * neither a type, nor an import, nor code of another language. A value within a template counts as one word.
 */
export function proseOfSource(file: ts.SourceFile): SourceProse {
  const literals: ts.Node[] = [];
  const messages: Prose[] = [];
  const visit = (node: ts.Node): void => {
    if (isLiteral(node)) literals.push(node);
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || ts.isLiteralTypeNode(node)) return;
    if (ts.isTaggedTemplateExpression(node)) {
      literals.push(node.template);
      return;
    }
    const text = textOf(node);
    if (text !== undefined) messages.push(...messageParagraphs(file, node, text));
    ts.forEachChild(node, text === undefined ? visit : (child) => visitWithin(child));
  };
  /** Below a text that was taken as a whole, its own literals are known; values in it may hold others. */
  const visitWithin = (node: ts.Node): void => {
    if (isLiteral(node)) literals.push(node);
    if (isPartOfText(node)) ts.forEachChild(node, visitWithin);
    else visit(node);
  };
  visit(file);
  return { comments: commentsOf(file, literals), messages };
}

function isLiteral(node: ts.Node): boolean {
  return (
    ts.isStringLiteralLike(node) ||
    ts.isTemplateExpression(node) ||
    ts.isRegularExpressionLiteral(node) ||
    ts.isJsxText(node)
  );
}

/** Whether the node is a piece of the text above it, rather than a value that the text shows. */
function isPartOfText(node: ts.Node): boolean {
  if (ts.isTemplateSpan(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) return true;
  return textOf(node) !== undefined && !ts.isTemplateSpan(node.parent);
}

/** The text of a string, a template, or such joined by `+`; undefined of anything else. */
function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node) || ts.isJsxText(node)) return node.text;
  if (ts.isTemplateExpression(node)) {
    return node.head.text + node.templateSpans.map(({ literal }) => `X${literal.text}`).join('');
  }
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return undefined;
  const [left, right] = [textOf(node.left), textOf(node.right)];
  return left === undefined && right === undefined ? undefined : `${left ?? 'X'}${right ?? 'X'}`;
}

function messageParagraphs(file: ts.SourceFile, node: ts.Node, text: string): Prose[] {
  if (CODE.test(text)) return [];
  const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
  return paragraphsOf(file.fileName, text, line + 1).filter((one) => one.text.split(/\s+/).length >= FEWEST_WORDS);
}

/** Comments outside literals; line comments that follow each other are one. */
function commentsOf(file: ts.SourceFile, literals: readonly ts.Node[]): Prose[] {
  const masked = [...file.text];
  for (const node of literals) masked.fill('_', node.getStart(file), node.getEnd());
  const text = masked.join('');
  const found: Prose[] = [];
  for (const { 0: comment, index } of text.matchAll(/\/\*[^]*?\*\/|\/\/[^\n]*(?:\n[ \t]*\/\/[^\n]*)*/g)) {
    const { line } = file.getLineAndCharacterOfPosition(index);
    found.push(...paragraphsOf(file.fileName, withoutMarks(comment), line + 1));
  }
  return found;
}

function withoutMarks(comment: string): string {
  return comment
    .replace(/\*\/$/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*(?:\/\*\*?|\*|\/\/)\s?/, '').replaceAll(/\{@link (\w+)[^}]*\}|`[^`]*`/g, 'code'))
    .join('\n');
}
