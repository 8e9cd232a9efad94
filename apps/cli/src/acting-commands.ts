import type { Job } from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import type { Command } from 'commander';
import { randomUUID } from 'node:crypto';
import { readJobFile } from './job-file.ts';
import { jobDetails } from './output.ts';
import type { Session } from './session.ts';
import { watchJob } from './watch.ts';
import { wholeNumber } from './whole-number.ts';

interface ResumeOptions {
  readonly tensorParallel?: number;
  readonly pipelineParallel?: number;
  readonly dataParallel?: number;
}

/** Commands that ask for something: submit, suspend, resume, cancel, delete. */
export function addActingCommands(program: Command, session: Session): void {
  const showJob = (job: Job): void => session.show(job, (shown) => jobDetails(shown, session.now()));

  program
    .command('submit')
    .description('submit a job from a YAML or JSON file')
    .requiredOption('-f, --file <file>', 'TrainingJob manifest or {name, spec}; - reads standard input')
    .option('--name <name>', 'name to use instead of the one in the file')
    .option('--idempotency-key <key>', 'the same key twice makes one job (default: a fresh one)')
    .option('-w, --watch', 'follow the job until it ends')
    .addHelpText('after', '\nExample:\n  coxswain submit -f examples/jobs/tiny-gpt.yaml --watch')
    .action(async (options: { file: string; name?: string; idempotencyKey?: string; watch?: true }) => {
      const body = readJobFile(options.file, options.name === undefined ? {} : { name: options.name });
      const project = await session.open();
      const job = await project.api.createJob(project.project, body, options.idempotencyKey ?? randomUUID());
      if (options.watch === undefined) return showJob(job);
      if (session.outputFormat() === 'table') session.print(`Submitted ${job.name} (${job.id}).`);
      session.setExitCode(await watchJob(project, job, session));
    });

  program
    .command('suspend <job>')
    .description('save, stop and hold a job; its GPUs become free')
    .action(async (name: string) => {
      const project = await session.open();
      showJob(await project.api.suspend((await project.find(name)).at));
    });

  program
    .command('cancel <job>')
    .description('stop a job for good')
    .action(async (name: string) => {
      const project = await session.open();
      showJob(await project.api.cancel((await project.find(name)).at));
    });

  program
    .command('resume <job>')
    .description('run a suspended job again, on the same or another layout; degrees that are not named stay')
    .option('--tensor-parallel <ways>', 'tensor parallel degree', wholeNumber)
    .option('--pipeline-parallel <ways>', 'pipeline parallel degree', wholeNumber)
    .option('--data-parallel <ways>', 'data parallel degree', wholeNumber)
    .action(async (name: string, options: ResumeOptions) => {
      const project = await session.open();
      const { job, at } = await project.find(name);
      showJob(await project.api.resume(at, changedLayout(job.spec.layout, options)));
    });

  program
    .command('delete <job>')
    .description('delete a job and its pods; its checkpoints stay')
    .action(async (name: string) => {
      const project = await session.open();
      const { job, at } = await project.find(name);
      await project.api.deleteJob(at);
      session.print(`Deleting ${job.name}.`);
    });
}

/** The layout with the degrees that were named; undefined when none was. */
function changedLayout(layout: ParallelLayout, options: ResumeOptions): ParallelLayout | undefined {
  if (Object.keys(options).length === 0) return undefined;
  return {
    tensorParallelDegree: options.tensorParallel ?? layout.tensorParallelDegree,
    pipelineParallelDegree: options.pipelineParallel ?? layout.pipelineParallelDegree,
    dataParallelDegree: options.dataParallel ?? layout.dataParallelDegree,
  };
}
