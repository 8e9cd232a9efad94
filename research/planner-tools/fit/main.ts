/** `npm run planner:fit`: fits the constants of the time model to measured step times and writes them where the planner reads them. */
import { countConstants } from '@coxswain/planner/calibration';
import { filesOrRepository, learn, readMeasurements, rounded, trainingRows } from '@coxswain/planner-calibration';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';

const TARGET = fileURLToPath(new URL('../../../libs/planner/src/calibration/calibration.json', import.meta.url));
const HELP = `npm run planner:fit -- [FILE.csv ...] [--iterations N] [--output FILE]

Fits the constants of the planner's time model to the rows of quality A and B that have a step time, and writes them to
libs/planner/src/calibration/calibration.json. The same files give the same constants. Without a file it reads
research/planner-calibration/data/*.csv. Takes about 20 s on a free core. Then record their errors, with which answers are given:
npm run planner:cross-validate -- --record, and the same with --leave-out sources.

  --iterations N  steps of the fit (default: 16)
  --output FILE   write the constants there instead
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
      iterations: { type: 'string', default: '16' },
      output: { type: 'string', default: TARGET },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  if (!/^[1-9]\d?$/.test(values.iterations)) {
    throw new Error(`--iterations ${values.iterations} is not a whole number from 1 to 99`);
  }
  const { rows } = readMeasurements(filesOrRepository(positionals));
  const training = trainingRows(rows.filter(({ quality }) => quality === 'A' || quality === 'B'));
  process.stderr.write(`fitting ${training.length} rows\n`);
  const calibration = rounded(
    learn(training, {
      fittedOn: `${training.length} published step times of quality A and B`,
      iterations: Number(values.iterations),
      onIteration: (iteration, objective) =>
        process.stderr.write(`step ${iteration + 1}: objective ${objective.toFixed(1)}\n`),
    }),
  );
  const text = await format(JSON.stringify(calibration), { ...(await resolveConfig(TARGET)), parser: 'json' });
  writeFileSync(values.output, text);
  const counts = countConstants(calibration);
  process.stdout.write(
    `${counts.shared} shared constants, ${counts.perGpuType} multipliers of GPU types, ${counts.perStack} of software stacks\n`,
  );
}
