/** `npm run planner:score`: how far predictions lie from published measurements. */
import { Calibration, countConstants } from '@coxswain/planner/calibration';
import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { unfitted } from '../fit/fit.ts';
import { MeasurementsError, readRows, type MeasuredRow } from '../rows/index.ts';
import { HELP, parseOptions, type ScoreOptions } from './options.ts';
import { plannerPredictor } from './predictor.ts';
import { reportLines } from './report.ts';
import { scoreRows } from './score-rows.ts';
import { summaryLine, summaryOf } from './summary.ts';

try {
  main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

function main(argv: readonly string[]): void {
  const options = parseOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return;
  }
  const calibration = options.calibration === undefined ? unfitted() : calibrationOf(options.calibration);
  const files = new Map<string, string>();
  const rows = rowsOf(options, files);
  const scored = scoreRows(rows, plannerPredictor(calibration), options.qualities);
  const summary = summaryOf(scored);
  if (!options.jsonOnly) {
    const { shared, perGpuType, perStack, total } = countConstants(calibration);
    const constants = `Constants of the time model: ${total} (${shared} shared, ${perGpuType} of GPU types, ${perStack} of software stacks).`;
    const report = reportLines(scored, summary, { by: options.by, worst: options.worst, files });
    process.stdout.write([...report, constants, ''].join('\n'));
  }
  process.stdout.write(`${summaryLine(summary)}\n`);
}

/** Rows of all files; `files` receives the file of every row. */
function rowsOf(options: ScoreOptions, files: Map<string, string>): readonly MeasuredRow[] {
  return options.files.flatMap((file) => {
    const name = basename(file);
    const rows = named(file, () => readRows(textOf(file)));
    for (const { id, line } of rows) {
      const other = files.get(id);
      if (other !== undefined) throw new Error(`${file}: line ${line}, column id: ${id} stands in ${other} too`);
    }
    for (const { id } of rows) files.set(id, name);
    return rows;
  });
}

function named<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof MeasurementsError ? new Error(`${file}: ${error.message}`) : error;
  }
}

/** npm runs scripts in the root of the repository; a relative path means the directory in which it was called. */
function textOf(file: string): string {
  const path = resolve(process.env['INIT_CWD'] ?? process.cwd(), file);
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const why = error instanceof Error && 'code' in error && error.code === 'ENOENT' ? 'does not exist' : String(error);
    throw new Error(`${file} cannot be read: ${why} (looked for ${path})`);
  }
}

function calibrationOf(file: string): Calibration {
  let content: unknown;
  try {
    content = JSON.parse(textOf(file));
  } catch (error) {
    throw error instanceof SyntaxError ? new Error(`--calibration ${file} is not JSON: ${error.message}`) : error;
  }
  const parsed = Calibration.safeParse(content);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Error(`--calibration ${file}: ${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is not a calibration'}`);
}
