/** Training that is killed and goes on at another number of ranks, after a conversion; started by `npm run campaign -- reshard-training`. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Case, CASES, SAVED_AT, STEPS } from './cases.ts';
import { convert, train } from './training.ts';

const PAGE = join(import.meta.dirname, '../../docs/reference/training-across-ranks.md');
const [BEGIN, END] = ['<!-- results: begin -->', '<!-- results: end -->'];
const COLUMNS = [
  'Engine',
  'Ranks',
  'Weights and moments after loading',
  'Largest difference of the loss',
  'Allowed',
  'Measured',
];

/** What a case came to. */
interface Result {
  readonly row: string;
  readonly problems: readonly string[];
}

async function runCase(one: Case, folder: string): Promise<Result> {
  const places = ['whole', 'killed', 'resumed', 'converted'].map((name) => join(folder, name));
  for (const place of places) mkdirSync(place, { recursive: true });
  const [whole = '', killed = '', resumed = '', converted = ''] = places;
  const [source, target] = [join(killed, one.save), join(converted, one.converted)];
  const uninterrupted = await train(one.training({ ranks: one.from, directory: whole }));
  await train(one.training({ ranks: one.from, directory: killed, isKilled: true }), { isKilled: true });
  const answer = await convert({ kind: one.kind, source, target, ranks: one.to }, dirname(pythonOf(one)));
  if (answer.state === 'Failed') return { row: '', problems: [answer.message ?? 'the conversion failed'] };
  const losses = await train(one.training({ ranks: one.to, directory: resumed, resume: target }));
  const { tensors, different } = await one.compare({ killed, resumed, source, target });
  const steps = [...losses.keys()];
  const differences = [...losses].map(([step, loss]) => Math.abs(loss - (uninterrupted.get(step) ?? NaN)));
  const largest = Math.max(...differences);
  const wanted = Array.from({ length: STEPS - SAVED_AT }, (_, index) => SAVED_AT + 1 + index);
  return {
    row: [
      one.name,
      `${String(one.from)} to ${String(one.to)}`,
      different.length === 0 ? `all ${String(tensors)} equal, bit for bit` : `${String(different.length)} differ`,
      largest.toExponential(1),
      one.tolerance.toExponential(0),
    ].join(' | '),
    problems: [
      ...(different.length === 0 && tensors > 0 ? [] : [`it has other values: ${different.slice(0, 4).join(', ')}`]),
      ...(largest <= one.tolerance ? [] : [`losses differ by ${String(largest)}`]),
      ...(steps.join() === wanted.join() ? [] : [`it trained the steps ${steps.join()}`]),
    ],
  };
}

function pythonOf(one: Case): string {
  return one.training({ ranks: 1, directory: '' }).python;
}

/** Replaces the rows of these cases in the table of the page. Other rows stay. */
function writeRows(rows: readonly string[]): void {
  const page = readFileSync(PAGE, 'utf8');
  const [before = '', rest = ''] = page.split(BEGIN);
  const [table = '', after = ''] = rest.split(END);
  const known = [...table.matchAll(/^\| (.*) \|$/gm)]
    .slice(2)
    .map(([, row = '']) => row.replaceAll(/ +\| /g, ' | ').trimEnd());
  const date = new Date().toISOString().slice(0, 10);
  const byCase = new Map([...known, ...rows.map((row) => `${row} | ${date}`)].map((row) => [caseOf(row), row]));
  const lines = [COLUMNS.join(' | '), COLUMNS.map(() => '---').join(' | '), ...byCase.values()];
  writeFileSync(PAGE, `${before}${BEGIN}\n\n${lines.map((line) => `| ${line} |`).join('\n')}\n\n${END}${after}`);
}

/** Engine and ranks. */
function caseOf(row: string): string {
  return row.split('|').slice(0, 2).join('|').replaceAll(' ', '');
}

const words = process.argv.slice(2);
const chosen = CASES.filter(({ name, from }) => words.every((word) => `${name} from ${String(from)}`.includes(word)));
const folder = mkdtempSync(join(tmpdir(), 'coxswain-across-ranks-'));
const results: Result[] = [];
try {
  for (const [index, one] of chosen.entries()) {
    const result = await runCase(one, join(folder, String(index))).catch((error: unknown) => ({
      row: '',
      problems: [error instanceof Error ? error.message : String(error)],
    }));
    results.push(result);
    const title = `${one.name}, ${String(one.from)} to ${String(one.to)} ranks`;
    process.stdout.write(`${result.problems.length === 0 ? '✓' : '✗'} ${title}: ${result.row}\n`);
    for (const problem of result.problems) process.stdout.write(`  ! ${problem}\n`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const isRight = results.every(({ problems }) => problems.length === 0);
writeRows(results.filter(({ problems }) => problems.length === 0).map(({ row }) => row));
process.exitCode = isRight && chosen.length > 0 ? 0 : 1;
