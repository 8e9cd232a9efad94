import {
  ANNOTATIONS,
  type Checkpoint,
  INSPECT_CHECKPOINT,
  isAdopted,
  POD_ENV,
  POD_PATHS,
  type WorkerQuestion,
} from '@coxswain/api-types';
import type { WantedVerification } from '@coxswain/lifecycle';
import { bucketEnvironment, literally } from '../training-job/pod-manifest.ts';
import { identityOf, type WorkerContext } from '../worker-pods/worker-context.ts';
import { CLAIM_VOLUME, workerNameOf, workerPodManifest } from '../worker-pods/worker-pod-manifest.ts';
import { LEAST_SECONDS, MOST_SECONDS, secondsToRead } from '../worker-pods/worker-pod.ts';

/** Metadata of a million chunks takes 1 GB; requests are what quotas and schedulers count. */
const RESOURCES = { requests: { cpu: '100m', memory: '512Mi' }, limits: { cpu: '1', memory: '1536Mi' } };

type Json = Readonly<Record<string, unknown>>;

/** Name of the pod that verifies a checkpoint: one at a time. */
export function workerPodName(checkpoint: Checkpoint): string {
  return workerNameOf(checkpoint, 'verify');
}

/** A pod that reads a checkpoint and can do nothing else: the claim is read-only, and it has no token of Kubernetes. */
export function workerPod({ checkpoint, level, otherThan }: WantedVerification, context: WorkerContext): Json {
  const { path, manifestSha256, bucket } = checkpoint.spec;
  const whole = isAdopted(checkpoint) ? {} : { manifestSha256 };
  const question: WorkerQuestion = { directory: `${POD_PATHS.checkpoints}/${path}`, ...whole, level };
  return workerPodManifest(checkpoint, context, {
    name: workerPodName(checkpoint),
    label: 'verify',
    annotations: { [ANNOTATIONS.verify]: level },
    deadlineSeconds: deadlineSeconds(checkpoint),
    command: [INSPECT_CHECKPOINT, literally(JSON.stringify(question))],
    env: [
      { name: POD_ENV.nodeName, valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
      ...bucketEnvironment(bucket),
    ],
    resources: RESOURCES,
    ...claimOf(checkpoint.spec),
    mayWrite: false,
    otherThan,
    identity: identityOf(bucket, context.runtime),
  });
}

/** Read-only in both places: with fsGroup, the kubelet would change the owner of files on a volume that it may write. From a bucket the pod reads ranges. */
function claimOf({ claimName, bucket }: Checkpoint['spec']): Readonly<Record<'volumes' | 'mounts', readonly Json[]>> {
  if (bucket !== undefined) return { volumes: [], mounts: [] };
  return {
    volumes: [{ name: CLAIM_VOLUME, persistentVolumeClaim: { claimName, readOnly: true } }],
    mounts: [{ name: CLAIM_VOLUME, mountPath: POD_PATHS.checkpoints, readOnly: true }],
  };
}

/** The size of an adopted checkpoint is not known before it was read once. */
function deadlineSeconds(checkpoint: Checkpoint): number {
  const { spec, status } = checkpoint;
  const bytes = isAdopted(checkpoint) ? (status?.files?.bytes ?? Infinity) : spec.bytes;
  return Math.min(MOST_SECONDS, LEAST_SECONDS + secondsToRead(bytes));
}
