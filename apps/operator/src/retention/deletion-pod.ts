import { ANNOTATIONS, type Checkpoint, DELETE_CHECKPOINT, type DeletionQuestion, POD_PATHS } from '@coxswain/api-types';
import { bucketEnvironment, literally } from '../training-job/pod-manifest.ts';
import { identityOf, type WorkerContext } from '../worker-pods/worker-context.ts';
import { CLAIM_VOLUME, workerNameOf, workerPodManifest } from '../worker-pods/worker-pod-manifest.ts';

/** Value of the label of these pods. */
export const DELETION_WORKER = 'delete';

/** Where a worker runs, and as whom. */
export interface DeletionContext extends WorkerContext {
  /** Another worker was to delete it, some time ago. */
  readonly isAgain?: boolean;
}

const RESOURCES = { requests: { cpu: '100m', memory: '256Mi' }, limits: { cpu: '1', memory: '512Mi' } };
/** Time to delete: 100,000 files at 50 a second. */
export const DELETION_SECONDS = 3_600;

type Json = Readonly<Record<string, unknown>>;

/** Name of the pod that deletes the files of a checkpoint. */
export function deletionPodName(checkpoint: Checkpoint): string {
  return workerNameOf(checkpoint, 'delete');
}

/**
 * A pod that deletes one save and can do nothing else: it may write to the folder of this save alone, sees the rest of the claim read-only, and has no token. A
 * save that is thought to be gone is not mounted, because the kubelet would create its folder. In a bucket the credentials of the job set the limits.
 */
export function deletionPod(checkpoint: Checkpoint, survivors: readonly Checkpoint[], context: DeletionContext): Json {
  const { bucket, claimName } = checkpoint.spec;
  const saveOf = ({ spec: { path, manifestSha256 } }: Checkpoint) => ({ path, manifestSha256 });
  const question: DeletionQuestion = {
    save: saveOf(checkpoint),
    isMounted: checkpoint.status?.absent === undefined,
    ...(bucket === undefined ? {} : { isInBucket: true }),
    survivors: survivors.map(saveOf),
    ...(context.isAgain === true ? { onlyIfBegun: true } : {}),
  };
  return workerPodManifest(checkpoint, context, {
    name: deletionPodName(checkpoint),
    label: DELETION_WORKER,
    annotations: { [ANNOTATIONS.deletion]: JSON.stringify(question) },
    deadlineSeconds: DELETION_SECONDS,
    command: [DELETE_CHECKPOINT, literally(JSON.stringify(question))],
    env: bucketEnvironment(bucket),
    resources: RESOURCES,
    volumes: bucket === undefined ? [{ name: CLAIM_VOLUME, persistentVolumeClaim: { claimName } }] : [],
    mounts: bucket === undefined ? mountsOf(checkpoint) : [],
    mayWrite: true,
    identity: identityOf(bucket, context.runtime),
  });
}

function mountsOf({ spec, status }: Checkpoint): readonly Json[] {
  const isMounted = status?.absent === undefined;
  return [
    { name: CLAIM_VOLUME, mountPath: POD_PATHS.checkpoints, readOnly: true },
    ...(isMounted ? [{ name: CLAIM_VOLUME, mountPath: POD_PATHS.save, subPath: spec.path }] : []),
  ];
}
