import { MAX_QUEUE_JOBS, type Queue, type QueueJob, type QueueStart, type QueueWindow } from '@coxswain/api-types';
import { formatCount, formatDuration } from '@coxswain/units';
import type { Command } from 'commander';
import { wholeNumber } from '../options/whole-number.ts';
import { type FittedColumn, fittedTable } from '../output/fitted-table.ts';
import type { Session } from '../session/session.ts';

interface QueueOptions {
  readonly all?: true;
  readonly limit?: number;
}

/** In place of a project's name: every project. */
const EVERY_PROJECT = '-';

/** `coxswain queue` */
export function addQueueCommand(program: Command, session: Session): void {
  program
    .command('queue')
    .description('list the jobs that wait for GPUs in the order of their turn, with expected starts')
    .option('--all', 'name the jobs of every project (administrators)')
    .option('--limit <jobs>', `most jobs to list, up to ${MAX_QUEUE_JOBS}`, wholeNumber)
    .addHelpText(
      'after',
      '\nJobs of other projects are listed without names.\n\nExample:\n  coxswain queue --all --output json',
    )
    .action(async ({ all, limit }: QueueOptions) => {
      const queue =
        all === true
          ? await session.connect().queue(EVERY_PROJECT, { limit })
          : await session.open().then(({ api, project }) => api.queue(project, { limit }));
      session.show(queue, (shown) => queueText(shown, session.widthColumns));
    });
}

const queueColumns = ({ asOf }: Queue): readonly FittedColumn<QueueJob>[] => [
  { title: 'POSITION', worth: 6, cell: ({ position }) => String(position) },
  { title: 'JOB', worth: 9, cell: ({ job }) => job?.name ?? '-' },
  { title: 'PROJECT', worth: 3, cell: ({ job }) => job?.project ?? job?.namespace ?? 'another' },
  { title: 'PRIORITY', worth: 1, cell: ({ priority }) => String(priority) },
  { title: 'GPUS', worth: 5, cell: ({ gpus }) => String(gpus) },
  { title: 'WAITED', worth: 4, cell: ({ waitingSince }) => formatDuration(between(waitingSince, asOf)) },
  { title: 'EXPECTED START', worth: 8, cell: ({ start }) => startCell(start, asOf) },
  { title: 'WHY', worth: 7, cell: ({ constraint }) => constraint.sentence },
];

function queueText(queue: Queue, widthColumns: number | undefined): string {
  const { items, waitingJobs, waitingGpus, freeGpus, totalGpus, problem, hasMore, windows } = queue;
  const free = `${freeGpus} of ${formatCount(totalGpus, 'GPU')} ${freeGpus === 1 ? 'is' : 'are'} free.`;
  if (waitingJobs === 0) return [`No job waits for GPUs. ${free}`, ...windows.map(windowLine)].join('\n');
  return [
    `${formatCount(waitingJobs, 'job')} ${waitingJobs === 1 ? 'waits' : 'wait'} for ${formatCount(waitingGpus, 'GPU')}; ${free}`,
    ...(problem === null ? [] : [`No start is predicted: ${problem}`]),
    '',
    fittedTable(queueColumns(queue), items, widthColumns),
    ...(hasMore ? ['', `${items.length} jobs are listed; --limit ${MAX_QUEUE_JOBS} lists more.`] : []),
    ...(windows.length > 0 ? ['', ...windows.map(windowLine)] : []),
  ].join('\n');
}

/** `3 nodes are in maintenance (firmware) from ... until ...`. */
function windowLine({ kind, name, project, from, until, nodes }: QueueWindow): string {
  const ofProject = project === null ? 'kept for a project' : `kept for project ${project}`;
  const what = kind === 'Maintenance' ? 'in maintenance' : ofProject;
  return `${formatCount(nodes, 'node')} ${nodes === 1 ? 'is' : 'are'} ${what}${name === null ? '' : ` (${name})`} from ${from} until ${until}.`;
}

/** `in 2 h 5 min, held`: nodes are held for the job. */
function startCell(start: QueueStart | null, asOf: string): string {
  if (start === null) return 'not known';
  return `${startWords(start.at, asOf)}${start.nodesHeld ? ', held' : ''}`;
}

/** `now`, or `in 2 h 5 min`. */
export function startWords(at: string, asOf: string): string {
  const ms = between(asOf, at);
  return ms < 60_000 ? 'now' : `in ${formatDuration(ms)}`;
}

/** Milliseconds from one time to the other, at least 0. */
export function between(from: string, to: string): number {
  return Math.max(0, Date.parse(to) - Date.parse(from));
}
