import { OBSERVED_PHASES, type ObservedJob, type ObservedJobs } from '@coxswain/api-types';
import { formatCount, formatDuration } from '@coxswain/units';
import { type Command } from 'commander';
import { CliError } from '../cli-error.ts';
import { columns, formatMs, utcText } from '../output/output.ts';
import { type FittedColumn, fittedTable } from '../output/fitted-table.ts';
import type { Session } from '../session/session.ts';

interface ObserveOptions {
  readonly all?: true;
}

/** In place of a project's name: every project. */
const EVERY_PROJECT = '-';
/** Evidence with more lines or characters is printed below its finding. */
const MOST_EVIDENCE_CHARACTERS = 120;

/** `coxswain observe` */
export function addObserveCommand(program: Command, session: Session): void {
  program
    .command('observe [job]')
    .description('show jobs of other controllers (JobSet, TrainJob, PyTorchJob) whose pods are observed')
    .option('--all', 'jobs in every namespace (administrators)')
    .addHelpText(
      'after',
      `
Coxswain observes a pod with label training.coxswain.dev/observe, and never changes the job. A job is given by its name, or as namespace/name.

Examples:
  coxswain observe
  coxswain observe gpt-small --output json`,
    )
    .action(async (wanted: string | undefined, { all }: ObserveOptions) => {
      const observed =
        all === true
          ? await session.connect().observedJobs(EVERY_PROJECT)
          : await session.open().then(({ api, project }) => api.observedJobs(project));
      if (wanted === undefined) session.show(observed, (shown) => listText(shown, session.widthColumns));
      else session.show(jobNamed(observed, wanted), jobText);
    });
}

function jobNamed({ jobs }: ObservedJobs, wanted: string): ObservedJob {
  const found = jobs.filter(({ namespace, name }) => wanted === name || wanted === `${namespace}/${name}`);
  const [job] = found.toSorted((one, other) => rankOfPhase(one) - rankOfPhase(other));
  if (job === undefined)
    throw new CliError(
      `No observed job is named "${wanted}". "coxswain observe" lists them; a pod is observed if it has label training.coxswain.dev/observe=true.`,
      1,
    );
  const places = new Set(found.map(({ namespace }) => namespace));
  if (places.size > 1)
    throw new CliError(`"${wanted}" is in namespaces ${[...places].join(', ')}. Give it as namespace/name.`, 1);
  return job;
}

/** A job that runs before one of the same name that ended. */
function rankOfPhase({ phase }: ObservedJob): number {
  return phase === 'Ended' ? 1 : 0;
}

const COLUMNS: readonly FittedColumn<ObservedJob>[] = [
  { title: 'JOB', worth: 9, cell: ({ name }) => name },
  { title: 'NAMESPACE', worth: 3, cell: ({ namespace }) => namespace },
  { title: 'KIND', worth: 4, cell: ({ kind }) => kind },
  { title: 'PHASE', worth: 8, cell: ({ phase }) => phase },
  { title: 'RANKS', worth: 6, cell: ranksCell },
  { title: 'STEP', worth: 5, cell: ({ step }) => (step === null ? 'unknown' : String(step)) },
  { title: 'WHY', worth: 7, cell: (job) => whyOf(job) },
];

function listText({ jobs, leftOut }: ObservedJobs, widthColumns: number | undefined): string {
  if (jobs.length === 0) return 'No pod with label training.coxswain.dev/observe=true was seen in these namespaces.';
  return [
    fittedTable(COLUMNS, jobs, widthColumns),
    ...(leftOut === 0 ? [] : ['', `${formatCount(leftOut, 'job')} more did not fit the answer.`]),
  ].join('\n');
}

function ranksCell({ pods, worldSize }: ObservedJob): string {
  const seen = pods.reduce((sum, { ranks }) => sum + countRanks(ranks), 0);
  return `${seen} of ${worldSize ?? 'unknown'}`;
}

function countRanks(ranges: string): number {
  if (ranges === '') return 0;
  return ranges.split(',').reduce((sum, range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return sum + last - first + 1;
  }, 0);
}

/** The newest reason why it does not train; nothing while it trains. */
function whyOf({ phase, standing, findings, pods }: ObservedJob): string {
  if (phase === 'Training' || phase === 'Ended') return '';
  return standing ?? findings.at(-1)?.message ?? pods.find(({ unknown }) => unknown !== undefined)?.unknown ?? '';
}

function jobText(job: ObservedJob): string {
  const { kind, namespace, name, attempt, phase, observedSince, gpus, step, stepTimeMs, standing, findings } = job;
  const { ledger, pods, unknown } = job;
  const time = stepTimeMs === null ? '' : `, ${formatMs(stepTimeMs)} a step`;
  return [
    `${kind} ${namespace}/${name}${attempt === 0 ? '' : `, restart ${attempt}`}: ${phase} (${OBSERVED_PHASES[phase]}).`,
    `Step ${step ?? 'unknown'}${time}; ${ranksCell(job)} ranks report; ${formatCount(gpus, 'GPU')}; observed since ${observedSince === null ? 'never' : `${utcText(observedSince)} UTC`}.`,
    ...(standing === null ? [] : ['', standing]),
    ...findings.flatMap((finding) => ['', ...findingLines(finding)]),
    '',
    columns([['POD', 'NODE', 'STATE', 'RANKS', 'DOES'], ...pods.map(podCells)]),
    '',
    `Time: ${(['training', 'starting', 'notTraining', 'unknown'] as const).map((part) => `${PARTS[part]} ${formatDuration(ledger[part] * 1_000)}`).join(', ')}.`,
    '',
    'Unknown:',
    ...[
      ...pods.flatMap((pod) => (pod.unknown === undefined ? [] : [`Pod ${pod.name}: ${pod.unknown}`])),
      ...unknown,
    ].map((line) => `  ${line}`),
  ].join('\n');
}

const PARTS = { training: 'training', starting: 'starting', notTraining: 'not training', unknown: 'unknown' } as const;

function podCells({ name, node, podPhase, ranks, rankPhases, exitCodes }: ObservedJob['pods'][number]): string[] {
  const ended = exitCodes.length === 0 ? '' : ` (exit code ${exitCodes.join(', ')})`;
  return [
    name,
    node ?? '-',
    `${podPhase}${ended}`,
    ranks === '' ? 'unknown' : ranks,
    rankPhases.join(', ') || 'unknown',
  ];
}

function findingLines({ at, kind, message, evidence }: ObservedJob['findings'][number]): readonly string[] {
  const lines = Object.entries(evidence).map(([name, value]) => {
    const text = String(value);
    const isLong = text.includes('\n') || text.length > MOST_EVIDENCE_CHARACTERS;
    return isLong ? `    ${name}:\n${text.replaceAll(/^/gm, '        ')}` : `    ${name}: ${text}`;
  });
  return [`${utcText(at)} UTC, ${kind}: ${message}`, ...lines];
}
