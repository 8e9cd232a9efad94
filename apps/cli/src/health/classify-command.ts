import {
  Corpus,
  classifyText,
  type CorpusLine,
  type CorpusScore,
  type CrashJudgement,
  scoreCorpus,
} from '@coxswain/health';
import { brokenSchemaRule } from '@coxswain/layout';
import type { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import { readDocument } from '../files/read-document.ts';
import { columns, jsonText } from '../output/output.ts';
import type { Session } from '../session/session.ts';
import { linesOf } from './trace-lines.ts';

/** Lines that launchers report, and the classifier reads. */
const LAST_LINES = 20;
const MAX_LINE_CHARACTERS = 1_048_576;

interface ClassifyOptions {
  readonly corpus?: true;
  readonly exit: string;
  readonly json?: true;
}

/** Adds `health classify`, which judges the end of a log, or a whole corpus of error lines, offline. */
export function addClassifyCommand(health: Command, session: Session): void {
  health
    .command('classify')
    .argument('<file>', 'log of a rank; with --corpus, a YAML file of error lines; - is standard input')
    .description('say why a rank ended and what is to blame, by the last 20 lines of its log')
    .option('--exit <end>', 'how the process ended: an exit code or a signal, such as 1, 137 or SIGKILL', '1')
    .option('--corpus', 'print how often the classifier agrees with the blames in the file')
    .option('--json', 'the judgement, or the score, as JSON')
    .addHelpText('after', EXAMPLE)
    .action(async (file: string, options: ClassifyOptions) => {
      const isJson = options.json === true || session.outputFormat() === 'json';
      if (options.corpus === true) {
        const score = scoreCorpus(readCorpus(file));
        session.print(isJson ? jsonText(score) : describeScore(score));
        return;
      }
      const judgement = classifyText(await endOf(file), readEnd(options.exit));
      session.print(isJson ? jsonText(judgement) : describeJudgement(judgement));
    });
}

const EXAMPLE = `
The classes are listed in docs/reference/generated/crash-classes.md.

Examples:
  kubectl logs POD | coxswain health classify -
  coxswain health classify rank-3.log --exit SIGKILL
  coxswain health classify --corpus libs/health/corpus/known.yaml`;

async function endOf(file: string): Promise<string> {
  let last: string[] = [];
  for await (const { text } of linesOf(file, MAX_LINE_CHARACTERS)) last = [...last, text].slice(-LAST_LINES);
  return last.join('\n');
}

function readEnd(end: string): number | string {
  if (/^\d{1,3}$/.test(end) && Number(end) <= 255) return Number(end);
  if (/^SIG[A-Z]{2,8}$/.test(end)) return end;
  throw new CliError(`--exit ${end} is neither an exit code from 0 to 255 nor a signal such as SIGKILL.`);
}

function readCorpus(file: string): readonly CorpusLine[] {
  const read = Corpus.safeParse(readDocument(file), { reportInput: true });
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const [index, ...field] = issue?.path ?? [];
  const where =
    typeof index === 'number' ? `entry ${index + 1}${field.length === 0 ? '' : `, ${field.join('.')}`}: ` : '';
  throw new CliError(
    `${file}, ${where}${issue === undefined ? 'it is no list of error lines' : brokenSchemaRule(issue)}`,
  );
}

function describeJudgement({ class: name, blame, evidence, advice }: CrashJudgement): string {
  return columns([
    ['class', name],
    ['blame', blame],
    ['evidence', evidence === '' ? 'none' : evidence],
    ['advice', advice],
  ]);
}

/** Rows are the blames that people give, columns those of the classifier. */
function describeScore({ lines, right, confusion, wrong }: CorpusScore): string {
  const rows = Object.entries(confusion).filter(([, row]) => Object.values(row).some((count) => count > 0));
  const names = Object.keys(confusion).filter((name) => rows.some(([, row]) => row[name as keyof typeof row] > 0));
  const table = columns([
    ['BLAME', ...names.map((name) => name.toUpperCase())],
    ...rows.map(([name, row]) => [name, ...names.map((got) => String(row[got as keyof typeof row]))]),
  ]);
  const misses = wrong.map(({ line, got }) => {
    const [text = ''] = line.text.split('\n').slice(-1);
    return `${line.blame}${line.class === undefined ? '' : ` (${line.class})`}, classified as ${got.blame} (${got.class}): ${text}`;
  });
  return [table, '', `${right} of ${lines} lines are classified as expected.`, ...misses].join('\n');
}
