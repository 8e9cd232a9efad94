import { Option, type Command } from 'commander';
import { writeNewFile } from '../files/write-file.ts';
import { readJobFile } from '../job-files/job-file.ts';
import type { Session } from '../session/session.ts';
import { EXPORT_FORMS, exportedJob, type ExportForm } from './exported-job.ts';

interface ExportOptions {
  readonly as: ExportForm;
  readonly out?: string;
  readonly force?: true;
}

/** `coxswain export`: a job file for another system. */
export function addExportCommand(program: Command, session: Session): void {
  program
    .command('export <file>')
    .description('write a job file as a JobSet, TrainJob, PyTorchJob or batch script of Slurm; works offline')
    .addOption(new Option('--as <form>', 'what to write').choices(EXPORT_FORMS).makeOptionMandatory())
    .option('--out <file>', 'file to write to (default: standard output)')
    .option('--force', 'overwrite the file if it exists')
    .addHelpText('after', EXAMPLES)
    .action((file: string, { as, out, ...options }: ExportOptions) => {
      const text = exportedJob(readJobFile(file), as);
      if (out === undefined) return session.print(text.trimEnd());
      writeNewFile(out, text, options);
      session.print(`Wrote ${out}. What only Coxswain has (placement, resume, restarts in place) is not in it.`);
    });
}

const EXAMPLES = `
The engine is rendered, and torchrun starts its program on each node. Claims and Secrets keep their names. coxswain import gives the job back.

Examples:
  coxswain export --as jobset examples/jobs/any-program.yaml --out jobset.yaml
  coxswain export --as sbatch examples/jobs/torchtitan.yaml
  coxswain export --as pytorchjob job.yaml | kubectl apply -f -`;
