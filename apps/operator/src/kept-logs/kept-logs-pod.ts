import { createHash } from 'node:crypto';
import { jobPrefix, type KeptLogsQuestion, POD_PATHS, READ_LOGS, type TrainingJob } from '@coxswain/api-types';
import { keptLogsPlace, saveDirectoryOf } from '@coxswain/checkpoint';
import { bucketEnvironment, literally } from '../training-job/pod-manifest.ts';
import { identityOf, type WorkerContext } from '../worker-pods/worker-context.ts';
import { CLAIM_VOLUME, workerPodManifest } from '../worker-pods/worker-pod-manifest.ts';

/** Value of the label of pods that read kept logs. */
export const LOGS_WORKER = 'logs';

const RESOURCES = { requests: { cpu: '100m', memory: '256Mi' }, limits: { cpu: '1', memory: '512Mi' } };
/** Images are pulled, claims mounted, and the log is read. */
const DEADLINE_SECONDS = 900;

type Json = Readonly<Record<string, unknown>>;

/** Folder of the job's logs, in its claim or bucket; undefined: the job has no place for logs. */
export function logsFolderOf(job: Pick<TrainingJob, 'metadata' | 'spec'>): string | undefined {
  const saveDirectory = saveDirectoryOf(job, { epoch: 1 });
  if (saveDirectory === undefined) return undefined;
  const { folder, job: own } = keptLogsPlace(saveDirectory, job.metadata.namespace ?? '');
  return `${folder}/${own}`;
}

/** Name of the pod that answers this question. `turn` distinguishes it from a pod that answered it too long ago. */
export function logsPodName(job: TrainingJob, question: KeptLogsQuestion, turn: number): string {
  const hash = createHash('sha256')
    .update(`${JSON.stringify(question)} ${turn}`)
    .digest('hex')
    .slice(0, 12);
  return `${jobPrefix(job.metadata)}-logs-${hash}`;
}

/** A pod that writes kept lines to its own log and can do nothing else: the claim is read-only, and it has no token of Kubernetes. */
export function logsPod(
  job: TrainingJob,
  { name, question }: { readonly name: string; readonly question: KeptLogsQuestion },
  context: WorkerContext,
): Json {
  const { bucket, claimName } = job.spec.checkpoint ?? {};
  return workerPodManifest(job, context, {
    name,
    label: LOGS_WORKER,
    deadlineSeconds: DEADLINE_SECONDS,
    command: [READ_LOGS, literally(JSON.stringify(question))],
    env: bucketEnvironment(bucket),
    resources: RESOURCES,
    volumes: bucket === undefined ? [{ name: CLAIM_VOLUME, persistentVolumeClaim: { claimName, readOnly: true } }] : [],
    mounts: bucket === undefined ? [{ name: CLAIM_VOLUME, mountPath: POD_PATHS.checkpoints, readOnly: true }] : [],
    mayWrite: false,
    identity: identityOf(bucket, context.runtime),
  });
}
