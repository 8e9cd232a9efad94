import {
  ANNOTATIONS,
  API_GROUP_VERSION,
  type Checkpoint,
  CONTAINERS,
  GPU_RESOURCE,
  INSPECT_CHECKPOINT,
  isAdopted,
  LABELS,
  POD_ENV,
  POD_PATHS,
  type WorkerQuestion,
} from '@coxswain/api-types';
import type { WantedVerification } from '@coxswain/lifecycle';
import { trainerImageOf, withUnprivilegedUser } from '@coxswain/runtime';
import { bucketEnvironment } from '../training-job/pod-manifest.ts';
import { launcherDelivery } from '../training-job/launcher-delivery.ts';
import { identityOf, userOf, type WorkerContext } from '../worker-pods/worker-context.ts';
import { MOST_SECONDS } from '../worker-pods/worker-pod.ts';

const VOLUME = 'coxswain-checkpoints';
const MAX_NAME = 253;
/** Metadata of a million chunks takes 1 GB; requests are what quotas and schedulers count. */
const RESOURCES = { requests: { cpu: '100m', memory: '512Mi' }, limits: { cpu: '1', memory: '1536Mi' } };
/** Slower storage is no storage to train on. */
const BYTES_PER_SECOND = 20e6;
const LEAST_SECONDS = 600;

type Json = Readonly<Record<string, unknown>>;

/** Name of the pod that verifies a checkpoint: one at a time. */
export function workerPodName({ metadata }: Checkpoint): string {
  return `${metadata.name.slice(0, MAX_NAME - '-verify'.length)}-verify`;
}

/** A pod that reads a checkpoint and can do nothing else: the claim is read-only, and it has no token of Kubernetes. */
export function workerPod({ checkpoint, level, otherThan }: WantedVerification, context: WorkerContext): Json {
  const { metadata, spec } = checkpoint;
  const { path, manifestSha256, bucket } = spec;
  const whole = isAdopted(checkpoint) ? {} : { manifestSha256 };
  const securityContext = {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  };
  const launcher = launcherDelivery({ launcherImage: context.launcherImage, securityContext });
  const question: WorkerQuestion = { directory: `${POD_PATHS.checkpoints}/${path}`, ...whole, level };
  const template = userOf(context.runtime);
  const claim = claimOf(spec);
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: workerPodName(checkpoint),
      namespace: metadata.namespace,
      labels: { [LABELS.worker]: 'verify' },
      annotations: { [ANNOTATIONS.verify]: level },
      ownerReferences: [{ apiVersion: API_GROUP_VERSION, kind: 'Checkpoint', name: metadata.name, uid: metadata.uid }],
    },
    spec: {
      restartPolicy: 'Never',
      activeDeadlineSeconds: deadlineSeconds(checkpoint),
      automountServiceAccountToken: false,
      ...identityOf(bucket, context.runtime),
      enableServiceLinks: false,
      tolerations: [{ key: GPU_RESOURCE, operator: 'Exists', effect: 'NoSchedule' }],
      securityContext: { ...template.pod, seccompProfile: { type: 'RuntimeDefault' } },
      ...(template.imagePullSecrets === undefined ? {} : { imagePullSecrets: template.imagePullSecrets }),
      ...affinity(context.node, otherThan),
      initContainers: launcher.initContainers,
      containers: [
        {
          name: CONTAINERS.trainer,
          image: (context.job && trainerImageOf(context.job.spec, context.runtime)) ?? context.launcherImage,
          command: [POD_PATHS.launcher, INSPECT_CHECKPOINT, JSON.stringify(question).replaceAll('$', '$$$$')],
          env: [
            { name: POD_ENV.nodeName, valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
            ...bucketEnvironment(bucket),
          ],
          resources: RESOURCES,
          securityContext: { ...template.trainer, ...securityContext },
          terminationMessagePath: POD_PATHS.terminationMessage,
          terminationMessagePolicy: 'File',
          volumeMounts: [...launcher.mounts, ...claim.mounts],
        },
      ],
      volumes: [...launcher.volumes, ...claim.volumes],
    },
  };
  return withUnprivilegedUser(pod, context.runtime, context.user);
}

/** Read-only in both places: with fsGroup, the kubelet would change the owner of files on a volume that it may write. From a bucket the pod reads ranges. */
function claimOf({ claimName, bucket }: Checkpoint['spec']): Readonly<Record<'volumes' | 'mounts', readonly Json[]>> {
  if (bucket !== undefined) return { volumes: [], mounts: [] };
  return {
    volumes: [{ name: VOLUME, persistentVolumeClaim: { claimName, readOnly: true } }],
    mounts: [{ name: VOLUME, mountPath: POD_PATHS.checkpoints, readOnly: true }],
  };
}

/** The size of an adopted checkpoint is not known before it was read once. */
function deadlineSeconds(checkpoint: Checkpoint): number {
  const { spec, status } = checkpoint;
  const bytes = isAdopted(checkpoint) ? (status?.files?.bytes ?? Infinity) : spec.bytes;
  return Math.min(MOST_SECONDS, LEAST_SECONDS + Math.ceil(bytes / BYTES_PER_SECOND));
}

function affinity(node: string | undefined, otherThan: readonly string[]): Json {
  const onNode = node === undefined ? [] : [{ key: 'metadata.name', operator: 'In', values: [node] }];
  // A field takes one value at a time.
  const notOn = otherThan.map((other) => ({ key: 'metadata.name', operator: 'NotIn', values: [other] }));
  const matchFields = [...onNode, ...notOn];
  if (matchFields.length === 0) return {};
  return {
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] } },
    },
  };
}
