import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from '../house/functions.ts';
import { isTest, readSources } from '../house/sources.ts';
import { makeFinder, type Finding, type StyleList } from './findings.ts';
import { proseOfMarkdown } from './markdown.ts';
import { paragraphsOf, type Prose, type ProseKind } from './prose.ts';
import { proseOfSource } from './typescript-texts.ts';

/** The project's list of words, beside this file. */
export function readStyleList(): StyleList {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'words.json'), 'utf8')) as StyleList;
}

/**
 * Everything below `root` that breaks the list: pages in Markdown, comments and messages of TypeScript (tests apart), and the
 * notes that Helm prints. Generated pages are left out, because their sources are read.
 */
export function findingsIn(root: string, list: StyleList = readStyleList()): Finding[] {
  const find = makeFinder(list);
  const findAll = (kind: ProseKind, prose: readonly Prose[]): Finding[] => prose.flatMap((one) => find(kind, one));
  const sources = readSources(root).filter(({ path }) => /\.(ts|tsx|mjs)$/.test(path) && !isTest(path));
  return [
    ...readPages(root).flatMap(({ path, text }) => findAll('docs', proseOfMarkdown(path, text))),
    ...readNotes(root).flatMap(({ path, text }) => findAll('messages', paragraphsOf(path, withoutActions(text)))),
    ...sources
      .map(parse)
      .map(proseOfSource)
      .flatMap(({ comments, messages }) => [...findAll('comments', comments), ...findAll('messages', messages)]),
  ];
}

/** Findings by kind. */
export function countByKind(findings: readonly Finding[]): Readonly<Record<ProseKind, number>> {
  const count = (kind: ProseKind): number => findings.filter((finding) => finding.kind === kind).length;
  return { docs: count('docs'), comments: count('comments'), messages: count('messages') };
}

interface Page {
  readonly path: string;
  readonly text: string;
}

function readPages(root: string): Page[] {
  return readAll(root, '**/*.md', ['**/node_modules/**', '**/dist/**', '**/generated/**', '.coxswain/**']);
}

function readNotes(root: string): Page[] {
  return readAll(root, 'charts/*/templates/NOTES.txt', []);
}

function readAll(root: string, pattern: string, exclude: string[]): Page[] {
  const paths = globSync(pattern, { cwd: root, exclude });
  return paths.sort().map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/** A value that a template writes counts as one word; other actions write nothing. */
function withoutActions(template: string): string {
  return template.replaceAll(/\{\{-?\s*[.$][^}]*\}\}/g, 'X').replaceAll(/\{\{[^]*?\}\}/g, '');
}
