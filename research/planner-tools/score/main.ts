/** `npm run planner:score`: how far predictions lie from published measurements. */
import { CALIBRATION, Calibration, countConstants } from '@coxswain/planner/calibration';
import {
  constantsLine,
  plannerPredictor,
  readMeasurements,
  reportLines,
  scoreRows,
  summaryLine,
  summaryOf,
  textOf,
} from '@coxswain/planner-calibration';
import { recordApart } from '../record-errors.ts';
import { HELP, parseOptions } from './options.ts';

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function main(argv: readonly string[]): Promise<void> {
  const options = parseOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return;
  }
  if (options.record) await recordApart();
  const calibration = options.calibration === undefined ? CALIBRATION : calibrationOf(options.calibration);
  const { rows, files } = readMeasurements(options.files);
  const scored = scoreRows(rows, plannerPredictor(calibration), options.qualities);
  const summary = summaryOf(scored);
  if (!options.jsonOnly) {
    const report = reportLines(scored, summary, { by: options.by, worst: options.worst, files });
    process.stdout.write([...report, constantsLine(countConstants(calibration)), '', ''].join('\n'));
  }
  process.stdout.write(`${summaryLine(summary)}\n`);
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
