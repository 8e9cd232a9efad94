/** A piece of text that people read: a paragraph, a list item, a cell, a comment or a string of the program. */
export interface Prose {
  readonly path: string;
  /** The line on which it begins, from 1. */
  readonly line: number;
  readonly text: string;
}

/** Where a piece of prose comes from. Advice is given on documents and comments; messages to users must be right. */
export type ProseKind = 'docs' | 'comments' | 'messages';

/** The sentences of a text. A full stop within a word, a number or an abbreviation ends none. */
export function sentencesOf(text: string): string[] {
  return text
    .replaceAll(/\s+/g, ' ')
    .split(/(?<=[.!?][)"'”’]*) (?=[("'“‘`]*[\p{Lu}\d`])/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');
}

/** Words with a letter or a digit; what stands between spaces counts as one. */
export function wordCount(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

/**
 * The paragraphs of lines, each with its line. An empty line ends one, and so does a line that begins an entry of a list. Such
 * a line begins with a bullet, a number, a name such as `--port` before wide space, or an example indented below a colon.
 */
export function paragraphsOf(path: string, text: string, firstLine = 1): Prose[] {
  const found: { line: number; lines: string[] }[] = [];
  let before: string | undefined;
  let exampleIndent: number | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    const isBlank = line.trim() === '';
    if (!isBlank) {
      exampleIndent = exampleIndentAt(line, before, exampleIndent);
      const isEntry = BEGINS_ENTRY.test(line) || exampleIndent === indentOf(line);
      if (before === undefined || isEntry) found.push({ line: firstLine + index, lines: [] });
      found.at(-1)?.lines.push(line.trim());
    }
    before = isBlank ? undefined : line;
  }
  return found.map(({ line, lines }) => ({ path, line, text: lines.join(' ') }));
}

const BEGINS_ENTRY = /^\s*(?:[-*+•] |\d+\. |--?\w|#+ |\S.{0,40}?\S {2,}\S)/;

/** How far examples are indented, if `line` is among them: deeper than the line with a colon that introduced them. */
function exampleIndentAt(line: string, before: string | undefined, current: number | undefined): number | undefined {
  const indent = indentOf(line);
  if (before?.trimEnd().endsWith(':') === true && indent > indentOf(before)) return indent;
  return current !== undefined && before !== undefined && indent >= current ? current : undefined;
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
