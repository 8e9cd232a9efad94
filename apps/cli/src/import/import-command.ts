import type { Command } from 'commander';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Document } from 'yaml';
import { CliError } from '../cli-error.ts';
import { fileError } from '../files/file-error.ts';
import { readDocument } from '../files/read-document.ts';
import { ImportError } from '../job-import/import-error.ts';
import { importFile } from './import-file.ts';
import { RECOGNISED } from '../job-import/import-job.ts';
import type { ImportedJob } from '../job-import/imported-job.ts';
import type { ReportLine } from '../job-import/import-report.ts';
import { importTorchrunLine } from '../job-import/torchrun-line.ts';
import { jobYaml } from '../job-files/job-yaml.ts';
import { render, yamlText } from '../output/output.ts';
import type { Session } from '../session/session.ts';
import { wholeNumber } from '../options/whole-number.ts';
import { writeNewFile } from '../files/write-file.ts';

interface ImportCommandOptions {
  readonly torchrun?: string;
  readonly out?: string;
  readonly force?: true;
  readonly name?: string;
  readonly image?: string;
  readonly gpusPerNode?: number;
  readonly nodes?: number;
  readonly program?: string;
  readonly runtimeOut?: string;
}

const STANDARD_OUTPUT = '-';

/** `coxswain import`: a job of another system as a job file, and what became of each of its fields. */
export function addImportCommand(program: Command, session: Session): void {
  program
    .command('import [file]')
    .description(
      'convert a job of another system (Slurm, Kubeflow, JobSet, Volcano, Accelerate, …) to a job file; works offline',
    )
    .option(
      '--torchrun <line>',
      'command line to convert, instead of a file: torchrun, accelerate launch, deepspeed, …',
    )
    .option('--out <file>', 'file to write the job to (default: standard output; the report goes to standard error)')
    .option('--runtime-out <file>', 'file to write the runtime to that the pods need, if they need one of their own')
    .option('--force', 'overwrite the files if they exist')
    .option('--name <name>', 'name of the job, instead of the one in the file')
    .option('--image <image>', 'container image, instead of the one in the file; required with --torchrun')
    .option('--gpus-per-node <count>', 'GPUs per node, if the line, script or configuration has no number', wholeNumber)
    .option('--nodes <count>', 'nodes, if a configuration file has no number', wholeNumber)
    .option('--program <command>', 'the program that a configuration file is for: python3 train.py --lr 1e-4')
    .addHelpText('after', EXAMPLES)
    .action((file: string | undefined, options: ImportCommandOptions) => {
      const imported = inPlainWords(file ?? 'the line', () => read(file, options));
      const { out = STANDARD_OUTPUT } = options;
      const yaml = jobYaml(
        imported.job,
        `Imported from ${sourceName(file)}; the report lists what was changed and what was left out.`,
      );
      if (out !== STANDARD_OUTPUT) writeNewFile(out, yaml, options);
      if (options.runtimeOut !== undefined) writeRuntime(options.runtimeOut, imported, options);
      const format = session.outputFormat();
      if (format !== 'table') return session.print(render(imported, format, () => ''));
      if (out === STANDARD_OUTPUT) session.print(yaml.trimEnd());
      session.printError(reportText(imported.report, out));
    });
}

function sourceName(file: string | undefined): string {
  if (file === undefined) return 'a line of torchrun';
  return file === STANDARD_OUTPUT ? 'standard input' : file.replaceAll(/\s+/g, ' ');
}

/** The runtime that the job refers to, for an administrator to check and apply. */
function writeRuntime(path: string, { runtime }: ImportedJob, options: ImportCommandOptions): void {
  if (runtime === undefined)
    throw new CliError(`The job needs no runtime of its own, so ${path} was not written; leave --runtime-out out.`);
  const document = new Document(runtime);
  document.commentBefore =
    ' What the pods of an imported job had beyond it. Check it: devices, directories of the node and rights are those of the old cluster.';
  writeNewFile(path, yamlText(document, { lineWidth: 0 }), options);
}

function read(file: string | undefined, options: ImportCommandOptions): ImportedJob {
  const { torchrun, gpusPerNode, name, image, nodes, program } = options;
  if ((file === undefined) === (torchrun === undefined))
    throw new CliError('Give either a file (- is standard input) or --torchrun LINE.');
  const given = Object.fromEntries(
    Object.entries({ name, image, gpusPerNode }).filter(([, value]) => value !== undefined),
  ) as { readonly name?: string; readonly image?: string; readonly gpusPerNode?: number };
  if (torchrun !== undefined) return importTorchrunLine(torchrun, given);
  return importFile(readText(file ?? ''), {
    ...given,
    ...(file === undefined || file === STANDARD_OUTPUT ? {} : { file, readBeside: readerBeside(file) }),
    ...(nodes === undefined ? {} : { nodes }),
    ...(program === undefined ? {} : { program }),
  });
}

/** Adds the name of the file to a rejection. */
function inPlainWords<T>(source: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof ImportError)
      throw new CliError(`${source === STANDARD_OUTPUT ? 'standard input' : source}: ${error.message}`);
    throw error;
  }
}

/** Reads documents that an imported script names by a path: relative ones from the folder of the script. undefined: there is none of at most 2 MiB. */
function readerBeside(file: string): (path: string) => unknown {
  return (path) => {
    try {
      return readDocument(resolve(dirname(file), path));
    } catch {
      return undefined;
    }
  };
}

function readText(path: string): string {
  try {
    return readFileSync(path === STANDARD_OUTPUT ? 0 : path, 'utf8');
  } catch (error) {
    throw fileError('read', path, error);
  }
}

const TITLES: Readonly<Record<ReportLine['outcome'], string>> = {
  taken: 'Taken over',
  changed: 'Changed',
  left: 'Not taken',
};

/** What became of each field, and what to do next. */
export function reportText(report: readonly ReportLine[], out: string): string {
  const parts = (['taken', 'changed', 'left'] as const).flatMap((outcome) => {
    const lines = report.filter((line) => line.outcome === outcome);
    const text = [...Map.groupBy(lines, sayingOf).values()].flatMap(groupText);
    return lines.length === 0 ? [] : [`${TITLES[outcome]} (${lines.length})`, ...text, ''];
  });
  const toDo = report.filter(({ todo }) => todo !== undefined).length;
  const things = toDo === 0 ? '' : ` Lines with "▸" (${toDo}) are for you to check.`;
  const next = out === STANDARD_OUTPUT ? '' : ` Then: coxswain submit -f ${out}`;
  return [...parts, `Nothing was submitted.${things}${next}`].join('\n');
}

/** The note on a field; fields with the same note are grouped. */
function sayingOf({ to, why, todo }: ReportLine): string {
  return [to, why, todo].join('\n');
}

function groupText(group: readonly ReportLine[]): readonly string[] {
  const [{ to, why, todo } = {}] = group;
  const paths = group.map(({ from }) => `  ${shortPath(from)}`);
  return [
    ...paths.slice(0, -1),
    `${paths.at(-1) ?? ''}${to === undefined ? '' : ` → ${to}`}`,
    ...(why === undefined ? [] : [`      ${why}`]),
    ...(todo === undefined ? [] : [`    ▸ ${todo}`]),
  ];
}

/** Paths below a pod begin with the pod: what stands before it is long, and the same for all. */
function shortPath(path: string): string {
  return path
    .replace(/^spec\.pytorchReplicaSpecs\.(\w+)\.template\.spec\./, '$1 pod: ')
    .replace(
      /^(?:spec\.)?(runtime\d*|runtimePatches\[\d+\])\.(?:spec|trainingRuntimeSpec)\.template\.spec\.replicatedJobs\[\d+\]\.template\.spec\.template\.spec\./,
      '$1 pod: ',
    );
}

const EXAMPLES = `
A file is recognised by its content: ${RECOGNISED}.
Nothing is submitted, and values that look like credentials are not written.

Examples:
  coxswain import train.sbatch --image ghcr.io/me/train:1 --out job.yaml
  coxswain import pytorchjob.yaml --out job.yaml --runtime-out runtime.yaml
  kubectl get pytorchjob llm -o yaml | coxswain import - --out llm.yaml
  helm template ./chart -f values.yaml | coxswain import - --out job.yaml
  coxswain import accelerate.yaml --program 'python3 sft.py' --image ghcr.io/me/train:1 --out job.yaml
  coxswain import --torchrun 'torchrun --nnodes 2 --nproc-per-node 8 train.py --lr 1e-4' --image ghcr.io/me/train:1`;
