import { filesOrRepository, GROUPINGS, type Grouping } from '@coxswain/planner-calibration';
import { parseArgs } from 'node:util';

/** Options of `npm run planner:score`. */
export interface ScoreOptions {
  readonly help: boolean;
  readonly files: readonly string[];
  readonly qualities: ReadonlySet<string>;
  readonly by: readonly Grouping[];
  /** How many of the worst rows to show. */
  readonly worst: number;
  readonly jsonOnly: boolean;
  /** Whether to record the errors of rows that no constant was fitted on. */
  readonly record: boolean;
  /** File of constants to use in place of the shipped ones. */
  readonly calibration: string | undefined;
}

/** Text of `npm run planner:score -- --help`. */
export const HELP = `npm run planner:score -- [FILE.csv ...] [options]

Predicts step time and memory of every published run in the files (default: research/planner-calibration/data/*.csv) and
compares the predictions with the measurements. Prints n, median, mean and 90th percentile of |error|, bias, and the shares within
10 and 20 %. The last line is one JSON object. Columns, rules and traps: docs/reference/planner-score.md.

  --quality A,B       qualities of rows to score (default: A,B)
  --by NAME[,NAME]    tables to print: ${GROUPINGS.join(', ')}
                      (default: source, gpu and kind; file where several are given)
  --worst N           also show the N rows with the largest errors (default: 0)
  --calibration FILE  constants to use in place of the shipped ones
  --json-only         print nothing but the JSON line
  --record            write the errors of rows that no constant was fitted on (step times kept apart, all peaks of memory) to
                      research/planner-calibration/data/errors_*.csv, and the intervals that follow to errors.json; do it after a fit
  --help              print this

A row is predicted from what a user could state: model, machines, layout, engine and its release. Its measured values, its
source and its id are never read. Where a table prints no value a stated rule fills it; how often is counted and shown.
`;

/** @throws Error with a sentence for the user when an option is unknown or its value wrong */
export function parseOptions(argv: readonly string[]): ScoreOptions {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      quality: { type: 'string', default: 'A,B' },
      by: { type: 'string', multiple: true },
      worst: { type: 'string', default: '0' },
      calibration: { type: 'string' },
      'json-only': { type: 'boolean', default: false },
      record: { type: 'boolean', default: false },
    },
  });
  return {
    help: values.help,
    files: filesOrRepository(positionals),
    qualities: new Set(listed(values.quality)),
    by: groupings(values.by, filesOrRepository(positionals).length),
    worst: wholeNumber(values.worst, '--worst'),
    jsonOnly: values['json-only'],
    record: values.record,
    calibration: values.calibration,
  };
}

function groupings(stated: readonly string[] | undefined, files: number): readonly Grouping[] {
  if (stated === undefined) return files > 1 ? ['file', 'source', 'gpu', 'kind'] : ['source', 'gpu', 'kind'];
  return stated.flatMap(listed).map((name) => {
    const grouping = GROUPINGS.find((one) => one === name);
    if (grouping === undefined) throw new Error(`--by ${name} is not known; choose from ${GROUPINGS.join(', ')}`);
    return grouping;
  });
}

function listed(text: string): readonly string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

function wholeNumber(text: string, option: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new Error(`${option} ${text} is not a whole number of at least 0`);
}
