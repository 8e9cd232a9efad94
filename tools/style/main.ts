/**
 * `node tools/style/main.ts`: reports words that the project does not use, and long sentences (words.json).
 *
 * Pages and comments get advice, one line per folder. In messages to users a finding fails the check, unless baseline.json
 * allows it: the messages that were there before the check.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { packageOf } from '../house/sources.ts';
import { canShrink, newFindings, shrunkBaseline, type Baseline } from './baseline.ts';
import { LONG_SENTENCE, type Finding } from './findings.ts';
import { countByKind, findingsIn } from './repository.ts';

const HELP = `node tools/style/main.ts [PATH ...] [--write-baseline]

Checks the language of pages, comments and messages against tools/style/words.json. Findings in pages and comments are advice.
A finding in a message to users fails, unless tools/style/baseline.json allows it.

  PATH               list every finding, advice included, of files whose path begins with it
  --write-baseline   write what is left into the baseline; fails if the sum grows
  --help             this text
`;
const ROOT = resolve(import.meta.dirname, '../..');
const BASELINE = join(import.meta.dirname, 'baseline.json');

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'write-baseline': { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
});
if (values.help === true) print([HELP.trimEnd()]);
else if (positionals.length > 0) list(positionals);
else if (values['write-baseline'] === true) writeBaseline();
else check();

function list(paths: readonly string[]): void {
  const chosen = findingsIn(ROOT).filter(({ path }) => paths.some((start) => path.startsWith(start)));
  print(chosen.map((finding) => `${describe(finding)} (${finding.kind})`));
}

function writeBaseline(): void {
  const messages = findingsIn(ROOT).filter(({ kind }) => kind === 'messages');
  try {
    writeFileSync(BASELINE, `${JSON.stringify(shrunkBaseline(messages, readBaseline()), undefined, 2)}\n`);
  } catch (error) {
    print([error instanceof Error ? error.message : String(error)]);
    process.exitCode = 1;
  }
}

function check(): void {
  const findings = findingsIn(ROOT);
  const messages = findings.filter(({ kind }) => kind === 'messages');
  const broken = newFindings(messages, readBaseline());
  print(adviceByFolder(findings));
  print(broken.map(describe));
  const { docs, comments } = countByKind(findings);
  const shrinks = canShrink(messages, readBaseline()) ? '; the baseline can shrink: add --write-baseline' : '';
  print([`style: ${docs} in docs, ${comments} in comments, ${messages.length} in messages${shrinks}`]);
  process.exitCode = broken.length === 0 ? 0 : 1;
}

function adviceByFolder(findings: readonly Finding[]): string[] {
  const advice = findings.filter(({ kind }) => kind !== 'messages');
  const folders = [...new Set(advice.map(folderOf))].sort();
  return folders.map((folder) => {
    const here = advice.filter((finding) => folderOf(finding) === folder);
    const long = here.filter(({ rule }) => rule === LONG_SENTENCE).length;
    return `advice: ${folder}: ${here.length - long} words, ${long} long sentences`;
  });
}

function folderOf({ path }: Finding): string {
  return path.startsWith('docs/') ? path.split('/').slice(0, 2).join('/') : packageOf(path);
}

function describe({ path, line, advice }: Finding): string {
  return `${path}:${line}: ${advice}`;
}

function readBaseline(): Baseline {
  return JSON.parse(readFileSync(BASELINE, 'utf8')) as Baseline;
}

function print(lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(''));
}
