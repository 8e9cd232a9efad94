/** Which job of Coxswain is what a file of another system describes? */
import { API_GROUP_VERSION } from '@coxswain/api-types';
import { importIndexedJob, importJobSet, importMpiJob, importPod, importVolcanoJob } from './batch-jobs.ts';
import { reportBeside } from './beside-the-job.ts';
import type { ImportOptions, MadeJob } from './gang-job.ts';
import { ImportError } from './import-error.ts';
import type { ImportedJob } from './imported-job.ts';
import { ImportReport, type ReportLine } from './import-report.ts';
import { importPyTorchJob } from './pytorch-job.ts';
import { requireBounded, Source } from './source.ts';
import { importTrainJob } from './train-job.ts';

const RUNTIME = /^trainer\.kubeflow\.org\/v1alpha1 (?:Cluster)?TrainingRuntime$/;
const BY_HAND = 'write a job with coxswain init --engine command, with the program of one rank';

interface FileOfTrainJob {
  readonly document: Source;
  readonly runtimes: readonly Source[];
}

/** Kinds that are imported, by `apiVersion kind`. */
const KINDS: readonly (readonly [
  RegExp,
  (file: FileOfTrainJob, options: ImportOptions, report: ImportReport) => MadeJob,
])[] = [
  [
    /^kubeflow\.org\/v1 PyTorchJob$|^sagemaker\.amazonaws\.com\/v1\S* HyperPodPyTorchJob$/,
    ({ document }, options, report) => importPyTorchJob(document, options, report),
  ],
  [/^trainer\.kubeflow\.org\/v1alpha1 TrainJob$/, importTrainJob],
  [/^batch\/v1 Job$/, ({ document }, options, report) => importIndexedJob(document, options, report)],
  [/^jobset\.x-k8s\.io\/\S+ JobSet$/, ({ document }, options, report) => importJobSet(document, options, report)],
  [/^batch\.volcano\.sh\/\S+ Job$/, ({ document }, options, report) => importVolcanoJob(document, options, report)],
  [/^kubeflow\.org\/\S+ MPIJob$/, ({ document }, options, report) => importMpiJob(document, options, report)],
  [/^v1 Pod$/, ({ document }, options, report) => importPod(document, options, report)],
];

/** What a file may be, in words. */
export const RECOGNISED =
  'a PyTorchJob, HyperPodPyTorchJob, TrainJob (with its runtime), MPIJob, JobSet, indexed Job, Volcano Job or Pod; a batch script of Slurm; ' +
  'a configuration of Accelerate, axolotl, LLM Foundry, GPT-NeoX, NeMo, TorchTitan or DeepSpeed';

/** Kinds that are not imported, by `apiVersion kind`: why, and what to do instead. */
const REFUSED: readonly (readonly [RegExp, string])[] = [
  [
    / (?:TFJob|TensorflowJob|MXJob|PaddleJob|XGBoostJob|JAXJob)$/,
    `its replicas have roles that Coxswain does not know (parameter servers, chiefs, evaluators) or read other variables: where every process is an equal rank, ${BY_HAND}, which reads RANK, WORLD_SIZE and MASTER_ADDR`,
  ],
  [
    / Ray(?:Job|Cluster|Service)$/,
    `Ray places and starts its actors itself. Jobs of several roles, such as actor and critic, are to come (spec.roles is reserved for them). A script of torch.distributed that Ray Train runs can be a job today: ${BY_HAND}`,
  ],
  [/^(?:batch\/v1 CronJob|apps\/v1 \w+)$/, `it does not describe ranks: ${BY_HAND}`],
  [
    / (?:LeaderWorkerSet|Workload)$/,
    `it contains pods of any kind and does not describe ranks: import the job inside it, or ${BY_HAND}`,
  ],
  [/^kubeflow\.org\/v(?!1 )\S+ PyTorchJob$/, 'only kubeflow.org/v1 is known; `kubectl get -o yaml` writes that one'],
  [
    /^trainer\.kubeflow\.org\/(?!v1alpha1 )\S+ TrainJob$/,
    'only trainer.kubeflow.org/v1alpha1 is known; `kubectl get -o yaml` writes that one',
  ],
  [RUNTIME, 'it is a runtime without a TrainJob; put the TrainJob that names it into the same file'],
  [new RegExp(`^${API_GROUP_VERSION} TrainingJob$`), 'it is a job of Coxswain already: coxswain submit -f FILE'],
];

/**
 * The job that the objects of one file describe. Objects beside it are reported with what becomes of them. Throws an {@link ImportError}, and nothing
 * else, where they describe no job, or several.
 */
export function importJob(documents: readonly unknown[], options: ImportOptions = {}): ImportedJob {
  const all = documents.flatMap(itemsOfList).flatMap(wrappedJobs);
  const sources = all.map((value) => ({ kind: kindOf(value), value }));
  for (const { value, kind } of sources) requireBounded(new Source(value, kind));
  const importers = sources.map(({ kind }) => KINDS.find(([form]) => form.test(kind))?.[1]);
  const jobs = sources.filter((_, index) => importers[index] !== undefined);
  const [job, another] = jobs;
  if (sources.length === 0) throw new ImportError(`The file is empty; expected ${RECOGNISED}.`);
  if (job === undefined) throw new ImportError(refusalOf(sources.map(({ kind }) => kind)));
  if (another !== undefined)
    throw new ImportError(
      `The file holds ${jobs.length} jobs (${jobs.map(({ kind }) => kind).join(', ')}); import one at a time: write each into a file of its own.`,
    );
  const report = new ImportReport();
  const document = new Source(job.value);
  const isTrainJob = / TrainJob$/.test(job.kind);
  const runtimes = sources
    .filter(({ kind }) => isTrainJob && RUNTIME.test(kind))
    .map(({ value }, index) => new Source(value, index === 0 ? 'runtime' : `runtime${index + 1}`));
  const importer = importers[sources.indexOf(job)];
  if (importer === undefined) throw new ImportError(refusalOf([job.kind]));
  const made = importer({ document, runtimes }, options, report);
  for (const { kind, value } of sources)
    if (value !== job.value && !(isTrainJob && RUNTIME.test(kind))) reportBeside(kind, new Source(value), report);
  return { ...made, report: finish(report, [document, ...runtimes]) };
}

function finish(report: ImportReport, documents: readonly Source[]): readonly ReportLine[] {
  const [document] = documents;
  for (const key of ['apiVersion', 'kind'])
    if (document !== undefined)
      report.changed(document.at(key), `${API_GROUP_VERSION} TrainingJob`, { why: 'it is a job of Coxswain now' });
  return report.finish(documents);
}

/** The jobs inside an AppWrapper, which holds whole objects. */
function wrappedJobs(document: unknown): readonly unknown[] {
  const { kind, spec } = (typeof document === 'object' && document !== null ? document : {}) as {
    kind?: unknown;
    spec?: { components?: unknown };
  };
  const components = kind === 'AppWrapper' && typeof spec === 'object' && spec !== null ? spec.components : undefined;
  if (!Array.isArray(components)) return [document];
  const inner = components.flatMap((one: unknown) => {
    const { template } = (typeof one === 'object' && one !== null ? one : {}) as { template?: unknown };
    return template === undefined ? [] : [template];
  });
  return inner.length === 0 ? [document] : inner;
}

/** What `kubectl get` writes of several, or of one by a selector. */
function itemsOfList(document: unknown): readonly unknown[] {
  if (typeof document !== 'object' || document === null) return document === null ? [] : [document];
  const { kind, items } = document as { kind?: unknown; items?: unknown };
  return typeof kind === 'string' && /List$/.test(kind) && Array.isArray(items) ? (items as unknown[]) : [document];
}

function kindOf(document: unknown): string {
  const { apiVersion, kind } = (typeof document === 'object' && document !== null ? document : {}) as {
    apiVersion?: unknown;
    kind?: unknown;
  };
  if (typeof kind !== 'string' || typeof apiVersion !== 'string')
    throw new ImportError(
      `The file has no apiVersion and kind, and is no other file that is known. Recognised: ${RECOGNISED}.`,
    );
  return `${apiVersion} ${kind}`;
}

/** Why none of the objects is imported: the first that is known speaks. */
function refusalOf(kinds: readonly string[]): string {
  const known = kinds.find((kind) => REFUSED.some(([form]) => form.test(kind)));
  const [kind = ''] = known === undefined ? kinds : [known];
  const [, why] = REFUSED.find(([form]) => form.test(kind)) ?? [];
  if (kinds.length > 1 && known === undefined)
    return `None of the ${kinds.length} objects of the file is a job (${kinds.join(', ')}). Recognised: ${RECOGNISED}.`;
  return `A ${kind} cannot be imported: ${why ?? `it is no kind of job that is known. Recognised: ${RECOGNISED}; for anything else, ${BY_HAND}`}.`;
}
