/** The job of a gang: pods that are all alike, each with a program that is started once per GPU. */
import { JobCreate, ObjectName, plainSecrets } from '@coxswain/api-types';
import { isRendezvous, readVariables } from './environment.ts';
import { ImportError } from './import-error.ts';
import { IMAGE_TO_NAME } from './imported-job.ts';
import type { ImportReport } from './import-report.ts';
import { importedEngine, type ImportedEngine } from './imported-engine.ts';
import type { PodView } from './pod.ts';
import { rankProgram, type RankProgram } from './program.ts';
import { gpusOfPod, resourcesOf } from './resources.ts';
import { readRunLimits } from './run-limits.ts';
import { runtimeOfPod, type WrittenRuntime } from './runtime-of-pod.ts';
import { shownLayout } from './shown-layout.ts';
import type { ShellWord } from './shell-words.ts';
import type { Source } from './source.ts';
import { readVolumes, withMovedPaths } from './volumes.ts';
import type { WrittenJob } from './written-job.ts';
import { problemsInJob } from './problems-in-job.ts';

/** Options that override the file. */
export interface ImportOptions {
  readonly name?: string;
  readonly image?: string;
}

/** What all imported kinds have in common: a pod template, a number of nodes and a limit of restarts. */
export interface Gang {
  /** `metadata` of what is imported. */
  readonly metadata: Source;
  readonly pod: PodView;
  readonly nodes: number;
  /** Where the number of nodes stands. */
  readonly nodesFrom: readonly Source[];
  /** Where a number of processes per node may stand, the first that is there goes before the others. */
  readonly processes: readonly Source[];
  readonly restarts: Restarts;
  readonly suspend: Source;
  /** Where a limit of its time may stand; the first that is there counts. Absent: nowhere. */
  readonly deadlines?: readonly Source[];
  /** Where a priority class may stand beside that of its pods. Absent: nowhere. */
  readonly classes?: readonly Source[];
}

/** An imported job, and the runtime that its pods need where no shipped one has it. */
export interface MadeJob {
  readonly job: WrittenJob;
  readonly runtime?: WrittenRuntime;
}

/** The fields that limit restarts of the job. */
export interface Restarts {
  readonly isNever: boolean;
  readonly limits: readonly Source[];
}

/** The job as a user would write it, without fields that have their default. Throws an {@link ImportError}. */
export function gangJob(gang: Gang, options: ImportOptions, report: ImportReport): MadeJob {
  const { pod, metadata } = gang;
  const name = nameOf(metadata, options, report);
  const { env, secretEnv } = readVariables(pod.env, name, report);
  const program = programOf(pod, env);
  const ranksPerPod = ranksOf(gang, program, report);
  const resources = resourcesOf(pod.resources, ranksPerPod, report);
  const { data, checkpoint, scratch, secretFiles, moved } = readVolumes(pod, report);
  const words = program.words.map((word) => withMovedPaths(word, moved));
  refuseCredentials(words, program.env, pod.command);
  const directory = program.directory ?? workingDirOf(pod, report) ?? '';
  const command = inDirectory(words, withMovedPaths(directory, moved));
  const set = program.env.filter(
    (one) => !isRendezvous(one.name) && !env.some(({ name: other }) => other === one.name),
  );
  const variables = [...set, ...env].map((one) => ({ ...one, value: withMovedPaths(one.value, moved) }));
  const from = pod.command.isThere ? pod.command.path : 'command';
  const read = importedEngine({
    words: command,
    variables,
    ranks: gang.nodes * ranksPerPod,
    ranksPerNode: ranksPerPod,
    from,
  });
  const { name: engine, ...started } = read.engine;
  report.add(...read.lines, ...program.notes.map((note) => ({ outcome: 'left', ...note }) as const));
  reportLayout(gang, read, ranksPerPod, report);
  const maxRestarts = maxRestartsOf(gang.restarts, program, report);
  const grace = graceOf(pod.grace, report);
  report.taken(gang.suspend, 'suspend');
  const classes = [...(gang.classes ?? []), ...pod.parts.map(({ spec }) => spec.at('priorityClassName'))];
  const limits = readRunLimits(
    { deadlines: gang.deadlines ?? [], classes: classes.filter((one) => one.isThere) },
    report,
  );
  const place = placeOf(metadata, report);
  const runtime = runtimeOfPod(pod, { name, namespace: place.namespace }, report);
  reportPullSecrets(pod, place.namespace, report);
  const job = validJob({
    name,
    ...place,
    spec: {
      engine: {
        name: engine,
        image: imageOf(pod.image, options, report),
        ...started,
        ...(variables.length === 0 ? {} : { env: variables }),
        ...(secretEnv.length === 0 ? {} : { secretEnv: [...secretEnv] }),
        ...(secretFiles.length === 0 ? {} : { secretFiles }),
      },
      ...(runtime === undefined ? {} : { runtimeRef: runtime.runtimeRef }),
      ...(data === undefined ? {} : { data }),
      layout: read.layout,
      ...limits,
      resources,
      ...(scratch === undefined ? {} : { scratch }),
      ...(checkpoint === undefined ? {} : { checkpoint }),
      ...(maxRestarts === undefined ? {} : { restartPolicy: { maxRestarts } }),
      ...(grace === undefined ? {} : { terminationGracePeriodSeconds: grace }),
      ...(gang.suspend.flag() === true ? { suspend: true } : {}),
    },
  });
  return { job, ...(runtime?.written === undefined ? {} : { runtime: runtime.written }) };
}

function validJob(job: WrittenJob): WrittenJob {
  const problems = problemsInJob(job);
  if (problems === undefined) return job;
  throw new ImportError(`The file contains values that a job does not allow:\n${problems}`);
}

function nameOf(metadata: Source, { name }: ImportOptions, report: ImportReport): string {
  const [own, prefix] = [metadata.at('name'), metadata.at('generateName')];
  const from = own.isThere ? own : prefix;
  const text = name ?? from.text();
  if (text === undefined) throw new ImportError('The file gives the job no name; give one with --name.');
  if (name !== undefined) report.changed(from, `name ${name}`, { why: 'set by --name' });
  if (ObjectName.safeParse(text).success) {
    if (name === undefined) report.taken(own, `name ${text}`);
    return text;
  }
  const fit = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replaceAll(/^-+|-+$/g, '');
  if (name !== undefined || fit === '')
    throw new ImportError(
      `"${text}" cannot be the name of a job: at most 63 lower-case letters, digits and "-", beginning and ending with a letter or digit. Give another with --name.`,
    );
  report.changed(from, `name ${fit}`, { why: 'names of jobs have at most 63 lower-case letters, digits and "-"' });
  return fit;
}

/** Labels that configure other systems for their own objects. */
const OF_OTHERS =
  /^(?:kueue\.x-k8s\.io|scheduling\.volcano\.sh|volcano\.sh|kai\.scheduler|trainer\.kubeflow\.org|training\.kubeflow\.org)\//;

/** Namespace and labels; a label that a job may not have is left. */
function placeOf(metadata: Source, report: ImportReport): Pick<WrittenJob, 'namespace' | 'labels'> {
  const namespace = metadata.at('namespace');
  const labels = metadata
    .at('labels')
    .entries()
    .flatMap(([key, value]) => {
      const isFit = !OF_OTHERS.test(key) && JobCreate.shape.labels.safeParse({ [key]: value.value }).success;
      if (isFit) report.taken(value, `labels ${key}`);
      return isFit ? [[key, value.text() ?? ''] as const] : [];
    });
  report.taken(namespace, 'namespace');
  return {
    ...(namespace.isThere ? { namespace: namespace.text() ?? '' } : {}),
    ...(labels.length === 0 ? {} : { labels: Object.fromEntries(labels) }),
  };
}

function imageOf(from: Source, { image }: ImportOptions, report: ImportReport): string {
  const text = image ?? from.text();
  if (text === undefined) {
    report.add({
      outcome: 'changed',
      from: 'image',
      to: `engine.image ${IMAGE_TO_NAME}`,
      why: 'it names no container image; the runtime of a TrainJob often does',
      todo: 'import again with --image IMAGE, or with the runtime in the same file',
    });
    return IMAGE_TO_NAME;
  }
  if (image === undefined) report.taken(from, 'engine.image');
  else report.changed(from, `engine.image ${image}`, { why: 'set by --image' });
  return text;
}

function programOf(
  { command, args }: PodView,
  env: readonly { readonly name: string; readonly value: string }[],
): RankProgram {
  const words = [...command.items(), ...args.items()].map((word) => word.textOrNumber() ?? '');
  const [first] = command.items();
  if (first === undefined)
    throw new ImportError(
      `${command.path === '' ? 'The container' : command.path} names no program; the image starts its own ENTRYPOINT, which this command cannot read. Write the program and its arguments into command.`,
    );
  return rankProgram(
    words,
    args.items().length > 0 && /^-[a-z]*c$/.test(words.at(command.items().length - 1) ?? '') ? args.path : command.path,
    new Map(env.map(({ name, value }) => [name, value])),
  );
}

/** Pods pull images by the service account of the namespace. */
function reportPullSecrets({ parts }: PodView, namespace: string | undefined, report: ImportReport): void {
  for (const { spec } of parts) {
    const secrets = spec.at('imagePullSecrets');
    const names = secrets.items().flatMap((one) => one.at('name').text() ?? []);
    if (names.length === 0) continue;
    const patch = JSON.stringify({ imagePullSecrets: names.map((one) => ({ name: one })) });
    report.left(secrets, {
      why: 'pods of a job use the service account "default" of the namespace',
      todo: `let it have them, if it does not yet: kubectl ${namespace === undefined ? '' : `-n ${namespace} `}patch serviceaccount default -p '${patch}'`,
    });
  }
}

/** Ranks per pod: as torchrun's options say, else one per GPU; and what that means for the program. */
function ranksOf({ pod, processes, nodes }: Gang, program: RankProgram, report: ImportReport): number {
  const gpus = gpusOfPod(pod.resources);
  const { launcher } = program;
  const own = launcher?.processesPerNode;
  const declared = processes.find((source) => source.isThere);
  const asked =
    numberOf(own?.isLiteral === true ? own.text : undefined) ??
    perNode(launcher?.processes, nodes) ??
    numberOf(declared?.textOrNumber());
  const ranks = (launcher === undefined ? undefined : asked) ?? Math.max(1, gpus);
  for (const source of processes) {
    if (numberOf(source.textOrNumber()) === ranks) report.taken(source, `resources.gpusPerNode ${ranks}`);
    else report.changed(source, `resources.gpusPerNode ${ranks}`, { why: 'one rank per GPU' });
  }
  if (gpus === 0)
    report.changed(pod.resources.isThere ? pod.resources : pod.command, `resources.gpusPerNode ${ranks}`, {
      why: 'it asks for no GPU, and each rank of a job takes one',
    });
  reportProgram({ pod, program, ranks, nodes }, report);
  return ranks;
}

/** Of processes in all, the share of a node. */
function perNode(processes: ShellWord | undefined, nodes: number): number | undefined {
  const all = numberOf(processes?.isLiteral === true ? processes.text : undefined);
  return all === undefined || all % nodes !== 0 ? undefined : all / nodes;
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,5}$/.test(text) ? Number(text) : undefined;
}

interface Started {
  readonly pod: PodView;
  readonly program: RankProgram;
  readonly ranks: number;
  readonly nodes: number;
}

function reportProgram({ pod: { command, args }, program, ranks, nodes }: Started, report: ImportReport): void {
  const { launcher, script, words } = program;
  const isReplaced = words.some((word) => /\$\([A-Za-z_]\w*\)/.test(word));
  const expansion = isReplaced
    ? ['Kubernetes replaced $(NAME) in it, and Coxswain does not: let a shell or the program read NAME']
    : [];
  const files = script === undefined ? [] : [`if ${script} starts ranks itself, name their program instead`];
  const todo = [...expansion, ...files].join('; ');
  const note = (why: string): { why: string; todo?: string } => ({ why, ...(todo === '' ? {} : { todo }) });
  const parts = [command, args];
  if (launcher !== undefined) {
    for (const part of parts)
      report.changed(
        part,
        'engine.command',
        note(`the program alone: Coxswain starts it once per GPU, without ${launcher.starter}`),
      );
    for (const { option, why } of launcher.ignored) report.option(command, option, why);
    if (launcher.nodes?.isLiteral === true && Number(launcher.nodes.text) !== nodes)
      report.option(
        command,
        `--nnodes ${launcher.nodes.text}`,
        `the job has ${nodes} ${nodes === 1 ? 'node' : 'nodes'}, from the number of its pods`,
      );
  } else if (ranks > 1) {
    const once = `it was started once in each pod, and is started once per GPU: ${ranks} times in each pod`;
    for (const part of parts)
      report.changed(part, 'engine.command', {
        why: once,
        todo: ['see that it uses the GPU of LOCAL_RANK and starts no ranks itself', todo].filter(Boolean).join('; '),
      });
  } else {
    for (const part of parts) {
      if (todo === '') report.taken(part, 'engine.command');
      else report.changed(part, 'engine.command', { why: 'it is started once per GPU', todo });
    }
  }
}

function refuseCredentials(words: readonly string[], env: RankProgram['env'], command: Source): void {
  const [found] = plainSecrets({ command: [...words], env: [...env] });
  if (found === undefined) return;
  throw new ImportError(
    `A word of ${command.path} (or of its args) ${found.message.split(';')[0] ?? ''}, and everyone who may read the job could read it. Let the program read it from a variable, set that variable in env, and import again.`,
  );
}

function workingDirOf({ workingDir }: PodView, report: ImportReport): string | undefined {
  report.changed(workingDir, 'engine.command', { why: 'a shell goes there first; a job has no word for it' });
  return workingDir.text();
}

function inDirectory(words: readonly string[], directory: string): readonly string[] {
  return directory === '' ? words : ['sh', '-c', 'cd "$0" && exec "$@"', directory, ...words];
}

function reportLayout(
  { nodes, nodesFrom }: Gang,
  { layout }: ImportedEngine,
  ranksPerPod: number,
  report: ImportReport,
): void {
  const isDivided = nodes * ranksPerPod !== layout.dataParallelDegree;
  const why = `${nodes} ${nodes === 1 ? 'pod' : 'pods'} x ${ranksPerPod} ranks${isDivided ? '; divided as the program divides its ranks, so that placement keeps ranks close that communicate most' : ''}`;
  for (const source of nodesFrom) report.changed(source, shownLayout(layout), { why });
}

/** The greatest of all limits; undefined where none is given: then the default of jobs holds. */
function maxRestartsOf(
  { isNever, limits }: Restarts,
  { launcher }: RankProgram,
  report: ImportReport,
): number | undefined {
  const ofLauncher = launcher?.maxRestarts?.isLiteral === true ? numberOf(launcher.maxRestarts.text) : undefined;
  const given = [...limits.map((limit) => limit.count()), ofLauncher].filter((limit) => limit !== undefined);
  const most = isNever ? 0 : given.length === 0 ? undefined : Math.min(1000, Math.max(...given));
  for (const limit of limits) {
    if (limit.count() === most) report.taken(limit, `restartPolicy.maxRestarts ${most}`);
    else
      report.changed(limit, `restartPolicy.maxRestarts ${most ?? 3}`, {
        why: isNever ? 'restartPolicy is Never' : 'the gang has one budget of restarts, at most 1000',
      });
  }
  return most;
}

function graceOf(grace: Source, report: ImportReport): number | undefined {
  const seconds = grace.count();
  if (seconds === undefined) return undefined;
  const bounded = Math.min(3600, Math.max(1, seconds));
  if (bounded === seconds) report.taken(grace, 'terminationGracePeriodSeconds');
  else report.changed(grace, `terminationGracePeriodSeconds ${bounded}`, { why: 'it is from 1 to 3600' });
  return bounded;
}
