import type { Job, JobEvent } from '@coxswain/api-types';
import { formatLayout, worldSize } from '@coxswain/layout';
import { formatDuration } from '@coxswain/units';
import { stringify } from 'yaml';

export const OUTPUT_FORMATS = ['table', 'json', 'yaml'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** What a command prints: data as JSON or YAML for programs, or what `table` makes of it for people. */
export function render<T>(data: T, format: OutputFormat, table: (data: T) => string): string {
  switch (format) {
    case 'json':
      return JSON.stringify(data, null, 2);
    case 'yaml':
      return stringify(data).trimEnd();
    case 'table':
      return table(data);
  }
}

/** Columns padded to their widest cell; the last one is left as it is. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, index) => (widths[index] = Math.max(widths[index] ?? 0, cell.length)));
  return rows
    .map((row) =>
      row.map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0))).join('  '),
    )
    .join('\n');
}

export function jobTable(jobs: readonly Job[], now: Date): string {
  if (jobs.length === 0) return 'No jobs. `coxswain submit -f FILE` makes one; examples/jobs holds some to start from.';
  const header = ['NAME', 'STATE', 'GPUS', 'LAYOUT', 'STEP', 'LOSS', 'EPOCH', 'AGE', 'SUMMARY'];
  return columns([header, ...jobs.map((job) => jobRow(job, now))]);
}

function jobRow(job: Job, now: Date): readonly string[] {
  const total = job.progress?.totalSteps ?? job.spec.training?.steps;
  return [
    job.name,
    job.state,
    String(worldSize(job.spec.layout)),
    formatLayout(job.spec.layout),
    job.progress === null ? '-' : `${job.progress.step}${total === undefined ? '' : `/${total}`}`,
    job.progress?.loss?.toFixed(4) ?? '-',
    String(job.epoch),
    formatDuration(now.getTime() - Date.parse(job.createdAt)),
    job.summary,
  ];
}

export function jobDetails(job: Job, now: Date): string {
  const facts: (readonly [string, string])[] = [
    ['Name', `${job.name} (namespace ${job.namespace}, cluster ${job.cluster})`],
    ['Id', job.id],
    ['State', `${job.state}: ${job.summary}`],
    ['Layout', `${formatLayout(job.spec.layout)} on ${worldSize(job.spec.layout)} GPUs`],
    ['Epoch', `${job.epoch}, ${job.restarts.charged} of ${job.spec.restartPolicy.maxRestarts} restarts used`],
    ['Checkpoint', job.checkpoint === null ? 'none yet' : `step ${job.checkpoint.step} (${job.checkpoint.name})`],
  ];
  if (job.progress !== null) facts.push(['Progress', progressLine(job.progress)]);
  facts.push(['Created', `${formatDuration(now.getTime() - Date.parse(job.createdAt))} ago`]);
  const attempts = job.attempts.map((attempt) => [
    `  ${attempt.epoch}`,
    attempt.outcome ?? attempt.stage,
    attempt.reason ?? '-',
    attempt.resumedFrom === undefined ? 'from scratch' : `from step ${attempt.resumedFrom.step}`,
    formatLayout(attempt.layout),
    (attempt.message ?? '').split('\n')[0] ?? '',
  ]);
  const history =
    attempts.length === 0
      ? []
      : ['', 'Attempts', columns([['  EPOCH', 'OUTCOME', 'REASON', 'STARTED', 'LAYOUT', 'MESSAGE'], ...attempts])];
  return [columns(facts.map(([name, value]) => [`${name}:`, value])), ...history].join('\n');
}

/** `step 120 of 400, loss 2.3120, 51,200 tokens/s, 2 min 3 s left`. */
export function progressLine(progress: Omit<NonNullable<Job['progress']>, 'reportedAt'>): string {
  const parts = [`step ${progress.step}${progress.totalSteps === null ? '' : ` of ${progress.totalSteps}`}`];
  if (progress.loss !== null) parts.push(`loss ${progress.loss.toFixed(4)}`);
  if (progress.tokensPerSecond !== null)
    parts.push(`${Math.round(progress.tokensPerSecond).toLocaleString('en-US')} tokens/s`);
  if (progress.etaSeconds !== null) parts.push(`${formatDuration(progress.etaSeconds * 1000)} left`);
  return parts.join(', ');
}

export function eventLine(event: JobEvent): string {
  const mark = { info: ' ', warning: '!', error: '✗' }[event.severity];
  return `${event.at.slice(11, 19)} ${mark} ${event.type.padEnd(16)} ${event.message}`;
}
