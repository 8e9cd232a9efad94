import { JOB_ORDERS, type JobOrder, type JobSummary, type StepPoint, type WhoAmI } from '@coxswain/api-types';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { gpusText } from './job-check-text.ts';
import { addLogsCommand } from './logs-command.ts';
import { columns } from '../output/output.ts';
import { eventLine, jobDetails, jobTable } from './job-tables.ts';
import { checkpointTable } from '../checkpoints/catalogue-tables.ts';
import { pageOfJob } from '../session/project-jobs.ts';
import type { Session } from '../session/session.ts';
import { watchJob } from './watch.ts';
import { wholeNumber } from '../options/whole-number.ts';

interface SortOrder {
  readonly orderBy: JobOrder;
  readonly direction?: 'asc' | 'desc';
}

interface ListOptions {
  readonly state?: string;
  readonly selector?: string;
  readonly owner?: string;
  readonly search?: string;
  readonly sort?: SortOrder;
}

/** Commands that change nothing: get, list, watch, events, steps, checkpoints, logs, whoami. */
export function addReadingCommands(program: Command, session: Session): void {
  program
    .command('get <job>')
    .description('show one job, by name or id')
    .action(async (name: string) => {
      const project = await session.open();
      const { job } = await project.find(name);
      const where = { page: pageOfJob(project, job), widthColumns: session.widthColumns };
      session.show(job, (shown) => jobDetails(shown, session.now(), where));
    });

  program
    .command('list')
    .alias('jobs')
    .description('list the jobs of the project, newest first')
    .option('--state <state>', 'only jobs in this state, e.g. Running')
    .option('-l, --selector <selector>', 'only jobs with these labels, as kubectl selects them')
    .option('--owner <name>', 'only jobs that this user or service account created')
    .option('--search <words>', 'only jobs whose name contains words with these prefixes')
    .option('--sort <order>', `${JOB_ORDERS.join(', ')}, with :asc or :desc`, sortOrder)
    .addHelpText(
      'after',
      "\nExample:\n  coxswain jobs -l 'team in (vision,speech),stage!=old' --search llama --sort name:desc",
    )
    .action(async ({ selector: labelSelector, search: q, sort, ...options }: ListOptions) => {
      const { api, project } = await session.open();
      const query = { ...options, labelSelector, q, ...sort };
      const jobs: JobSummary[] = [];
      for await (const job of api.jobs(project, query)) jobs.push(job);
      const isFiltered = [q, labelSelector, ...Object.values(options)].some((value) => value !== undefined);
      session.show(jobs, (shown) =>
        jobTable(shown, { now: session.now(), widthColumns: session.widthColumns, isFiltered }),
      );
    });

  program
    .command('watch <job>')
    .description('follow a job live until it ends; exit code 0 if it completes, 3 if not')
    .action(async (name: string) => {
      const project = await session.open();
      const { job } = await project.find(name);
      if (session.outputFormat() === 'table') session.printError(`Page  ${pageOfJob(project, job)}`);
      session.setExitCode(await watchJob(project, job, session));
    });

  program
    .command('events <job>')
    .description('list the events of a job')
    .action(async (name: string) => {
      const project = await session.open();
      session.show(await project.api.jobEvents((await project.find(name)).at), ({ items }) =>
        items.length === 0 ? 'Nothing has happened yet.' : items.map(eventLine).join('\n'),
      );
    });

  program
    .command('steps <job>')
    .description('print the loss curve of a job; a point that covers several steps shows its lowest and highest loss')
    .option('--max-points <points>', 'maximum number of points, 2 to 5000', wholeNumber, 20)
    .option('--from-step <step>', 'first step to show', wholeNumber)
    .option('--to-step <step>', 'last step to show', wholeNumber)
    .option('--attempt <number>', 'only this attempt, including steps that a later attempt repeated', wholeNumber)
    .addOption(new Option('--epoch <number>').argParser(wholeNumber).hideHelp())
    .action(async (name: string, { attempt, epoch = attempt, ...range }: StepsOptions) => {
      const project = await session.open();
      const { at } = await project.find(name);
      session.show(await project.api.steps(at, { ...range, epoch }), ({ items }) => stepTable(items));
    });

  program
    .command('checkpoints <job>')
    .description('list the checkpoints of a job')
    .action(async (name: string) => {
      const project = await session.open();
      session.show(await project.api.checkpoints((await project.find(name)).at), ({ items }) =>
        checkpointTable(items, session.widthColumns),
      );
    });

  addLogsCommand(program, session);

  program
    .command('gpus')
    .description('show how many GPUs the cluster has and how many are free, by type')
    .action(async () => {
      const { api, project } = await session.open();
      session.show(await api.gpus(project), gpusText);
    });

  program
    .command('whoami')
    .description('show your identity and your role in each project')
    .action(async () => {
      session.show(await session.connect().whoAmI(), identityLine);
    });
}

/** `ada: operator of research, viewer of vision` */
function identityLine({ name, role, project, memberships }: WhoAmI): string {
  const several = memberships.map((one) => `${one.role} of ${one.project}`).join(', ');
  return `${name}: ${several === '' ? `${role} of ${project ?? 'every project'}` : several}`;
}

function sortOrder(text: string): SortOrder {
  const [field, direction, ...more] = text.split(':');
  const orderBy = JOB_ORDERS.find((order) => order === field);
  const isKnown = direction === undefined || direction === 'asc' || direction === 'desc';
  if (orderBy === undefined || !isKnown || more.length > 0) {
    throw new InvalidArgumentError(`Give one of ${JOB_ORDERS.join(', ')}, optionally with :asc or :desc.`);
  }
  return direction === undefined ? { orderBy } : { orderBy, direction };
}

interface StepsOptions {
  readonly maxPoints: number;
  readonly fromStep?: number;
  readonly toStep?: number;
  readonly attempt?: number;
  /** The former name of `attempt`. */
  readonly epoch?: number;
}

function stepTable(items: readonly StepPoint[]): string {
  if (items.length === 0) return 'No steps are recorded, or they are no longer kept.';
  const shown = (value: number | null | undefined, digits: number): string => value?.toFixed(digits) ?? '-';
  // A program may report neither.
  const more = MORE_COLUMNS.filter(([, value]) => items.some((point) => value(point) !== null));
  const rows = items.map(({ bucket, ...point }) => [
    bucket === null ? String(point.step) : `${point.step}-${bucket.lastStep}`,
    String(point.epoch),
    shown(point.loss, 4),
    shown(bucket === null ? point.loss : bucket.loss?.min, 4),
    shown(bucket === null ? point.loss : bucket.loss?.max, 4),
    shown(point.tokensPerSecond, 0),
    shown(point.stepTimeMs, 1),
    ...more.map(([, value]) => value({ ...point, bucket })?.toPrecision(3) ?? '-'),
  ]);
  const header = ['STEPS', 'ATTEMPT', 'LOSS', 'LOWEST', 'HIGHEST', 'TOKENS/S', 'STEP MS'];
  return columns([[...header, ...more.map(([title]) => title)], ...rows]);
}

const MORE_COLUMNS: readonly (readonly [title: string, value: (point: StepPoint) => number | null])[] = [
  ['GRAD NORM', ({ gradNorm }) => gradNorm],
  ['LEARNING RATE', ({ learningRate }) => learningRate],
];
