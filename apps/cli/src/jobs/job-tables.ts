import {
  describeRestore,
  describeSecrets,
  FINAL_JOB_STATES,
  formatAnswer,
  formatApplyFailure,
  formatExit,
  formatFailureLine,
  formatPlaceOfFailure,
  formatRestart,
  nameOfRun,
  type Job,
  type JobEvent,
  type JobFailure,
  type JobSummary,
  type StateTone,
  type StepTime,
  toneOfState,
  startStepOf,
} from '@coxswain/api-types';
import { newestRestart } from '@coxswain/goodput';
import { formatLayout } from '@coxswain/layout';
import { formatBytes, formatCount, formatDuration } from '@coxswain/units';
import { type FittedColumn, fittedRows, fittedTable } from '../output/fitted-table.ts';
import { columns, formatMs, signed } from '../output/output.ts';
import { paint, type Tone } from '../output/paint.ts';

const PAINT_OF_TONE: Readonly<Record<StateTone, Tone | undefined>> = {
  waiting: undefined,
  busy: 'busy',
  held: 'held',
  good: 'good',
  bad: 'bad',
  over: 'faint',
};

/** The state in its colour. */
export function paintState(state: Job['state']): string {
  const tone = toneOfState(state);
  return paint(tone && PAINT_OF_TONE[tone], state);
}

const jobColumns = (now: Date): readonly FittedColumn<JobSummary>[] => [
  { title: 'NAME', worth: 9, cell: (job) => job.name },
  { title: 'STATE', worth: 8, cell: (job) => paintState(job.state) },
  { title: 'GPUS', worth: 5, cell: (job) => String(job.gpus) },
  { title: 'LAYOUT', worth: 1, cell: (job) => (job.layout === null ? '-' : formatLayout(job.layout)) },
  { title: 'STEP', worth: 6, cell: stepCell },
  { title: 'LOSS', worth: 4, cell: (job) => job.progress?.loss?.toFixed(4) ?? '-' },
  { title: 'ATTEMPT', worth: 2, cell: (job) => String(job.epoch) },
  { title: 'AGE', worth: 3, cell: (job) => formatDuration(now.getTime() - Date.parse(job.createdAt)) },
  { title: 'SUMMARY', worth: 7, cell: (job) => job.summary.split('\n')[0] ?? '' },
];

/** What the columns of a table depend on besides the jobs. */
export interface TableOptions {
  readonly now: Date;
  /** Undefined: as wide as it needs. */
  readonly widthColumns: number | undefined;
  /** Only some jobs were asked for. */
  readonly isFiltered?: boolean;
}

/** One line per job, never wider than the terminal: drops the columns of lowest worth first, then cuts the summary. */
export function jobTable(jobs: readonly JobSummary[], { now, widthColumns, isFiltered = false }: TableOptions): string {
  if (jobs.length === 0)
    return isFiltered
      ? 'No job matches. `coxswain jobs` without options lists all.'
      : 'No jobs. `coxswain submit -f FILE` makes one; examples/jobs holds some to start from.';
  return fittedTable(jobColumns(now), jobs, widthColumns);
}

function stepCell({ progress, totalSteps }: JobSummary): string {
  return progress === null ? '-' : `${progress.step}${totalSteps === null ? '' : `/${totalSteps}`}`;
}

function ownFacts({ owner, labels }: Job): readonly (readonly [string, string])[] {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return [
    ...(owner === null ? [] : [['Owner', owner] as const]),
    ...(pairs.length === 0 ? [] : [['Labels', pairs.join(', ')] as const]),
  ];
}

/** The place of a job that waits for GPUs. */
function queueFacts({ jobsBefore, namespace }: Job): readonly (readonly [string, string])[] {
  if (jobsBefore === null) return [];
  const others = jobsBefore === 0 ? 'no job' : formatCount(jobsBefore, 'job');
  const verb = jobsBefore > 1 ? 'have' : 'has';
  return [['Queue', `${others} of namespace ${namespace} ${verb} waited longer`]];
}

/** The newest change, if it has not reached the cluster. A refused job says why in its state. */
function applyFacts({ state, applyFailure }: Job, now: Date): readonly (readonly [string, string])[] {
  if (applyFailure === null || state === 'Refused') return [];
  return [['Not applied', paint('bad', formatApplyFailure(applyFailure, now))]];
}

/** Where details are shown. */
interface ShownWhere {
  /** Address of the job in the dashboard. */
  readonly page?: string;
  readonly widthColumns?: number | undefined;
}

/** The details of one job, for a screen. */
export function jobDetails(job: Job, now: Date, { page, widthColumns }: ShownWhere = {}): string {
  const facts: (readonly [string, string])[] = [
    ['Name', `${job.name} (namespace ${job.namespace}, cluster ${job.cluster})`],
    ['Id', job.id],
    ...ownFacts(job),
    ['State', `${paintState(job.state)}: ${job.summary}`],
    ...queueFacts(job),
    ...applyFacts(job, now),
    ['Layout', layoutLine(job)],
    [
      'Attempt',
      `${nameOfRun(job.epoch, job.attempts.at(-1)?.incarnation)}, ${job.restarts.charged} of ${job.spec.restartPolicy.maxRestarts} restarts used`,
    ],
    ...restoreFacts(job),
    ...restartFacts(job),
    ['Checkpoint', job.checkpoint === null ? 'none yet' : `step ${job.checkpoint.step} (${job.checkpoint.name})`],
  ];
  // A job that does not run has no time left: status keeps the last estimate.
  const etaSeconds = job.state === 'Running' ? (job.progress?.etaSeconds ?? null) : null;
  if (job.progress !== null) facts.push(['Progress', progressLine({ ...job.progress, etaSeconds })]);
  facts.push(...planFacts(job));
  const secrets = describeSecrets(job.spec.engine).map(({ as, from }) => `${as}: ${from}`);
  if (job.spec.code !== undefined) facts.push(['Code', `SHA-256 ${job.spec.code.sha256}`]);
  if (secrets.length > 0) facts.push(['Secrets', secrets.join('; ')]);
  facts.push(['Created', `${formatDuration(now.getTime() - Date.parse(job.createdAt))} ago`]);
  if (page !== undefined) facts.push(['Page', page]);
  const attempts = job.attempts.flatMap(attemptRows);
  const history = attempts.length === 0 ? [] : ['', 'Attempts', fittedRows(ATTEMPT_TITLES, attempts, widthColumns)];
  return [
    ...causeLines(job, now),
    columns(facts.map(([name, value]) => [`${name}:`, value])),
    ...history,
    ...earlierFailure(job, now),
  ].join('\n');
}

/** How the newest attempt continued from its checkpoint. */
function restoreFacts({ attempts }: Job): (readonly [string, string])[] {
  const { restore } = attempts.at(-1) ?? {};
  const text = restore === undefined ? '' : describeRestore(restore);
  return text === '' ? [] : [['Restore', text]];
}

/** From the last step before the newest failure to the first one after it, phase by phase. */
function restartFacts({ attempts }: Job): (readonly [string, string])[] {
  const restart = newestRestart(attempts);
  if (restart === undefined) return [];
  const time = formatRestart(restart, (seconds) => formatDuration(seconds * 1000));
  const name = nameOfRun(restart.epoch, restart.incarnation);
  return [['Restart', restart.total === null ? `${name}, ${time}` : `${name} after ${time}`]];
}

const ATTEMPT_TITLES = [
  { title: '  ATTEMPT', worth: 9 },
  { title: 'OUTCOME', worth: 8 },
  { title: 'REASON', worth: 6 },
  { title: 'STARTED', worth: 3 },
  { title: 'LAYOUT', worth: 1 },
  { title: 'MESSAGE', worth: 7 },
];

/** A row for each incarnation of the attempt: `1.1` and `1.2` if the ranks restarted in the same pods, else `1`. */
function attemptRows(attempt: Job['attempts'][number]): string[][] {
  const { epoch, incarnation, incarnations = [], layout } = attempt;
  const row = (
    which: string,
    run: Partial<Pick<typeof attempt, 'outcome' | 'stage' | 'reason' | 'resumedFrom' | 'memorySave' | 'message'>>,
  ) => [
    `  ${which}`,
    run.outcome ?? run.stage ?? 'Failed',
    run.reason ?? '-',
    run.resumedFrom === undefined ? 'from scratch' : `from step ${startStepOf(run)}`,
    formatLayout(layout),
    (run.message ?? '').split('\n')[0] ?? '',
  ];
  return [
    ...incarnations.map((ended) => row(nameOfRun(epoch, ended.incarnation), ended)),
    row(nameOfRun(epoch, incarnation), attempt),
  ];
}

function layoutLine(job: Job): string {
  const gpus = `${job.gpus} GPUs`;
  if (job.layout === null) return `to be chosen by the planner for ${gpus}`;
  return `${formatLayout(job.layout)} on ${gpus}${job.plan?.chosenBy === 'Planner' ? ', chosen by the planner' : ''}`;
}

/** Predicted and measured step time and memory, and the runners-up of the plan. */
function planFacts({ plan, stepTime }: Job): (readonly [string, string])[] {
  const facts: (readonly [string, string])[] = [];
  if (stepTime !== null) facts.push(['Step time', stepTimeLine(stepTime)]);
  if (plan === null) return facts;
  const { predictedStepLowMs: low, predictedStepHighMs: high } = plan;
  if (low !== undefined && high !== undefined) {
    facts.push(['Interval', `80 % of such steps take ${formatMs(low)} to ${formatMs(high)}`]);
  }
  if (plan.predictedPeakBytes !== undefined) {
    facts.push([
      'Memory',
      `${formatBytes(plan.predictedPeakBytes)} per GPU predicted (${plan.gpuType ?? 'unknown GPU'})`,
    ]);
  }
  if (plan.runnersUp !== undefined) {
    const others = plan.runnersUp.map((one) => `${one.layout} (${formatMs(one.predictedStepMs)})`);
    facts.push(['Runners-up', others.join(', ')]);
  }
  return facts;
}

/** `predicted 118 ms, measured 124 ms (-4.8 %) over 57 steps of attempt 1` */
export function stepTimeLine({ epoch, predictedMs, measuredMs, measuredSteps, errorPct }: StepTime): string {
  const predicted = predictedMs === null ? 'not predicted' : `predicted ${formatMs(predictedMs)}`;
  if (measuredMs === null) return `${predicted}, not measured yet`;
  const error = errorPct === null ? '' : ` (${signed(errorPct)} %)`;
  return `${predicted}, measured ${formatMs(measuredMs)}${error} over ${measuredSteps} steps of attempt ${epoch}`;
}

/** What a job that failed or restarts opens with; empty: nothing failed, or the job goes on since. */
function causeLines(job: Job, now: Date): readonly string[] {
  const { lastFailure: failure } = job;
  if (failure === null) return [];
  if (failure.isFinal) return [...failureBlock(failure, now), ''];
  return job.state === 'Restarting' ? [formatFailureLine(failure, now), ''] : [];
}

/** The failure of a job that goes on since, or that restarts, below everything else. */
function earlierFailure({ lastFailure: failure, attempts, state }: Job, now: Date): readonly string[] {
  if (failure === null || failure.isFinal) return [];
  const rule = ruleOf(failure, attempts);
  if (!FINAL_JOB_STATES.has(state)) return ['', ...failureBlock(failure, now, rule)];
  return ['', formatFailureLine(failure, now), ...(rule === undefined ? [] : [`  Rule:  ${rule}`])];
}

/** Verdict, last lines, place, exit, blame, what follows, and what to do. */
function failureBlock(failure: JobFailure, now: Date, rule?: string): readonly string[] {
  const { attempt, verdict, blame, lastLines, advice } = failure;
  const rows: (readonly [string, string])[] = [
    ['Where', formatPlaceOfFailure(failure) ?? 'not known'],
    ['Exit', formatExit(failure) ?? 'no process of a rank reported one'],
    ...(blame === null ? [] : [['Blame', `${blame} (${failure.class ?? 'Unknown'})`] as const]),
    ...(rule === undefined ? [] : [['Rule', rule] as const]),
    ['Result', formatAnswer(failure, now)],
    ['Next', advice],
  ];
  const lines = lastLines.map((line) => `  | ${line}`);
  const table = columns(rows.map(([name, value]) => [`  ${name}:`, value]));
  return [paint('bad', `Attempt ${attempt} failed: ${verdict}`), ...lines, table];
}

/** The rule that answered the newest failure, and the restarts that are left. */
function ruleOf({ attempt: name }: JobFailure, attempts: Job['attempts']): string | undefined {
  const judged = attempts.flatMap(({ epoch, incarnation, incarnations = [], judgement }) => [
    ...incarnations.map((ended) => ({ run: nameOfRun(epoch, ended.incarnation), judgement: ended.judgement })),
    { run: nameOfRun(epoch, incarnation), judgement },
  ]);
  return judged.find(({ run }) => run === name)?.judgement?.says;
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

/** `12:03:04 ! RankFailed       Rank 1 on node a exited with 1`; times are UTC, as in the data. */
export function eventLine(event: JobEvent): string {
  const mark = { info: ' ', warning: paint('held', '!'), error: paint('bad', '✗') }[event.severity];
  return `${event.at.slice(11, 19)} ${mark} ${event.type.padEnd(16)} ${event.message}`;
}
