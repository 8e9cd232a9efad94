import type { Job, JobLabelChange, JobResume } from '@coxswain/api-types';
import { ParallelLayout } from '@coxswain/layout';
import type { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import { addDeleteCommand } from './delete-command.ts';
import { checkText, isInTheWay } from './job-check-text.ts';
import { readJobFile } from '../job-files/job-file.ts';
import { jobDetails } from './job-tables.ts';
import { pageOfJob, type ProjectJobs } from '../session/project-jobs.ts';
import type { Session } from '../session/session.ts';
import { watchJob } from './watch.ts';
import { uploadWorkdir, withWorkdir } from '../workdir/ship-workdir.ts';
import { wholeNumber } from '../options/whole-number.ts';

interface SubmitOptions {
  readonly file: string;
  readonly name?: string;
  readonly gpus?: number;
  readonly engineFile?: string;
  readonly priorityClass?: string;
  readonly maxRuntime?: number;
  readonly idempotencyKey?: string;
  readonly watch?: true;
  readonly check?: true;
  readonly workdir?: string;
}

interface WaitOption {
  readonly wait?: true | undefined;
}

interface ResumeOptions extends WaitOption {
  readonly tensorParallel?: number;
  readonly pipelineParallel?: number;
  readonly dataParallel?: number;
  readonly gpus?: number;
  readonly from?: string;
}

/** Commands that ask for something: submit, label, suspend, resume, cancel, delete. */
export function addActingCommands(program: Command, session: Session): void {
  const showJob = (job: Job): void => session.show(job, (shown) => jobDetails(shown, session.now()));

  /** Where a person goes on. Not on standard output, which programs read. */
  const tellNext = (project: ProjectJobs, job: Job, next: string): void => {
    if (session.outputFormat() !== 'table') return;
    session.printError(`\nNext  ${next}`);
    session.printError(`Page  ${pageOfJob(project, job)}`);
  };

  const waited = async (
    project: ProjectJobs,
    job: Job,
    { wait, state }: WaitOption & { readonly state: Job['state'] },
  ): Promise<void> => {
    if (wait !== true) return showJob(job);
    session.setExitCode(await watchJob(project, job, session, state));
  };

  program
    .command('submit')
    .description('submit a job from a YAML or JSON file')
    .requiredOption('-f, --file <file>', 'TrainingJob manifest or {name, spec}; - reads standard input')
    .option('--name <name>', 'name to use instead of the one in the file')
    .option('--gpus <count>', 'let the planner choose a layout for this many GPUs', wholeNumber)
    .option('--priority-class <name>', 'PriorityClass of the job: those with a higher value get GPUs first')
    .option('--max-runtime <seconds>', 'seconds for which a run may hold GPUs; then it saves and ends', wholeNumber)
    .option(
      '--engine-file <file>',
      'configuration of the engine, such as ds_config.json or train.toml; its values become engine.options',
    )
    .option(
      '--workdir <directory>',
      'ship this directory with the job, which runs there: no new image for a change; .gitignore is obeyed',
    )
    .option('--idempotency-key <key>', 'submitting the same key twice creates one job (default: a new key)')
    .option('-w, --watch', 'follow the job until it ends')
    .option('--check', 'submit nothing: print what the job would wait for; exit code 1 if a change is needed')
    .addHelpText('after', '\nExample:\n  coxswain submit -f examples/jobs/tiny-gpt.yaml --watch')
    .action(async (options: SubmitOptions) => {
      const job = readJobFile(options.file, {
        name: options.name,
        gpus: options.gpus,
        engineFile: options.engineFile,
        priorityClass: options.priorityClass,
        maxRuntime: options.maxRuntime,
      });
      const shipped = options.workdir === undefined ? undefined : withWorkdir(job, options.workdir, session.printError);
      const body = shipped?.body ?? job;
      const project = await session.open();
      if (options.check === true) {
        const check = await project.api.checkJob(project.project, body);
        session.show(check, checkText);
        return session.setExitCode(isInTheWay(check) ? 1 : 0);
      }
      if (shipped !== undefined)
        session.printError(await uploadWorkdir(project, { packed: shipped.packed, namespace: body.namespace }));
      const made = await project.api.createJob(project.project, body, options.idempotencyKey);
      if (options.watch === undefined) {
        showJob(made);
        return tellNext(project, made, `coxswain watch ${made.name}, or coxswain explain ${made.name} if it waits`);
      }
      if (session.outputFormat() === 'table') {
        session.print(`Submitted ${made.name} (${made.id}).`);
        session.printError(`Page  ${pageOfJob(project, made)}`);
      }
      session.setExitCode(await watchJob(project, made, session));
    });

  program
    .command('label <job> <labels...>')
    .description('add labels to a job (KEY=VALUE), or remove them (KEY-)')
    .addHelpText('after', '\nExample:\n  coxswain label tiny-gpt team=vision stage-')
    .action(async (name: string, labels: readonly string[]) => {
      const change = labelChange(labels);
      const project = await session.open();
      showJob(await project.api.labelJob((await project.find(name)).at, change));
    });

  program
    .command('suspend <job>')
    .description('save a checkpoint, stop the job and free its GPUs until it is resumed')
    .option('-w, --wait', 'return when the ranks have stopped; exit code 3 if the job ends before')
    .action(async (name: string, { wait }: WaitOption) => {
      const project = await session.open();
      const job = await project.api.suspend((await project.find(name)).at);
      await waited(project, job, { wait, state: 'Suspended' });
      tellNext(project, job, `coxswain resume ${job.name}`);
    });

  program
    .command('cancel <job>')
    .description('stop a job permanently')
    .option('-w, --wait', 'return when the job has ended; exit code 3 if it ends in another way before')
    .action(async (name: string, { wait }: WaitOption) => {
      const project = await session.open();
      await waited(project, await project.api.cancel((await project.find(name)).at), { wait, state: 'Cancelled' });
    });

  program
    .command('resume <job>')
    .description('resume a suspended job, with the same or another layout; degrees that are not given stay unchanged')
    .option('--tensor-parallel <ways>', 'tensor parallel degree', wholeNumber)
    .option('--pipeline-parallel <ways>', 'pipeline parallel degree', wholeNumber)
    .option('--data-parallel <ways>', 'data parallel degree', wholeNumber)
    .option('--gpus <count>', 'let the planner choose a layout for this many GPUs', wholeNumber)
    .option(
      '--from <checkpoint>',
      'start from this checkpoint of the job, from an adopted checkpoint, or from scratch; see `coxswain checkpoints`',
    )
    .option('-w, --wait', 'return when every rank has started; exit code 3 if the job ends before')
    .action(async (name: string, { wait, ...options }: ResumeOptions) => {
      const project = await session.open();
      const { job, at } = await project.find(name);
      await waited(project, await project.api.resume(at, resumeRequest(job, options)), { wait, state: 'Running' });
    });

  addDeleteCommand(program, session);
}

function labelChange(words: readonly string[]): JobLabelChange {
  const changes = words.map((word): readonly [string, string | null] => {
    const equals = word.indexOf('=');
    if (equals > 0) return [word.slice(0, equals), word.slice(equals + 1)];
    if (equals < 0 && word.length > 1 && word.endsWith('-')) return [word.slice(0, -1), null];
    throw new CliError(`"${word}" is neither KEY=VALUE nor KEY-.`);
  });
  return Object.fromEntries(changes);
}

function resumeRequest(job: Job, { from, ...division }: Omit<ResumeOptions, 'wait'>): JobResume {
  return { ...divisionRequest(job, division), ...(from === undefined ? {} : { from }) };
}

/** What the options ask for: the job's layout with the degrees that were named, or a number of GPUs; nothing when none was named. */
function divisionRequest(job: Job, { gpus, ...degrees }: Omit<ResumeOptions, 'from' | 'wait'>): JobResume {
  const isLayout = Object.keys(degrees).length > 0;
  if (gpus !== undefined && isLayout) {
    throw new CliError('Give --gpus or degrees, not both: with --gpus the planner chooses the layout.');
  }
  if (gpus !== undefined) return { gpus };
  if (!isLayout) return {};
  const layout = job.layout ?? ParallelLayout.parse({});
  return {
    layout: {
      ...layout,
      tensorParallelDegree: degrees.tensorParallel ?? layout.tensorParallelDegree,
      pipelineParallelDegree: degrees.pipelineParallel ?? layout.pipelineParallelDegree,
      dataParallelDegree: degrees.dataParallel ?? layout.dataParallelDegree,
    },
  };
}
