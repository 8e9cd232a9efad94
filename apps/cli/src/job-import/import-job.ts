/** Which job of Coxswain is what a file of another system describes? */
import { API_GROUP_VERSION } from '@coxswain/api-types';
import type { ImportOptions } from './gang-job.ts';
import { ImportError } from './import-error.ts';
import { ImportReport, type ReportLine } from './import-report.ts';
import { importPyTorchJob } from './pytorch-job.ts';
import { requireBounded, Source } from './source.ts';
import { importTrainJob } from './train-job.ts';
import type { WrittenJob } from './written-job.ts';

/** The imported job, and what became of each field of its file. */
export interface ImportedJob {
  readonly job: WrittenJob;
  /** A line for every field of the file: taken over, changed, left. */
  readonly report: readonly ReportLine[];
}

const PYTORCH_JOB = 'kubeflow.org/v1 PyTorchJob';
const TRAIN_JOB = 'trainer.kubeflow.org/v1alpha1 TrainJob';
const RUNTIME = /^trainer\.kubeflow\.org\/v1alpha1 (?:Cluster)?TrainingRuntime$/;
const KNOWN = `a ${PYTORCH_JOB} or a ${TRAIN_JOB}`;
const BY_HAND = 'write a job with coxswain init --engine command, with the program of one rank';

/** Kinds that are not imported, by `apiVersion kind`: why, and what to do instead. */
const REFUSED: readonly (readonly [RegExp, string])[] = [
  [
    / MPIJob$/,
    `its launcher pod starts the ranks with mpirun over SSH, and Coxswain starts each rank itself: ${BY_HAND}, which reads RANK, WORLD_SIZE and LOCAL_RANK instead of OMPI_COMM_WORLD_*`,
  ],
  [
    / (?:TFJob|TensorflowJob|MXJob|PaddleJob|XGBoostJob|JAXJob)$/,
    `its replicas have roles that Coxswain does not know (parameter servers, chiefs, evaluators) or read other variables: where every process is an equal rank, ${BY_HAND}, which reads RANK, WORLD_SIZE and MASTER_ADDR`,
  ],
  [
    / Ray(?:Job|Cluster|Service)$/,
    `Ray places and starts its actors itself; a script of torch.distributed that it runs can be a job: ${BY_HAND}`,
  ],
  [/^(?:batch\/v1 (?:Cron)?Job|v1 Pod|apps\/v1 \w+)$/, `it does not describe ranks: ${BY_HAND}`],
  [
    / (?:JobSet|LeaderWorkerSet|AppWrapper|Workload)$|^batch\.volcano\.sh\/\S+ Job$/,
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
 * The job that documents of one file describe: a PyTorchJob, or a TrainJob with or without its runtime. Throws an {@link ImportError}, and nothing
 * else, where they describe none.
 */
export function importJob(documents: readonly unknown[], options: ImportOptions = {}): ImportedJob {
  const all = documents.flatMap(itemsOfList);
  const sources = all.map((value) => ({ kind: kindOf(value), value }));
  const jobs = sources.filter(({ kind }) => !RUNTIME.test(kind));
  const [job, another] = jobs.length > 0 ? jobs : sources;
  if (job === undefined) throw new ImportError(`The file is empty; expected ${KNOWN}.`);
  if (another !== undefined)
    throw new ImportError(`The file holds ${jobs.length} jobs (${job.kind}, ${another.kind}); import one at a time.`);
  for (const { value, kind } of sources) requireBounded(new Source(value, kind));
  const document = new Source(job.value);
  const report = new ImportReport();
  if (job.kind === PYTORCH_JOB) {
    const made = importPyTorchJob(document, options, report);
    return { job: made, report: finish(report, [document]) };
  }
  if (job.kind === TRAIN_JOB) {
    const others = sources.filter(({ kind }) => RUNTIME.test(kind));
    const runtimes = others.map(
      ({ value }, index) => new Source(value, index === 0 ? 'runtime' : `runtime${index + 1}`),
    );
    const made = importTrainJob({ document, runtimes }, options, report);
    return { job: made, report: finish(report, [document, ...runtimes]) };
  }
  throw new ImportError(refusalOf(job.kind));
}

function finish(report: ImportReport, documents: readonly Source[]): readonly ReportLine[] {
  const [document] = documents;
  for (const key of ['apiVersion', 'kind'])
    if (document !== undefined)
      report.changed(document.at(key), `${API_GROUP_VERSION} TrainingJob`, { why: 'it is a job of Coxswain now' });
  return report.finish(documents);
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
    throw new ImportError(`The file has no apiVersion and kind; expected ${KNOWN}.`);
  return `${apiVersion} ${kind}`;
}

function refusalOf(kind: string): string {
  const [, why] = REFUSED.find(([form]) => form.test(kind)) ?? [];
  return `A ${kind} cannot be imported: ${why ?? `expected ${KNOWN}; for anything else, ${BY_HAND}`}.`;
}
