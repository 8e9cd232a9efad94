import {
  ANNOTATIONS,
  API_GROUP_VERSION,
  type Checkpoint,
  CONTAINERS,
  DELETE_CHECKPOINT,
  type DeletionQuestion,
  GPU_RESOURCE,
  LABELS,
  POD_PATHS,
} from '@coxswain/api-types';
import { trainerImageOf, withUnprivilegedUser } from '@coxswain/runtime';
import { bucketEnvironment } from '../training-job/pod-manifest.ts';
import { launcherDelivery } from '../training-job/launcher-delivery.ts';
import { identityOf, userOf, type WorkerContext } from '../worker-pods/worker-context.ts';

/** Where a worker runs, and as whom. */
export interface DeletionContext extends WorkerContext {
  /** Another worker was to delete it, some time ago. */
  readonly isAgain?: boolean;
}

const VOLUME = 'coxswain-checkpoints';
const MAX_NAME = 253;
const RESOURCES = { requests: { cpu: '100m', memory: '256Mi' }, limits: { cpu: '1', memory: '512Mi' } };
/** Time to delete: 100,000 files at 50 a second. */
const DELETION_SECONDS = 3_600;

type Json = Readonly<Record<string, unknown>>;

/** Name of the pod that deletes the files of a checkpoint. */
export function deletionPodName({ metadata }: Checkpoint): string {
  return `${metadata.name.slice(0, MAX_NAME - '-delete'.length)}-delete`;
}

/**
 * A pod that deletes one save and can do nothing else: it may write to the folder of this save alone, sees the rest of the claim read-only, and has no token. A
 * save that is thought to be gone is not mounted, because the kubelet would create its folder. In a bucket the credentials of the job set the limits.
 */
export function deletionPod(checkpoint: Checkpoint, survivors: readonly Checkpoint[], context: DeletionContext): Json {
  const { metadata, spec, status } = checkpoint;
  const { bucket } = spec;
  const isMounted = status?.absent === undefined;
  const saveOf = ({ spec: { path, manifestSha256 } }: Checkpoint) => ({ path, manifestSha256 });
  const question: DeletionQuestion = {
    save: saveOf(checkpoint),
    isMounted,
    ...(bucket === undefined ? {} : { isInBucket: true }),
    survivors: survivors.map(saveOf),
    ...(context.isAgain === true ? { onlyIfBegun: true } : {}),
  };
  const securityContext = {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  };
  const launcher = launcherDelivery({ launcherImage: context.launcherImage, securityContext });
  const template = userOf(context.runtime);
  const mounts = bucket === undefined ? mountsOf(checkpoint) : [];
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: deletionPodName(checkpoint),
      namespace: metadata.namespace,
      labels: { [LABELS.worker]: DELETION_WORKER },
      annotations: { [ANNOTATIONS.deletion]: JSON.stringify(question) },
      ownerReferences: [{ apiVersion: API_GROUP_VERSION, kind: 'Checkpoint', name: metadata.name, uid: metadata.uid }],
    },
    spec: {
      restartPolicy: 'Never',
      activeDeadlineSeconds: DELETION_SECONDS,
      automountServiceAccountToken: false,
      ...identityOf(bucket, context.runtime),
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
          command: [POD_PATHS.launcher, DELETE_CHECKPOINT, JSON.stringify(question).replaceAll('$', '$$$$')],
          env: bucketEnvironment(bucket),
          resources: RESOURCES,
          securityContext: { ...template.trainer, ...securityContext },
          terminationMessagePath: POD_PATHS.terminationMessage,
          terminationMessagePolicy: 'File',
          volumeMounts: [...launcher.mounts, ...mounts],
        },
      ],
      volumes: [
        ...launcher.volumes,
        ...(bucket === undefined ? [{ name: VOLUME, persistentVolumeClaim: { claimName: spec.claimName } }] : []),
      ],
    },
  };
  return withUnprivilegedUser(pod, context.runtime, context.user);
}

function mountsOf({ spec, status }: Checkpoint): readonly Json[] {
  const isMounted = status?.absent === undefined;
  return [
    { name: VOLUME, mountPath: POD_PATHS.checkpoints, readOnly: true },
    ...(isMounted ? [{ name: VOLUME, mountPath: POD_PATHS.save, subPath: spec.path }] : []),
  ];
}

/** Value of the label of these pods. */
export const DELETION_WORKER = 'delete';

function onNode(node: string | undefined): Json {
  if (node === undefined) return {};
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node] }];
  return {
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] } },
    },
  };
}
