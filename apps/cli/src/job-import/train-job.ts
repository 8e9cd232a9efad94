/** A TrainJob of Kubeflow Trainer (trainer.kubeflow.org/v1alpha1), with its runtime where that is in the same file. */
import { gangJob, type ImportOptions, type MadeJob } from './gang-job.ts';
import { ImportError } from './import-error.ts';
import type { ImportReport } from './import-report.ts';
import { containerView, layered, podView, type PodView } from './pod.ts';
import { Source } from './source.ts';

/** What the trainer calls its container, and the job of a runtime that has it. */
const TRAINER = 'node';
const ANCESTOR = 'trainer.kubeflow.org/trainjob-ancestor-step';

/** A TrainJob, and the runtimes of the same file. It may reference one of them. */
export interface TrainJobFile {
  readonly document: Source;
  /** (Cluster)TrainingRuntimes of the same file. */
  readonly runtimes: readonly Source[];
}

/** Converts a TrainJob. Throws an {@link ImportError} if Coxswain cannot run it. */
export function importTrainJob(file: TrainJobFile, options: ImportOptions, report: ImportReport): MadeJob {
  const { document } = file;
  const spec = document.at('spec');
  const trainer = spec.at('trainer');
  const runtime = runtimeOf(file, report);
  const job = runtime === undefined ? undefined : trainerOf(runtime);
  const policy = runtime?.at('spec', 'mlPolicy') ?? new Source(undefined);
  refuseOtherPolicies(policy);
  const layers = [
    ...(job === undefined ? [] : [podView(podOf(job), TRAINER, job.at('template', 'spec', 'template'))]),
    ...patchesOf(spec).map((patch) => podView(patch, TRAINER, undefined, 'patch')),
    containerView(trainer, trainer.at('resourcesPerNode')),
  ];
  const pod = layers.reduce((lower, upper) => layered(lower, upper, report));
  requireProgram(pod, spec);
  const nodes = firstOf([trainer.at('numNodes'), policy.at('numNodes')], report);
  const limits = job === undefined ? [] : [job.at('template', 'spec', 'backoffLimit')];
  return gangJob(
    {
      metadata: document.at('metadata'),
      pod,
      nodes: nodes.count() ?? 1,
      nodesFrom: [nodes],
      processes: [firstOf([trainer.at('numProcPerNode'), policy.at('torch', 'numProcPerNode')], report)],
      restarts: {
        isNever: false,
        limits: [...limits, runtime?.at('spec', 'template', 'spec', 'failurePolicy', 'maxRestarts')].filter(
          (limit) => limit?.isThere === true,
        ) as Source[],
      },
      suspend: spec.at('suspend'),
    },
    options,
    report,
  );
}

/** The first that is there; those behind it do not count. */
function firstOf(sources: readonly Source[], report: ImportReport): Source {
  const [first = new Source(undefined), ...rest] = sources.filter((source) => source.isThere);
  for (const source of rest) report.left(source, { why: `${first.path} goes before it` });
  return first;
}

/** The runtime that the job names, where the file has it. */
function runtimeOf({ document, runtimes }: TrainJobFile, report: ImportReport): Source | undefined {
  const ref = document.at('spec', 'runtimeRef');
  const name = ref.at('name').text();
  const kind = ref.at('kind').text() ?? 'ClusterTrainingRuntime';
  const found = runtimes.find(
    (one) => one.at('kind').value === kind && one.at('metadata', 'name').value === name && name !== undefined,
  );
  if (found !== undefined) {
    report.changed(ref, 'engine and resources', { why: `the values of ${kind} "${name}" are now in the job` });
    for (const key of ['apiVersion', 'kind', 'metadata'] as const)
      report.left(found.at(key), { why: 'a job refers to no runtime' });
  }
  return found;
}

/** The replicated job that trains: by its label, else by its name. */
function trainerOf(runtime: Source): Source {
  const jobs = runtime.at('spec', 'template', 'spec', 'replicatedJobs').items();
  const labelled = jobs.find((job) => job.at('template', 'metadata', 'labels', ANCESTOR).value === 'trainer');
  const found = labelled ?? jobs.find((job) => job.at('name').value === TRAINER);
  if (found === undefined)
    throw new ImportError(
      `${runtime.path}.spec.template.spec.replicatedJobs has none that trains: none is named "${TRAINER}" or labelled ${ANCESTOR}: trainer.`,
    );
  return found;
}

function podOf(replicatedJob: Source): Source {
  return replicatedJob.at('template', 'spec', 'template', 'spec');
}

/** Patches of the pods that train, of every manager, in their order; in the form of Trainer 2.2 and in the older one. */
function patchesOf(spec: Source): readonly Source[] {
  const patches = spec
    .at('runtimePatches')
    .items()
    .flatMap((patch) => patch.at('trainingRuntimeSpec', 'template', 'spec', 'replicatedJobs').items());
  const overrides = spec
    .at('podTemplateOverrides')
    .items()
    .filter((override) =>
      override
        .at('targetJobs')
        .items()
        .some((target) => target.at('name').value === TRAINER),
    );
  return [
    ...overrides.map((override) => override.at('spec')),
    ...patches.filter((job) => job.at('name').value === TRAINER).map(podOf),
  ].filter((pod) => pod.isThere);
}

const OTHER_POLICIES: Readonly<Record<string, string>> = {
  mpi: 'starts its ranks with mpirun',
  jax: 'starts JAX, one process per node',
  xgboost: 'trains with XGBoost',
  flux: 'starts its ranks with Flux',
};

function refuseOtherPolicies(policy: Source): void {
  for (const [name, what] of Object.entries(OTHER_POLICIES)) {
    const found = policy.at(name);
    if (found.isThere)
      throw new ImportError(
        `${found.path} ${what}; Coxswain starts one process per GPU, and sets the variables that torch.distributed reads. Write a job with coxswain init --engine command, whose program reads RANK, WORLD_SIZE and MASTER_ADDR.`,
      );
  }
}

/** Values that come from a runtime must be in the file. */
function requireProgram(pod: PodView, spec: Source): void {
  if (pod.command.isThere) return;
  const kind = spec.at('runtimeRef', 'kind').text() ?? 'ClusterTrainingRuntime';
  const name = spec.at('runtimeRef', 'name').text() ?? 'NAME';
  const kubectl = `(echo ---; kubectl get ${kind.toLowerCase()} ${name} -o yaml) >> FILE`;
  throw new ImportError(
    `spec.trainer.command is missing, so ${kind} "${name}" or its image decides what runs. If the ${kind} does, add it to the same file: ${kubectl}; if the image does, write the program into spec.trainer.command.`,
  );
}
