import {
  API_GROUP_VERSION,
  type Checkpoint,
  type CheckpointResourceSpec,
  CONTAINERS,
  type ConversionOrder,
  CONVERT_CHECKPOINT,
  DELETE_CHECKPOINT,
  type DeletionQuestion,
  GPU_RESOURCE,
  LABELS,
  POD_ENV,
  POD_PATHS,
} from '@coxswain/api-types';
import { convertedPath, converterLimitMs } from '@coxswain/checkpoint';
import { worldSize } from '@coxswain/layout';
import { trainerImageOf, withUnprivilegedUser } from '@coxswain/runtime';
import { launcherDelivery } from '../training-job/launcher-delivery.ts';
import { userOf, type WorkerContext } from '../worker-pods/worker-context.ts';
import { MOST_SECONDS } from '../worker-pods/worker-pod.ts';

/** Value of the label of these pods. */
export const CONVERSION_WORKER = 'convert';

const VOLUME = 'coxswain-checkpoints';
const SCRATCH = 'coxswain-scratch';
const MAX_NAME = 253;
/** Slower storage is no storage to train on. */
const BYTES_PER_SECOND = 20e6;
const LEAST_SECONDS = 600;
const CLEANING_SECONDS = 3_600;
const GIB = 2 ** 30;
/** Files of ranks that the converter of DeepSpeed has in memory at once, and a quarter more for their copies. */
const FILES_AT_ONCE = 4;
const COPIES = 1.25;

type Json = Readonly<Record<string, unknown>>;
type Task = 'convert' | 'clean';

/** Name of the pod that converts, or that deletes what was converted: one of each at a time. */
export function conversionPodName({ metadata }: Pick<Checkpoint, 'metadata'>, task: Task): string {
  return `${metadata.name.slice(0, MAX_NAME - task.length - 1)}-${task}`;
}

/** The spec of the Checkpoint of what `source` is converted to. Its form is that of an adopted one. */
export function convertedSpec(source: Checkpoint, kind: string, format: string): CheckpointResourceSpec {
  const { claimName, path, layout, manifestSha256: _, jobName, jobUid, step } = source.spec;
  const { name: checkpoint, uid = '' } = source.metadata;
  return {
    ...{ jobName: '', jobUid: '', epoch: 0, step: 0, format: '', bytes: 0, files: 0 },
    ...{ claimName, path: convertedPath(path, format), layout, manifestSha256: '0'.repeat(64) },
    convertedFrom: { checkpoint, uid, jobName, jobUid, step, kind },
  };
}

/**
 * A pod that converts `source`. It sees the claim read-only, but for the directory of the run that saved it: there it makes a folder. It runs in the image of the
 * trainer, which has the converter, as the trainer's user, and has no token.
 */
export function conversionPod(converted: Checkpoint, source: Checkpoint, context: WorkerContext): Json {
  const order: ConversionOrder = {
    kind: 'DeepSpeedUniversal',
    source: `${POD_PATHS.checkpoints}/${source.spec.path}`,
    target: `${POD_PATHS.save}/${below(runOf(converted), converted.spec.path)}`,
  };
  return podOf(converted, context, {
    task: 'convert',
    command: [CONVERT_CHECKPOINT],
    seconds: conversionSeconds(source.spec),
    memoryBytes: memoryFor(source),
    env: [{ name: POD_ENV.conversion, value: literally(JSON.stringify(order)) }],
  });
}

/** A pod that deletes what was converted, complete or not, and nothing else. */
export function cleaningPod(converted: Checkpoint, context: WorkerContext): Json {
  const { manifestSha256 } = converted.spec;
  const question: DeletionQuestion = {
    save: { path: folderOf(converted.spec.path), manifestSha256 },
    isMounted: true,
    survivors: [],
    isConversion: true,
  };
  return podOf(converted, context, {
    task: 'clean',
    command: [DELETE_CHECKPOINT, literally(JSON.stringify(question))],
    seconds: CLEANING_SECONDS,
    memoryBytes: GIB / 2,
    env: [],
  });
}

interface Work {
  readonly task: Task;
  readonly command: readonly string[];
  readonly seconds: number;
  readonly memoryBytes: number;
  readonly env: readonly Json[];
}

function podOf(converted: Checkpoint, context: WorkerContext, work: Work): Json {
  const { metadata, spec } = converted;
  const securityContext = {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  };
  const launcher = launcherDelivery({ launcherImage: context.launcherImage, securityContext });
  const template = userOf(context.runtime);
  const resources = { cpu: '1', memory: String(Math.ceil(work.memoryBytes)) };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: conversionPodName(converted, work.task),
      namespace: metadata.namespace,
      labels: { [LABELS.worker]: CONVERSION_WORKER },
      ownerReferences: [{ apiVersion: API_GROUP_VERSION, kind: 'Checkpoint', name: metadata.name, uid: metadata.uid }],
    },
    spec: {
      restartPolicy: 'Never',
      activeDeadlineSeconds: work.seconds,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      tolerations: [{ key: GPU_RESOURCE, operator: 'Exists', effect: 'NoSchedule' }],
      // Otherwise, with fsGroup, the kubelet changes the owner of every file on the volume.
      securityContext: {
        ...template.pod,
        ...('fsGroup' in template.pod ? { fsGroupChangePolicy: 'OnRootMismatch' } : {}),
        seccompProfile: { type: 'RuntimeDefault' },
      },
      ...(template.imagePullSecrets === undefined ? {} : { imagePullSecrets: template.imagePullSecrets }),
      ...onNode(context.node),
      initContainers: launcher.initContainers,
      containers: [
        {
          name: CONTAINERS.trainer,
          image: (context.job && trainerImageOf(context.job.spec, context.runtime)) ?? context.launcherImage,
          command: [POD_PATHS.launcher, ...work.command],
          env: [...work.env, { name: 'HOME', value: '/tmp' }],
          resources: { requests: resources, limits: resources },
          securityContext: { ...template.trainer, ...securityContext },
          terminationMessagePath: POD_PATHS.terminationMessage,
          terminationMessagePolicy: 'File',
          volumeMounts: [
            ...launcher.mounts,
            { name: SCRATCH, mountPath: '/tmp' },
            { name: VOLUME, mountPath: POD_PATHS.checkpoints, readOnly: true },
            // It exists. A folder that does not would be made by the kubelet, as root.
            { name: VOLUME, mountPath: POD_PATHS.save, subPath: runOf(converted) },
          ],
        },
      ],
      volumes: [
        ...launcher.volumes,
        { name: SCRATCH, emptyDir: {} },
        { name: VOLUME, persistentVolumeClaim: { claimName: spec.claimName } },
      ],
    },
  };
  return withUnprivilegedUser(pod, context.runtime, context.user);
}

/** The converter has its own limit, and says what happened at it. Before it the source is read, and after it what was made. */
function conversionSeconds({ bytes }: CheckpointResourceSpec): number {
  const readSeconds = 2 * Math.ceil(bytes / BYTES_PER_SECOND);
  return Math.min(MOST_SECONDS, LEAST_SECONDS + readSeconds + Math.ceil(converterLimitMs(bytes) / 1_000));
}

/** The converter reads the files of some ranks at once. */
function memoryFor({ spec: { bytes, layout } }: Checkpoint): number {
  return GIB + COPIES * Math.min(bytes, (FILES_AT_ONCE * bytes) / worldSize(layout));
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

function onNode(node: string | undefined): Json {
  if (node === undefined) return {};
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node] }];
  return {
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] } },
    },
  };
}

/** The kubelet replaces `$(NAME)` and halves `$$`. */
function literally(text: string): string {
  return text.replaceAll('$', '$$$$');
}
