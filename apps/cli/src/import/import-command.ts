import type { Command } from 'commander';
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { CliError } from '../cli-error.ts';
import { ImportError } from '../job-import/import-error.ts';
import { importJob, type ImportedJob } from '../job-import/import-job.ts';
import type { ReportLine } from '../job-import/import-report.ts';
import { importTorchrunLine } from '../job-import/torchrun-line.ts';
import { jobYaml } from '../job-files/job-yaml.ts';
import { render } from '../output/output.ts';
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
}

const STANDARD_OUTPUT = '-';

/** `coxswain import`: a job of another system as a job file, and what became of each of its fields. */
export function addImportCommand(program: Command, session: Session): void {
  program
    .command('import [file]')
    .description('convert a Kubeflow PyTorchJob or TrainJob, or a torchrun command line, to a job file; works offline')
    .option('--torchrun <line>', 'torchrun command line to convert, instead of a file')
    .option('--out <file>', 'file to write the job to (default: standard output; the report goes to standard error)')
    .option('--force', 'overwrite the file if it exists')
    .option('--name <name>', 'name of the job, instead of the one in the file')
    .option('--image <image>', 'container image, instead of the one in the file; required with --torchrun')
    .option('--gpus-per-node <count>', 'GPUs per node, if the torchrun line has --nproc-per-node gpu', wholeNumber)
    .addHelpText('after', EXAMPLES)
    .action((file: string | undefined, options: ImportCommandOptions) => {
      const imported = inPlainWords(file ?? 'the line', () => read(file, options));
      const { out = STANDARD_OUTPUT } = options;
      const yaml = jobYaml(
        imported.job,
        `Imported from ${sourceName(file)}; the report lists what was changed and what was left out.`,
      );
      if (out !== STANDARD_OUTPUT) writeNewFile(out, yaml, options);
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

function read(file: string | undefined, { torchrun, gpusPerNode, ...options }: ImportCommandOptions): ImportedJob {
  if ((file === undefined) === (torchrun === undefined))
    throw new CliError('Give either a file (- is standard input) or --torchrun LINE.');
  if (torchrun !== undefined)
    return importTorchrunLine(torchrun, { ...options, ...(gpusPerNode === undefined ? {} : { gpusPerNode }) });
  if (gpusPerNode !== undefined)
    throw new CliError('--gpus-per-node is only for --torchrun; in a file the resources name the GPUs.');
  return importJob(readDocuments(file ?? ''), options);
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

/** The documents of a YAML or JSON file. */
function readDocuments(path: string): readonly unknown[] {
  try {
    const documents = parseAllDocuments(readFileSync(path === STANDARD_OUTPUT ? 0 : path, 'utf8'));
    if (!Array.isArray(documents)) return [];
    const wrong = documents.flatMap(({ errors }) => errors)[0];
    if (wrong !== undefined) throw new CliError(`${path} is neither YAML nor JSON: ${wrong.message}`);
    return documents.map((document) => document.toJS() as unknown);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`Cannot read ${path}: ${(error as Error).message}`);
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
Known are kubeflow.org/v1 PyTorchJob, trainer.kubeflow.org/v1alpha1 TrainJob (with its runtime, where that is in the same file), and
torchrun or python -m torch.distributed.run. Nothing is submitted, and values that look like credentials are not written.

Examples:
  coxswain import pytorchjob.yaml --out job.yaml
  kubectl get pytorchjob llm -o yaml | coxswain import - --out llm.yaml
  coxswain import trainjob.yaml 2> report.txt | coxswain submit -f -
  coxswain import --torchrun 'torchrun --nnodes 2 --nproc-per-node 8 train.py --lr 1e-4' --image ghcr.io/me/train:1`;
