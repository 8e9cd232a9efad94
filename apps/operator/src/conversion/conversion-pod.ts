import {
  type Checkpoint,
  type CheckpointResourceSpec,
  type ConversionOrder,
  CONVERT_CHECKPOINT,
  DELETE_CHECKPOINT,
  type DeletionQuestion,
  POD_ENV,
  POD_PATHS,
  recordedLocation,
} from '@coxswain/api-types';
import { convertedPath, converterDiskBytes, converterLimitMs, converterResources } from '@coxswain/checkpoint';
import { worldSize } from '@coxswain/layout';
import { DELETION_SECONDS } from '../retention/deletion-pod.ts';
import { bucketEnvironment, literally } from '../training-job/pod-manifest.ts';
import { identityOf, type WorkerContext } from '../worker-pods/worker-context.ts';
import { CLAIM_VOLUME, workerNameOf, workerPodManifest, type WorkerTask } from '../worker-pods/worker-pod-manifest.ts';
import { LEAST_SECONDS, MOST_SECONDS, secondsToRead } from '../worker-pods/worker-pod.ts';

/** Value of the label of these pods. */
export const CONVERSION_WORKER = 'convert';

const SCRATCH = 'coxswain-scratch';

type Json = Readonly<Record<string, unknown>>;
type Task = 'convert' | 'clean';

/** Name of the pod that converts, or that deletes what was converted: one of each at a time. */
export function conversionPodName(checkpoint: Pick<Checkpoint, 'metadata'>, task: Task): string {
  return workerNameOf(checkpoint, task);
}

/** The spec of the Checkpoint of what `source` is converted to. Its form is that of an adopted one. */
export function convertedSpec(source: Checkpoint, kind: string, format: string): CheckpointResourceSpec {
  const { path, layout, manifestSha256: _, jobName, jobUid, step } = source.spec;
  const { name: checkpoint, uid = '' } = source.metadata;
  return {
    ...{ jobName: '', jobUid: '', epoch: 0, step: 0, format: '', bytes: 0, files: 0 },
    ...recordedLocation(source.spec),
    ...{ path: convertedPath(path, format), layout, manifestSha256: '0'.repeat(64) },
    convertedFrom: { checkpoint, uid, jobName, jobUid, step, kind },
  };
}

/**
 * A pod that converts `source`. It sees the claim read-only, but for the directory of the run that saved it: there it makes a folder. A save in a bucket is
 * converted on a disk of the node. The pod runs in the image of the trainer, which has the converter, as the trainer's user, and has no token.
 */
export function conversionPod(converted: Checkpoint, source: Checkpoint, context: WorkerContext): Json {
  const { bucket, bytes, layout } = source.spec;
  return podOf(converted, context, 'convert', {
    command: [CONVERT_CHECKPOINT],
    deadlineSeconds: conversionSeconds(source.spec),
    ...converterResources({ bytes, ranks: worldSize(layout) }),
    diskBytes: bucket === undefined ? 0 : converterDiskBytes(bytes),
    env: [{ name: POD_ENV.conversion, value: literally(JSON.stringify(orderFor(converted, source))) }],
  });
}

function orderFor(converted: Checkpoint, { spec }: Checkpoint): ConversionOrder {
  const kind = 'DeepSpeedUniversal';
  if (spec.bucket !== undefined) {
    const { path: source, manifestSha256 } = spec;
    return { kind, source, target: converted.spec.path, isInBucket: true, manifestSha256 };
  }
  return {
    kind,
    source: `${POD_PATHS.checkpoints}/${spec.path}`,
    target: `${POD_PATHS.save}/${below(runOf(converted), converted.spec.path)}`,
  };
}

/** A pod that deletes what was converted, complete or not, and nothing else. */
export function cleaningPod(converted: Checkpoint, context: WorkerContext): Json {
  const { manifestSha256, bucket } = converted.spec;
  const question: DeletionQuestion = {
    save: { path: folderOf(converted.spec.path), manifestSha256 },
    isMounted: true,
    ...(bucket === undefined ? {} : { isInBucket: true }),
    survivors: [],
    isConversion: true,
  };
  return podOf(converted, context, 'clean', {
    command: [DELETE_CHECKPOINT, literally(JSON.stringify(question))],
    deadlineSeconds: DELETION_SECONDS,
    cpus: 1,
    memoryBytes: 2 ** 29,
    diskBytes: 0,
    env: [],
  });
}

type Work = Pick<WorkerTask, 'command' | 'deadlineSeconds' | 'env'> & {
  readonly cpus: number;
  readonly memoryBytes: number;
  /** On a disk of the node. The scheduler looks for a node that has so much. */
  readonly diskBytes: number;
};

function podOf(converted: Checkpoint, context: WorkerContext, task: Task, work: Work): Json {
  const { command, deadlineSeconds, env, cpus, memoryBytes, diskBytes } = work;
  const { bucket } = converted.spec;
  const resources = { cpu: String(cpus), memory: String(Math.ceil(memoryBytes)) };
  const disk = diskBytes === 0 ? {} : { 'ephemeral-storage': String(Math.ceil(diskBytes)) };
  const places = bucket === undefined ? claimOf(converted) : diskOfNode();
  return workerPodManifest(converted, context, {
    name: conversionPodName(converted, task),
    label: CONVERSION_WORKER,
    deadlineSeconds,
    command,
    env: [...env, ...bucketEnvironment(bucket), { name: 'HOME', value: '/tmp' }],
    resources: { requests: { ...resources, ...disk }, limits: resources },
    volumes: [{ name: SCRATCH, emptyDir: {} }, places.volume],
    mounts: [{ name: SCRATCH, mountPath: '/tmp' }, ...places.mounts],
    mayWrite: true,
    identity: identityOf(bucket, context.runtime),
  });
}

interface Places {
  readonly volume: Json;
  readonly mounts: readonly Json[];
}

function claimOf(converted: Checkpoint): Places {
  return {
    volume: { name: CLAIM_VOLUME, persistentVolumeClaim: { claimName: converted.spec.claimName } },
    mounts: [
      { name: CLAIM_VOLUME, mountPath: POD_PATHS.checkpoints, readOnly: true },
      // It exists. A folder that does not would be made by the kubelet, as root.
      { name: CLAIM_VOLUME, mountPath: POD_PATHS.save, subPath: runOf(converted) },
    ],
  };
}

/** For a save of a bucket while it is converted. */
function diskOfNode(): Places {
  return {
    volume: { name: CLAIM_VOLUME, emptyDir: {} },
    mounts: [{ name: CLAIM_VOLUME, mountPath: POD_PATHS.checkpoints }],
  };
}

/** The converter has its own limit, and says what happened at it. Before it the source is read, and after it what was made. In a bucket both also move. */
function conversionSeconds({ bytes, bucket }: CheckpointResourceSpec): number {
  const passes = bucket === undefined ? 2 : 4;
  return Math.min(
    MOST_SECONDS,
    LEAST_SECONDS + passes * secondsToRead(bytes) + Math.ceil(converterLimitMs(bytes) / 1_000),
  );
}

/** The directory of the run that made the source: it holds the folder that holds the converted save. */
function runOf({ spec: { path } }: Checkpoint): string {
  return folderOf(folderOf(path));
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

function below(folder: string, path: string): string {
  return path.slice(folder.length + 1);
}
