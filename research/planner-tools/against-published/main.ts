/** `npm run planner:against-published`: compares the planner's first answers with NVIDIA's published layouts, both predicted. */
import { againstPublished, filesOrRepository, publishedJobs, readMeasurements } from '@coxswain/planner-calibration';
import { parseArgs } from 'node:util';

const HELP = `npm run planner:against-published -- [FILE.csv ...] [--only TEXT] [--every N]

Plans every job that NVIDIA published with a layout (Megatron-Bridge, NeMo, MLPerf) and compares the first answer with that layout, both as
predicted. Prints the jobs in which the published layout is faster, with the options of it that the answer lacks, and a line of JSON.

  --only TEXT   jobs whose id contains TEXT
  --every N     every Nth job (default: 1)

Without a file it reads research/planner-calibration/data/*.csv.
`;

/** Thresholds in percent from which a published layout counts as faster, or as missed. */
const FASTER_PCT = 5;
const MISSED_PCT = 25;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', short: 'h', default: false },
    only: { type: 'string', default: '' },
    every: { type: 'string', default: '1' },
  },
});
if (values.help) process.stdout.write(HELP);
else compare(positionals, values.only, Math.max(1, Number.parseInt(values.every, 10) || 1));

function compare(files: readonly string[], only: string, every: number): void {
  const all = publishedJobs(readMeasurements(filesOrRepository(files)).rows);
  const jobs = all.filter(({ id }) => id.includes(only)).filter((_, index) => index % every === 0);
  const faster: number[] = [];
  for (const [index, job] of jobs.entries()) {
    const { behindPct, answeredS, lacks } = againstPublished(job);
    process.stderr.write(`\r${index + 1} of ${jobs.length}`);
    if (!(behindPct > FASTER_PCT)) continue;
    faster.push(behindPct);
    const answered =
      answeredS === undefined ? 'nothing fits' : `${answeredS.toPrecision(4)} s, ${behindPct.toFixed(1)} % behind`;
    const { model, cluster, precision, candidate, stack } = job.run;
    process.stdout.write(
      `\r${job.id}  ${model.name ?? 'model'} on ${cluster.gpus} ${cluster.gpu.name} ${precision} ${stack}: published ` +
        `${job.publishedS.toPrecision(4)} s (tp${candidate.tensor} cp${candidate.context} pp${candidate.pipeline}x${candidate.chunks} ep${candidate.expert} mbs${candidate.microBatchSize} ${candidate.recompute}), answered ${answered}; lacks ${lacks.join(', ') || 'no named option'}\n`,
    );
  }
  const missed = faster.filter((pct) => pct > MISSED_PCT).length;
  const worst = Math.max(0, ...faster);
  process.stdout.write(
    `\r${faster.length} of ${jobs.length} published layouts are more than ${FASTER_PCT} % faster than the first answer, ${missed} more than ${MISSED_PCT} %.\n`,
  );
  process.stdout.write(
    `${JSON.stringify({ jobs: jobs.length, faster: faster.length, missed, worstPct: Number(worst.toFixed(1)) })}\n`,
  );
}
