/** `npm run planner:cross-validate`: errors on sources that the constants were not fitted on. */
import { parseArgs } from 'node:util';
import { fit, type FitRow } from '../fit/fit.ts';
import { sourceOfId } from '../rows/index.ts';
import { readMeasurements } from '../score/measurement-files.ts';
import { plannerPredictor } from '../score/predictor.ts';
import { reportLines } from '../score/report.ts';
import { summaryLine, summaryOf } from '../score/summary.ts';
import { crossValidate, withScalarPerSource, type TrainingRow } from './cross-validate.ts';

const HELP = `npm run planner:cross-validate -- FILE.csv ... [--folds N] [--iterations N]

Fits the constants of the time model once per fold, on the sources of all other folds, and predicts the fold with them.
A source is the prefix of a row's id. Prints the errors, then the same after one scalar per source; the last two lines
are one JSON object each, as npm run planner:score prints it.

  --folds N       number of folds (default: 5)
  --iterations N  steps of each fit (default: 12)
`;

const FIT = {
  fittedOn: 'the sources of the other folds',
  sd: { gpu: 0.15, family: 0.15, stack: 0.1 },
  noise: 0.04,
  freedom: 3,
} as const;
/** Rows of a source beyond this many share their weight, so that a large table does not outvote all others. */
const FULL_WEIGHT_ROWS = 30;

try {
  main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

function main(argv: readonly string[]): void {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      folds: { type: 'string', default: '5' },
      iterations: { type: 'string', default: '12' },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  if (positionals.length === 0)
    throw new Error('name the files of measurements to fit and predict (--help shows more)');
  const folds = countOf(values.folds, '--folds');
  const iterations = countOf(values.iterations, '--iterations');
  const { rows, files } = readMeasurements(positionals);
  const learn = (training: readonly TrainingRow[], fold: number): ReturnType<typeof plannerPredictor> => {
    process.stderr.write(`fold ${fold + 1} of ${folds}: fitting ${training.length} rows\n`);
    return plannerPredictor(fit(weighted(training), { ...FIT, iterations }));
  };
  const scored = crossValidate({ rows, qualities: new Set(['A', 'B']), folds, learn });
  const rescaled = withScalarPerSource(scored);
  const report = reportLines(scored, summaryOf(scored), { by: ['file', 'source', 'kind'], worst: 0, files });
  process.stdout.write([...report, summaryLine(summaryOf(scored)), summaryLine(summaryOf(rescaled)), ''].join('\n'));
}

function weighted(training: readonly TrainingRow[]): readonly FitRow[] {
  const sizes = new Map<string, number>();
  for (const { id } of training) sizes.set(sourceOfId(id), (sizes.get(sourceOfId(id)) ?? 0) + 1);
  return training.map(({ id, run, measuredS }) => ({
    run,
    measuredS,
    weight: Math.min(1, Math.sqrt(FULL_WEIGHT_ROWS / (sizes.get(sourceOfId(id)) ?? 1))),
  }));
}

function countOf(text: string, option: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text);
  throw new Error(`${option} ${text} is not a whole number from 1 to 999`);
}
