/** The page that shows the results of the campaign, a section for each engine. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { markdownOf, type Row } from './table.ts';

const PAGE = join(import.meta.dirname, '../../docs/reference/damaged-saves.md');

/** Replaces the section of the engine between its marks. */
export function writeSection(engine: string, rows: readonly Row[]): void {
  const page = readFileSync(PAGE, 'utf8');
  const begin = `<!-- ${engine}: begin -->`;
  const end = `<!-- ${engine}: end -->`;
  const [before, rest = ''] = page.split(begin);
  const [, after] = rest.split(end);
  if (before === undefined || after === undefined) throw new Error(`${PAGE} has no section of ${engine}`);
  const date = new Date().toISOString().slice(0, 10);
  const how = `${date}, \`npm run campaign -- damaged-saves ${engine}\`:`;
  writeFileSync(PAGE, `${before}${begin}\n\n${how}\n\n${markdownOf(rows)}\n\n${end}${after}`);
}
