/** `npm run planner:cross-validate`: errors on groups of rows that the constants were not fitted on. */
import {
  crossValidate,
  filesOrRepository,
  LEFT_OUT,
  learn,
  plannerPredictor,
  readMeasurements,
  RECORDED_LEFT_OUT,
  reportLines,
  summaryLine,
  summaryOf,
  withScalarPerSource,
  type RecordedLeftOut,
  type TrainingRow,
} from '@coxswain/planner-calibration';
import { parseArgs } from 'node:util';
import { recordErrors } from '../record-errors.ts';

const HELP = `npm run planner:cross-validate -- [FILE.csv ...] [--folds N] [--iterations N] [--leave-out rows] [--record]

Fits the constants of the time model once per fold, on the rows of all other folds, and predicts the fold with them.
Prints the errors, then the same after one scalar per source. The scalar is taken from three other rows of the source each time.
The last two lines are one JSON object each, as npm run planner:score prints it.

  --folds N       number of folds (default: 5)
  --iterations N  steps of each fit (default: 12)
  --leave-out W   what is unknown to the constants that predict it: groups (default; rows of one source, model and GPU),
                  sources, model-families (of models with experts), rows (one row in N). With rows, their siblings stay, so
                  errors look small.
  --record        with groups or sources, and no file: write the error of each row to research/planner-calibration/data/left_out_*.csv and
                  those of rows that are alike to libs/planner/src/calibration/errors.json, from which answers take their intervals

Without a file it reads research/planner-calibration/data/*.csv.
`;

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function main(argv: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      folds: { type: 'string', default: '5' },
      iterations: { type: 'string', default: '12' },
      'leave-out': { type: 'string', default: 'groups' },
      record: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const folds = countOf(values.folds, '--folds');
  const iterations = countOf(values.iterations, '--iterations');
  const { rows, files } = readMeasurements(filesOrRepository(positionals));
  const learnFold = (training: readonly TrainingRow[], fold: number): ReturnType<typeof plannerPredictor> => {
    process.stderr.write(`fold ${fold + 1} of ${folds}: fitting ${training.length} rows\n`);
    return plannerPredictor(learn(training, { fittedOn: 'the rows of the other folds', iterations }));
  };
  const leaveOut = LEFT_OUT.find((one) => one === values['leave-out']);
  if (leaveOut === undefined) {
    throw new Error(`--leave-out ${values['leave-out']} is not known; choose from ${LEFT_OUT.join(', ')}`);
  }
  const recordAs = values.record ? recordedAs(leaveOut, positionals) : undefined;
  const scored = crossValidate({ rows, qualities: new Set(['A', 'B']), folds, leaveOut, learn: learnFold });
  const rescaled = withScalarPerSource(scored);
  const report = reportLines(scored, summaryOf(scored), { by: ['file', 'source', 'kind'], worst: 0, files });
  if (recordAs !== undefined) await recordErrors(recordAs, scored, summaryOf(scored));
  process.stdout.write([...report, summaryLine(summaryOf(scored)), summaryLine(summaryOf(rescaled)), ''].join('\n'));
}

/** The file name of recorded errors. Only errors of all rows of the repository are recorded, because intervals of answers are computed from them. */
function recordedAs(leaveOut: string, files: readonly string[]): RecordedLeftOut {
  const known = RECORDED_LEFT_OUT.find((one) => one === leaveOut);
  if (known === undefined) {
    throw new Error(`--record with --leave-out ${leaveOut}: only ${RECORDED_LEFT_OUT.join(' and ')} are recorded`);
  }
  if (files.length > 0) throw new Error(`--record with ${files[0]}: leave files out, the repository's are recorded`);
  return known;
}

function countOf(text: string, option: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text);
  throw new Error(`${option} ${text} is not a whole number from 1 to 999`);
}
