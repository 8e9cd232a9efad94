/** Gangs that other controllers describe by pod templates and numbers: indexed Jobs, JobSets, jobs of Volcano, MPIJobs and single pods. */
import { GPU_RESOURCE } from '@coxswain/api-types';
import { alikePods } from './alike-pods.ts';
import { gangJob, type ImportOptions, type MadeJob, type Restarts } from './gang-job.ts';
import { ImportError } from './import-error.ts';
import type { ImportReport } from './import-report.ts';
import { podView, type PodView } from './pod.ts';
import { rankProgram } from './program.ts';
import { Source } from './source.ts';

type Importer = (document: Source, options: ImportOptions, report: ImportReport) => MadeJob;

const ABSENT = new Source(undefined);
/** A container of any name: the only one, or the only one with GPUs. */
const ANY = '';
const ONE_PROGRAM = 'make a job of each program that trains';

function restartsOf(limits: readonly Source[], never: Source = ABSENT): Restarts {
  const there = limits.filter((limit) => limit.isThere);
  return { isNever: there.length === 0 && never.value === 'Never', limits: there };
}

/** A Job of Kubernetes with `completionMode: Indexed`, or with one pod. */
export const importIndexedJob: Importer = (document, options, report) => {
  const spec = document.at('spec');
  const [completions, parallelism] = [spec.at('completions'), spec.at('parallelism')];
  const count = completions.count() ?? parallelism.count() ?? 1;
  if (count > 1 && spec.at('completionMode').value !== 'Indexed')
    throw new ImportError(
      'spec.completionMode is not Indexed, so its pods have no ranks and are no gang. If each pod is a rank, set completionMode: Indexed and import again.',
    );
  const running = parallelism.count() ?? 1;
  if (count > 1 && running !== count)
    throw new ImportError(
      `spec.parallelism is ${running} and spec.completions ${count}: its pods do not run at the same time, so they are no gang. Make both equal.`,
    );
  const template = spec.at('template');
  return gangJob(
    {
      metadata: document.at('metadata'),
      pod: alikePods([template], ANY, report),
      nodes: count,
      nodesFrom: [completions, parallelism],
      processes: [],
      restarts: restartsOf([spec.at('backoffLimit')]),
      suspend: spec.at('suspend'),
      deadlines: [spec.at('activeDeadlineSeconds')],
    },
    options,
    report,
  );
};

/** A JobSet whose replicated jobs with GPUs are one gang. */
export const importJobSet: Importer = (document, options, report) => {
  const spec = document.at('spec');
  const all = spec.at('replicatedJobs').items();
  const withGpus = all.filter((job) => hasGpus(job.at('template', 'spec', 'template', 'spec')));
  const [first, ...others] = withGpus.length > 0 ? withGpus : all;
  if (first === undefined) throw new ImportError('spec.replicatedJobs is empty; it has to have the job that trains.');
  for (const job of all)
    if (job !== first && !others.includes(job))
      report.left(job, {
        why: 'its pods have no GPU, and a job is one gang of equal ranks',
        todo: 'run it as a Job of its own, if the program needs it',
      });
  const templateOf = (job: Source): Source => job.at('template', 'spec', 'template');
  const numbers = [first, ...others].map((job) => ({
    replicas: job.at('replicas'),
    pods: [job.at('template', 'spec', 'parallelism'), job.at('template', 'spec', 'completions')],
  }));
  const nodes = numbers.reduce(
    (sum, { replicas, pods }) => sum + (replicas.count() ?? 1) * (pods[0]?.count() ?? pods[1]?.count() ?? 1),
    0,
  );
  return gangJob(
    {
      metadata: document.at('metadata'),
      pod: alikePods([templateOf(first), ...others.map(templateOf)], ANY, report),
      nodes,
      nodesFrom: numbers.flatMap(({ replicas, pods }) => [replicas, ...pods]),
      processes: [],
      restarts: restartsOf([
        spec.at('failurePolicy', 'maxRestarts'),
        ...[first, ...others].map((job) => job.at('template', 'spec', 'backoffLimit')),
      ]),
      suspend: spec.at('suspend'),
      deadlines: [first, ...others].map((job) => job.at('template', 'spec', 'activeDeadlineSeconds')),
    },
    options,
    report,
  );
};

/** A job of Volcano whose tasks run one program, with its plug-in for PyTorch or MPI, or without one. */
export const importVolcanoJob: Importer = (document, options, report) => {
  const spec = document.at('spec');
  const tasks = spec
    .at('tasks')
    .items()
    .filter((task) => task.at('replicas').count() !== 0);
  const launcher = tasks.find((task) => isMpiLauncher(task.at('template', 'spec')));
  const gang = launcher === undefined ? tasks : tasks.filter((task) => task !== launcher);
  const [first, ...others] = gang;
  if (first === undefined) throw new ImportError('spec.tasks is empty; it has to have the task that trains.');
  const pod = alikePods([first.at('template'), ...others.map((task) => task.at('template'))], ANY, report);
  const replicas = gang.map((task) => task.at('replicas'));
  return gangJob(
    {
      metadata: document.at('metadata'),
      pod: launcher === undefined ? pod : withProgramOf(launcher.at('template', 'spec'), pod, report),
      nodes: replicas.reduce((sum, one) => sum + (one.count() ?? 1), 0),
      nodesFrom: replicas,
      processes: [],
      restarts: restartsOf([spec.at('maxRetry')]),
      suspend: ABSENT,
      classes: [spec.at('priorityClassName')],
    },
    options,
    report,
  );
};

/** An MPIJob: its workers have the GPUs, and its launcher the line of mpirun. */
export const importMpiJob: Importer = (document, options, report) => {
  const spec = document.at('spec');
  const specs = spec.at('mpiReplicaSpecs');
  const [launcher, worker] = [specs.at('Launcher'), specs.at('Worker')];
  if (!worker.isThere)
    throw new ImportError('spec.mpiReplicaSpecs has no Worker; the pods that train have to be there.');
  const pod = alikePods([worker.at('template')], ANY, report);
  const policy = spec.at('runPolicy');
  const limits = [policy.at('backoffLimit'), spec.at('backoffLimit')];
  return gangJob(
    {
      metadata: document.at('metadata'),
      pod: withProgramOf(launcher.at('template', 'spec'), pod, report),
      nodes: worker.at('replicas').count() ?? 1,
      nodesFrom: [worker.at('replicas')],
      processes: [spec.at('slotsPerWorker')],
      restarts: restartsOf(limits),
      suspend: policy.at('suspend'),
      deadlines: [policy.at('activeDeadlineSeconds')],
    },
    options,
    report,
  );
};

/** A pod alone: a gang of one node. */
export const importPod: Importer = (document, options, report) => {
  const spec = document.at('spec');
  return gangJob(
    {
      metadata: document.at('metadata'),
      pod: podView(spec, ANY, new Source(undefined)),
      nodes: 1,
      nodesFrom: [],
      processes: [],
      restarts: restartsOf([], spec.at('restartPolicy')),
      suspend: ABSENT,
    },
    options,
    report,
  );
};

function hasGpus(pod: Source): boolean {
  return pod
    .at('containers')
    .items()
    .some((one) => ['limits', 'requests'].some((list) => one.at('resources', list, GPU_RESOURCE).isThere));
}

function isMpiLauncher(pod: Source): boolean {
  if (hasGpus(pod)) return false;
  const [container = ABSENT] = pod.at('containers').items();
  return /\b(?:mpirun|mpiexec|horovodrun|deepspeed)\b/.test(
    JSON.stringify([container.at('command').value, container.at('args').value]),
  );
}

/** The workers' pod with the program that the launcher's mpirun starts on them. */
function withProgramOf(launcher: Source, workers: PodView, report: ImportReport): PodView {
  const container = launcher.at('containers').items()[0] ?? ABSENT;
  const [command, args] = [container.at('command'), container.at('args')];
  const words = [...command.items(), ...args.items()].map((word) => word.textOrNumber() ?? '');
  if (words.length === 0)
    throw new ImportError(
      `${launcher.path}.containers[0] names no program; the line of mpirun that starts the ranks has to be in its command. ${ONE_PROGRAM}.`,
    );
  const { launcher: found } = rankProgram(words, command.path);
  if (found === undefined)
    throw new ImportError(
      `${command.path} does not start its ranks with mpirun. Write the program of one rank into the command of the workers, and import them as a Job with completionMode: Indexed.`,
    );
  report.changed(launcher.at('containers'), 'engine.command', {
    why: 'there is no launcher pod: Coxswain starts each rank in the pods of the workers, without SSH',
  });
  report.left(workers.command, { why: 'workers waited for SSH; Coxswain starts the ranks in them' });
  report.left(workers.args, { why: 'workers waited for SSH; Coxswain starts the ranks in them' });
  return { ...workers, command, args, env: [...container.at('env').items(), ...workers.env] };
}
