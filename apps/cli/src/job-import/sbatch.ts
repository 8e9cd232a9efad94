/** A batch script of Slurm: its #SBATCH lines give the gang, and one of its commands the program. */
import { ObjectName } from '@coxswain/api-types';
import { ImportError } from './import-error.ts';
import type { ReportLine } from './import-report.ts';
import { tokensOf } from './imported-engine.ts';
import { withLaunchFile } from './launch-file.ts';
import { launchedJob, type LaunchOptions } from './launched-job.ts';
import type { ImportedJob } from './imported-job.ts';
import { asMaxRuntime, secondsOfSlurm } from './run-limits.ts';
import { programOfScript, type RankProgram } from './program.ts';

/** Whether the text is a batch script: it has lines for sbatch, or it is a script that starts ranks by a launcher. */
export function isBatchScript(text: string): boolean {
  if (/^#SBATCH\s/m.test(text)) return true;
  return (
    /^#!.*\b(?:ba|da|z)?sh\b/.test(text) &&
    /\b(?:torchrun|srun|deepspeed|mpirun|accelerate\s+launch|torch\.distributed\.(?:run|launch))\b/.test(text)
  );
}

const SHORT: Readonly<Record<string, string>> = {
  '-N': 'nodes',
  '-n': 'ntasks',
  '-G': 'gpus',
  '-J': 'job-name',
  '-c': 'cpus-per-task',
  '-t': 'time',
  '-p': 'partition',
  '-A': 'account',
  '-q': 'qos',
  '-o': 'output',
  '-e': 'error',
  '-C': 'constraint',
  '-w': 'nodelist',
  '-x': 'exclude',
  '-a': 'array',
  '-d': 'dependency',
  '-D': 'chdir',
};
const PLACED = 'Coxswain chooses the nodes of a gang itself, by NVLink domain and network';
const MAILED = 'projects get mail by a webhook: coxswain webhooks add mailto:ADDRESS --event job.ended';
const FATES: Readonly<Record<string, { readonly why: string; readonly todo?: string }>> = {
  time: { why: 'a limit of the time is from a minute to a year', todo: 'set spec.maxRuntimeSeconds' },
  partition: {
    why: PLACED,
    todo: 'where a partition means other GPUs or another network, a runtime selects its nodes (spec.runtimeRef); where it means a priority, name a PriorityClass in spec.priorityClassName',
  },
  constraint: {
    why: PLACED,
    todo: 'where it means other GPUs or another network, a runtime selects its nodes (spec.runtimeRef)',
  },
  nodelist: { why: PLACED },
  exclude: { why: PLACED, todo: 'where some nodes must not be used, an administrator cordons or taints them' },
  exclusive: { why: 'a pod has its GPUs for itself; with all GPUs of a node, the node' },
  account: { why: 'the project of the job is charged: coxswain --project NAME' },
  qos: {
    why: 'projects take turns, and a job with a higher priority goes first',
    todo: 'where it means a priority, name a PriorityClass in spec.priorityClassName',
  },
  output: { why: 'Coxswain keeps what every rank writes: coxswain logs JOB --rank N' },
  error: { why: 'Coxswain keeps what every rank writes: coxswain logs JOB --rank N' },
  'open-mode': { why: 'Coxswain keeps what every rank writes: coxswain logs JOB --rank N' },
  requeue: { why: 'Coxswain restarts the gang after a failure (spec.restartPolicy)' },
  'no-requeue': {
    why: 'Coxswain restarts the gang after a failure',
    todo: 'set restartPolicy.maxRestarts to 0, if a restart would do harm',
  },
  signal: {
    why: 'ranks get SIGTERM and then terminationGracePeriodSeconds (60) to save',
    todo: 'let the program save on SIGTERM',
  },
  array: { why: 'a job is one run', todo: 'submit one job for each index' },
  dependency: {
    why: 'a job does not wait for another one',
    todo: 'submit it when the other is complete; spec.resumeFrom continues from its checkpoint',
  },
  'mail-type': { why: MAILED },
  'mail-user': { why: MAILED },
  comment: { why: 'a job has labels, and no comment' },
};

interface Directive {
  readonly name: string;
  readonly value: string;
  readonly written: string;
}

/** The job of a batch script, and what became of its lines. Throws an {@link ImportError}. */
export function importBatchScript(text: string, options: LaunchOptions = {}): ImportedJob {
  const directives = directivesOf(text);
  const value = (name: string): string | undefined => directives.findLast((one) => one.name === name)?.value;
  const nodes = nodesOf(value('nodes'));
  const perNode = gpusPerNode(value, nodes) ?? options.gpusPerNode;
  const known = new Map<string, string>([
    ...given('SLURM_NNODES', nodes),
    ...given('SLURM_JOB_NUM_NODES', nodes),
    ...given('SLURM_GPUS_ON_NODE', perNode),
    ...given('SLURM_GPUS_PER_NODE', perNode),
    ...given('SLURM_NTASKS_PER_NODE', value('ntasks-per-node')),
    ...given('SLURM_NTASKS', value('ntasks')),
    ...given('SLURM_CPUS_PER_TASK', value('cpus-per-task')),
    ...given('SLURM_JOB_NAME', value('job-name')),
  ]);
  const { program: read, lines: ofFile } = withLaunchFile(
    programOfScript(text, known, 'the script'),
    options.readBeside,
  );
  const image = read.image ?? value('container-image');
  const program = image === undefined ? read : { ...read, image };
  const gang = gangOf({ program, nodes, perNode, value });
  const name = nameOf(options.name, value('job-name'), program);
  return launchedJob(
    {
      program,
      name,
      nodes: gang.nodes,
      ranksPerNode: gang.ranks,
      resources: resourcesOf(value, gang.ranks),
      ...limitOf(value('time')),
      from: 'the script',
    },
    options,
    [...gang.lines, ...directives.map((one) => lineOf(one, gang)), ...ofFile],
  );
}

function given(name: string, value: string | number | undefined): readonly (readonly [string, string])[] {
  return value === undefined ? [] : [[name, String(value)]];
}

function directivesOf(text: string): readonly Directive[] {
  return [...text.matchAll(/^#SBATCH[ \t]+(\S+?)(?:(?:=|[ \t]+)("[^"]*"|'[^']*'|\S+))?(?:[ \t]+#.*)?[ \t]*$/gm)].map(
    ([written, option = '', value = '']) => {
      const glued = /^(-[A-Za-z])(\S+)$/.exec(option);
      const isGlued = glued !== null && !option.startsWith('--');
      const name = isGlued ? (glued[1] ?? '') : option;
      return {
        name: SHORT[name] ?? name.replace(/^--?/, ''),
        value: (isGlued ? (glued[2] ?? '') : value).replaceAll(/^["']|["']$/g, ''),
        written: written.trim(),
      };
    },
  );
}

/** `4`, or the most of `2-4`. */
function nodesOf(text: string | undefined): number | undefined {
  const [, least, most = least] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text ?? '') ?? [];
  return most === undefined || Number(most) === 0 ? undefined : Number(most);
}

function gpusPerNode(value: (name: string) => string | undefined, nodes: number | undefined): number | undefined {
  const perNode = countIn(value('gpus-per-node')) ?? countIn(/gpu[^,]*/.exec(value('gres') ?? '')?.[0]);
  if (perNode !== undefined) return perNode;
  const perTask = countIn(value('gpus-per-task'));
  const tasks = Number(value('ntasks-per-node') ?? 0);
  if (perTask !== undefined && tasks > 0) return perTask * tasks;
  const all = countIn(value('gpus'));
  return all === undefined || nodes === undefined || all % nodes !== 0 ? undefined : all / nodes;
}

/** `8`, `a100:8`, `gpu:h100:8`, and 1 for `gpu`. */
function countIn(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const [, count] = /(?:^|:)(\d{1,4})(?:\([^)]*\))?$/.exec(text) ?? [];
  return count === undefined ? (/^gpu/.test(text) ? 1 : undefined) : Number(count) || undefined;
}

interface ReadGang {
  readonly nodes: number;
  readonly ranks: number;
  readonly lines: readonly ReportLine[];
}

function gangOf({
  program,
  nodes,
  perNode,
  value,
}: {
  readonly program: RankProgram;
  readonly nodes: number | undefined;
  readonly perNode: number | undefined;
  readonly value: (name: string) => string | undefined;
}): ReadGang {
  const { launcher } = program;
  const literalOf = (word: { text: string; isLiteral: boolean } | undefined): number | undefined =>
    word?.isLiteral === true && /^[1-9]\d{0,5}$/.test(word.text) ? Number(word.text) : undefined;
  const ofLauncher = literalOf(launcher?.nodes);
  const tasks = Number(value('ntasks') ?? 0) || undefined;
  const isPerTask = launcher === undefined || launcher.starter === 'srun';
  const taskNode = Number(value('ntasks-per-node') ?? 0) || undefined;
  const isPart = nodes !== undefined && ofLauncher !== undefined && ofLauncher < nodes;
  const count =
    (isPart ? ofLauncher : nodes) ??
    ofLauncher ??
    (tasks !== undefined && taskNode !== undefined ? Math.ceil(tasks / taskNode) : 1);
  const processes = literalOf(launcher?.processes);
  const share = processes !== undefined && processes % count === 0 ? processes / count : undefined;
  const own =
    literalOf(launcher?.processesPerNode) ?? (launcher?.starter === 'srun' && share === 1 ? undefined : share);
  const ofTasks = isPerTask
    ? (taskNode ?? (tasks !== undefined && tasks % count === 0 ? tasks / count : undefined))
    : undefined;
  const ranks = own ?? (ofTasks !== undefined && ofTasks > 1 ? ofTasks : undefined) ?? perNode ?? ofTasks;
  const lines: ReportLine[] = [];
  if (isPart)
    lines.push({
      outcome: 'changed',
      from: `${nodes} nodes`,
      to: `layout for ${count} ${count === 1 ? 'node' : 'nodes'}`,
      why: `the launcher of the program uses ${count} of them`,
      todo: 'see what the script does with the others',
    });
  if (ranks === undefined)
    lines.push({
      outcome: 'changed',
      from: 'GPUs of a node',
      to: 'resources.gpusPerNode 1',
      why: 'neither #SBATCH lines nor the launcher give a number that can be read here',
      todo: 'import again with --gpus-per-node N',
    });
  else if (perNode !== undefined && perNode !== ranks)
    lines.push({
      outcome: 'changed',
      from: `${perNode} GPUs of a node`,
      to: `resources.gpusPerNode ${ranks}`,
      why: `the launcher starts ${ranks} ranks on a node, and each rank has one GPU`,
      todo: 'see that this is what the program expects',
    });
  if (nodes === undefined && ofLauncher === undefined)
    lines.push({
      outcome: 'changed',
      from: 'number of nodes',
      to: `layout for ${count} ${count === 1 ? 'node' : 'nodes'}`,
      why: 'neither #SBATCH lines nor the launcher give a number that can be read here',
      todo: 'correct the degrees in layout: they multiply to the number of GPUs',
    });
  return { nodes: count, ranks: ranks ?? 1, lines };
}

function nameOf(option: string | undefined, ofScript: string | undefined, { words }: RankProgram): string {
  if (option !== undefined) {
    if (ObjectName.safeParse(option).success) return option;
    throw new ImportError(`"${option}" cannot be the name of a job: at most 63 lower-case letters, digits and "-".`);
  }
  const tokens = tokensOf(words, []);
  const script =
    tokens.find((word) => /\.(?:py|sh)$/.test(word)) ?? tokens.find((word) => /^[a-z]\w+(?:\.\w+)+$/.test(word));
  const fit = (ofScript ?? script ?? 'job')
    .replace(/^.*\//, '')
    .replace(/\.(?:py|sh)$/, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replaceAll(/^-+|-+$/g, '');
  return ObjectName.safeParse(fit).success ? fit : 'job';
}

/** Memory and processors of a rank, from those of a node or a task. */
function resourcesOf(
  value: (name: string) => string | undefined,
  ranks: number,
): { readonly cpu?: number; readonly memoryMebibytes?: number } {
  const cpus =
    Number(value('cpus-per-gpu') ?? 0) ||
    (Number(value('cpus-per-task') ?? 0) * Number(value('ntasks-per-node') ?? 1)) / ranks;
  const ofGpu = mebibytes(value('mem-per-gpu'));
  const ofNode = mebibytes(value('mem'));
  const memory = ofGpu ?? (ofNode === undefined ? undefined : Math.floor(ofNode / ranks));
  return {
    ...(cpus >= 1 ? { cpu: Math.floor(cpus) } : {}),
    ...(memory === undefined ? {} : { memoryMebibytes: memory }),
  };
}

/** Slurm counts in MiB; 0 is all memory of the node. */
function mebibytes(text: string | undefined): number | undefined {
  const [, amount, unit = 'M'] = /^(\d{1,9})([KMGT]?)B?$/i.exec(text ?? '') ?? [];
  if (amount === undefined || Number(amount) === 0) return undefined;
  const factor = { K: 1 / 1024, M: 1, G: 1024, T: 1024 * 1024 }[unit.toUpperCase() || 'M'] ?? 1;
  return Math.floor(Number(amount) * factor) || undefined;
}

function limitOf(time: string | undefined): { readonly maxRuntimeSeconds?: number } {
  const maxRuntimeSeconds = asMaxRuntime(secondsOfSlurm(time ?? ''));
  return maxRuntimeSeconds === undefined ? {} : { maxRuntimeSeconds };
}

function lineOf({ name, value, written }: Directive, { nodes, ranks }: ReadGang): ReportLine {
  if (name === 'nodes')
    return { outcome: 'changed', from: written, to: `layout: ${nodes} x ${ranks} ranks`, why: 'one pod on each node' };
  if (/^(?:gpus-per-node|gres|gpus|gpus-per-task|ntasks-per-node|ntasks)$/.test(name))
    return { outcome: 'changed', from: written, to: `resources.gpusPerNode ${ranks}`, why: 'one rank per GPU' };
  const { maxRuntimeSeconds } = name === 'time' ? limitOf(value) : {};
  if (maxRuntimeSeconds !== undefined)
    return {
      outcome: 'changed',
      from: written,
      to: `maxRuntimeSeconds ${maxRuntimeSeconds}`,
      why: 'it counts the time for which a run holds GPUs, over its restarts',
    };
  if (name === 'job-name') return { outcome: 'taken', from: written, to: 'name' };
  if (/^(?:cpus-per-task|cpus-per-gpu)$/.test(name))
    return { outcome: 'changed', from: written, to: 'resources.cpuPerGpu', why: 'the share of each rank' };
  if (/^(?:mem|mem-per-gpu)$/.test(name) && mebibytes(value) !== undefined)
    return { outcome: 'changed', from: written, to: 'resources.memoryPerGpu', why: 'the share of each rank' };
  if (name === 'chdir')
    return {
      outcome: 'left',
      from: written,
      why: 'directories of the login node are not in the pods',
      todo: 'name the directory of the image with cd in engine.command',
    };
  const fate = Object.hasOwn(FATES, name) ? FATES[name] : undefined;
  return { outcome: 'left', from: written, ...(fate ?? { why: 'it is an option of Slurm alone' }) };
}
