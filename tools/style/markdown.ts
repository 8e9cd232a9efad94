import { paragraphsOf, type Prose } from './prose.ts';

/** What a reader reads of a page in Markdown. Code, HTML and addresses are left out; each cell of a table stands alone. */
export function proseOfMarkdown(path: string, text: string): Prose[] {
  return paragraphsOf(path, withoutCode(text)).flatMap((paragraph) =>
    cellsOf(paragraph.text).map((cell) => ({ ...paragraph, text: plain(cell) })),
  );
}

/** Lines stay lines, so that a finding names the right one. Table rows stand apart from each other. */
function withoutCode(text: string): string {
  let isCode = false;
  return text
    .replaceAll(/<!--[^]*?-->/g, (comment) => comment.replaceAll(/[^\n]/g, ''))
    .split('\n')
    .map((line) => {
      const isFence = /^\s*(```|~~~)/.test(line);
      if (isFence) isCode = !isCode;
      return isCode || isFence || /^ {4,}\S/.test(line) ? '' : line.replace(/^\s*>\s?/, '').replace(/^\s*\|/, '- |');
    })
    .join('\n');
}

function cellsOf(paragraph: string): string[] {
  const row = /^- \|(.*)$/.exec(paragraph)?.[1];
  return row === undefined ? [paragraph] : row.split(/(?<!\\)\|/).filter((cell) => /\p{L}/u.test(cell));
}

/** Inline code counts as one word. */
function plain(text: string): string {
  return text
    .replaceAll(/`+[^`]*`+/g, 'code')
    .replaceAll(/!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])?/g, '$1')
    .replaceAll(/<[^>\s][^>]*>/g, ' ')
    .replaceAll(/^[#\-*+\d.\s]+(?=\S)|\*\*|__/g, '')
    .trim();
}
