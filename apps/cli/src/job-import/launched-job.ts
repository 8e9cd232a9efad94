/** The job of a program that a script, a line or a configuration file describes, where no pod does. */
import { plainSecrets, type TrainingJobSpecInput } from '@coxswain/api-types';
import { isRendezvous } from './environment.ts';
import { ImportError } from './import-error.ts';
import { importedEngine, tokensOf } from './imported-engine.ts';
import { IMAGE_TO_NAME, type ImportedJob } from './imported-job.ts';
import type { ReportLine } from './import-report.ts';
import { nodePathLines } from './node-paths.ts';
import type { RankProgram } from './program.ts';
import { shownLayout } from './shown-layout.ts';
import type { WrittenJob } from './written-job.ts';
import { problemsInJob } from './problems-in-job.ts';

/** What a file itself does not have, from the command line. */
export interface LaunchOptions {
  readonly name?: string;
  readonly image?: string;
  readonly gpusPerNode?: number;
  /** Number of nodes, where the file does not have it. */
  readonly nodes?: number;
  /** Path of the file, for files that the program itself reads. */
  readonly file?: string;
  /** The document in another file, by its path as the imported file writes it; undefined if it cannot be read. */
  readonly readBeside?: (path: string) => unknown;
  /** The program, where the file only configures it. */
  readonly program?: string;
}

/** A program and its gang. */
export interface Launch {
  readonly program: RankProgram;
  readonly name: string;
  readonly nodes: number;
  readonly ranksPerNode: number;
  readonly maxRuntimeSeconds?: number;
  readonly resources?: { readonly cpu?: number; readonly memoryMebibytes?: number };
  /** Where the program stands. */
  readonly from: string;
}

type Variable = { readonly name: string; readonly value: string };

/** The job, with its lines before those of the file. */
export function launchedJob(launch: Launch, options: LaunchOptions, lines: readonly ReportLine[] = []): ImportedJob {
  const { program, name, nodes, ranksPerNode, from } = launch;
  const image = imageOf(program, options);
  const { env, secretEnv, secrets } = environmentOf(program.env, name);
  const directory = program.directory;
  const words =
    directory === undefined ? program.words : ['sh', '-c', 'cd "$0" && exec "$@"', directory, ...program.words];
  refuseCredentials(words, from);
  const read = importedEngine({
    ...{ words, variables: env, ranks: nodes * ranksPerNode, ranksPerNode, from },
    readBeside: options.readBeside,
  });
  const { name: engine, ...started } = read.engine;
  const job: WrittenJob = {
    name,
    spec: {
      engine: {
        name: engine,
        image: image.name,
        ...started,
        ...(env.length === 0 ? {} : { env: [...env] }),
        ...(secretEnv.length === 0 ? {} : { secretEnv: [...secretEnv] }),
      },
      layout: read.layout,
      ...(launch.maxRuntimeSeconds === undefined ? {} : { maxRuntimeSeconds: launch.maxRuntimeSeconds }),
      resources: resourcesOf(launch),
    },
  };
  const problems = problemsInJob(job);
  if (problems !== undefined) throw new ImportError(`It makes no valid job:\n${problems}`);
  const { launcher } = program;
  const report: ReportLine[] = [
    ...image.lines,
    {
      outcome: 'changed',
      from: launcher?.starter ?? 'the program',
      to: 'engine.command',
      why:
        launcher === undefined
          ? 'Coxswain starts it once per GPU'
          : `the program alone: Coxswain starts it once per GPU, without ${launcher.starter}`,
    },
    {
      outcome: 'changed',
      from: `${nodes} x ${ranksPerNode} ranks`,
      to: shownLayout(read.layout),
      why: 'the product of the degrees is the number of GPUs',
    },
    ...env.map(variableLine),
    ...secrets,
    ...lines,
    ...networkLines(nodes, env),
    ...read.lines,
    ...scriptLines(program, words),
    ...nodePathLines(words, env, program.notes),
    ...program.notes.map((note): ReportLine => ({ outcome: 'left', ...note })),
    ...(launcher?.ignored ?? []).map(({ option, why }): ReportLine => ({ outcome: 'left', from: option, why })),
  ];
  return { job, report: inOrder(report) };
}

/** Names that a pod without the network of its node has as well, and lists of what is excluded. */
const IN_EVERY_POD = /(?:^=?|,)eth0?(?:,|$)|^\^/;

/** A variable is taken over as it is; the name of a network interface of the nodes is to be checked. */
function variableLine({ name, value }: Variable): ReportLine {
  const taken = { outcome: 'taken', from: `${name}=…`, to: `engine.env ${name}` } as const;
  if (!/_SOCKET_IFNAME$/.test(name) || IN_EVERY_POD.test(value)) return taken;
  return {
    ...taken,
    outcome: 'changed',
    from: `${name}=${value}`,
    why: `pods usually have the interface eth0; they have ${value} only if a runtime gives it to them, and otherwise NCCL and Gloo find no interface`,
    todo: `remove ${name} from engine.env if the runtime of your cluster sets it or does not give ${value} to pods`,
  };
}

/** A script that is named by a relative path lay on the nodes if nothing named a container image. */
function scriptLines({ image }: RankProgram, words: readonly string[]): readonly ReportLine[] {
  const script = tokensOf(words, []).find((word) => /^[\w.][\w./-]*\.py$/.test(word));
  if (image !== undefined || script === undefined) return [];
  return [
    {
      outcome: 'changed',
      from: script,
      to: 'engine.command',
      why: 'no container image is named beside it, so it lay on the nodes; a pod looks for it in the working directory of its image',
      todo: `ship its directory with the job (coxswain submit -f job.yaml --workdir DIRECTORY), or see that the image has ${script} there, with what it imports`,
    },
  ];
}

/** Nodes of the old system gave their network to every process; pods have it by a runtime. */
export function networkLines(nodes: number, env: readonly Variable[]): readonly ReportLine[] {
  if (nodes < 2) return [];
  const said = env.map(({ name, value }) => `${name}=${value}`).join(' ');
  const file = /\befa\b|FI_EFA/i.test(said)
    ? 'efa.yaml'
    : /NCCL_IB|UCX_NET|mlx5/.test(said)
      ? 'rdma-shared.yaml'
      : undefined;
  return [
    {
      outcome: 'changed',
      from: 'the network of the nodes',
      to: 'runtimeRef',
      why: `pods get InfiniBand, RoCE or EFA by a runtime alone; without one NCCL uses TCP between the ${nodes} nodes`,
      todo: `name the runtime of your cluster in spec.runtimeRef (kubectl get clustertrainingruntimes); ${file === undefined ? 'examples/runtimes has one for each cloud' : `examples/runtimes/${file} is the one for these variables`}`,
    },
  ];
}

function inOrder(lines: readonly ReportLine[]): readonly ReportLine[] {
  return (['taken', 'changed', 'left'] as const).flatMap((one) => lines.filter(({ outcome }) => outcome === one));
}

/** `nvcr.io#nvidia/pytorch:25.01` of Enroot and `docker://…` of Apptainer are images; files of theirs are not. */
function imageOf(
  program: RankProgram,
  { image }: LaunchOptions,
): { readonly name: string; readonly lines: readonly ReportLine[] } {
  if (image !== undefined)
    return { name: image, lines: [{ outcome: 'taken', from: '--image', to: `engine.image ${image}` }] };
  const named = program.image?.replace(/^docker:\/\//, '').replace('#', '/');
  const isFile = named === undefined || /\.(?:sqsh|sif|sqfs|img)$|^[/.~$]|[\uE000$]/.test(named);
  if (!isFile)
    return { name: named, lines: [{ outcome: 'taken', from: program.image ?? '', to: `engine.image ${named}` }] };
  return {
    name: IMAGE_TO_NAME,
    lines: [
      {
        outcome: 'changed',
        from: program.image === undefined ? 'image' : `image ${program.image.replaceAll('\uE000', '$')}`,
        to: `engine.image ${IMAGE_TO_NAME}`,
        why:
          program.image === undefined
            ? 'it names no container image'
            : 'it is a file, and nodes pull images from a registry',
        todo: 'import again with --image IMAGE: one in a registry that has the program and its libraries',
      },
    ],
  };
}

function environmentOf(
  all: readonly Variable[],
  name: string,
): {
  readonly env: readonly Variable[];
  readonly secretEnv: NonNullable<TrainingJobSpecInput['engine']['secretEnv']>;
  readonly secrets: readonly ReportLine[];
} {
  const last = [...new Map(all.map((one) => [one.name, one])).values()].filter(
    (one) =>
      !isRendezvous(one.name) && !one.name.startsWith('COXSWAIN_') && !/^(?:PATH|HOME|USER|PWD|SHELL)$/.test(one.name),
  );
  const isSecret = (one: Variable): boolean => plainSecrets({ env: [{ ...one }] }).length > 0;
  const secret = `job-${name}`.slice(0, 63).replace(/[^a-z0-9]+$/, '');
  const secretEnv = last.filter(isSecret).map((one) => ({
    name: one.name,
    secret,
    key: one.name.toLowerCase().replaceAll('_', '-'),
  }));
  return {
    env: last.filter((one) => !isSecret(one)).map((one) => ({ ...one, value: one.value.slice(0, 4096) })),
    secretEnv,
    secrets: secretEnv.map((one): ReportLine => ({
      outcome: 'changed',
      from: `${one.name}=…`,
      to: `engine.secretEnv ${one.name}`,
      why: 'it looks like a credential, and everyone who may read the job could read it; the written file does not contain its value',
      todo: `kubectl create secret generic ${secret} --from-file=${one.key}=FILE_WITH_THE_VALUE`,
    })),
  };
}

function refuseCredentials(words: readonly string[], from: string): void {
  const [found] = plainSecrets({ command: [...words] });
  if (found === undefined) return;
  throw new ImportError(
    `A word of ${from} ${found.message.split(';')[0] ?? ''}, and everyone who may read the job could read it. Let the program read it from a variable, and import again.`,
  );
}

function resourcesOf({ ranksPerNode, resources = {} }: Launch): NonNullable<TrainingJobSpecInput['resources']> {
  const { cpu, memoryMebibytes: memory } = resources;
  return {
    gpusPerNode: ranksPerNode,
    ...(cpu === undefined ? {} : { cpuPerGpu: String(cpu) }),
    ...(memory === undefined ? {} : { memoryPerGpu: memory % 1024 === 0 ? `${memory / 1024}Gi` : `${memory}Mi` }),
  };
}
