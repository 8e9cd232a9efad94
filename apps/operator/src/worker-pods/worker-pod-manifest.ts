import {
  API_GROUP_VERSION,
  type Checkpoint,
  CONTAINERS,
  GPU_RESOURCE,
  LABELS,
  POD_PATHS,
  type TrainingJob,
} from '@coxswain/api-types';
import { trainerImageOf, withUnprivilegedUser } from '@coxswain/runtime';
import { WorkerPlacement } from '../config/worker-placement.ts';
import { launcherDelivery } from '../training-job/launcher-delivery.ts';
import { userOf, type WorkerContext } from './worker-context.ts';

type Json = Readonly<Record<string, unknown>>;

/** Volume of the claim that has the checkpoint. */
export const CLAIM_VOLUME = 'coxswain-checkpoints';

/** What one kind of worker does to a checkpoint. */
export interface WorkerTask {
  /** Name of the pod, from `workerNameOf`. */
  readonly name: string;
  /** Value of the label of such pods. */
  readonly label: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deadlineSeconds: number;
  /** Subcommand of the launcher, and its arguments. */
  readonly command: readonly string[];
  readonly env: readonly Json[];
  readonly resources: Json;
  readonly volumes: readonly Json[];
  readonly mounts: readonly Json[];
  /** Whether the pod mounts something of the claim that it may write. */
  readonly mayWrite: boolean;
  /** Nodes that must not run it. */
  readonly otherThan?: readonly string[];
  /** More fields of the pod's spec. */
  readonly identity?: Json;
}

/** The pod is deleted with it. */
type WorkerOwner = Pick<Checkpoint | TrainingJob, 'kind' | 'metadata'>;

const MAX_NAME = 253;

/** Name of the pod that has this task for the checkpoint: there is one at a time. */
export function workerNameOf({ metadata }: Pick<Checkpoint, 'metadata'>, task: string): string {
  return `${metadata.name.slice(0, MAX_NAME - task.length - 1)}-${task}`;
}

/**
 * A pod that the Checkpoint or job owns, without a token and with restricted security. It runs the launcher in the image of the trainer, as the trainer's user, who
 * wrote the files.
 */
export function workerPodManifest({ kind, metadata }: WorkerOwner, context: WorkerContext, task: WorkerTask): Json {
  const securityContext = {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  };
  const launcher = launcherDelivery({ launcherImage: context.launcherImage, securityContext });
  const template = userOf(context.runtime);
  const workers = context.workers ?? WorkerPlacement.parse({});
  const annotations = { ...workers.annotations, ...task.annotations };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: task.name,
      namespace: metadata.namespace,
      labels: { ...workers.labels, [LABELS.worker]: task.label },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ownerReferences: [{ apiVersion: API_GROUP_VERSION, kind, name: metadata.name, uid: metadata.uid }],
    },
    spec: {
      restartPolicy: 'Never',
      activeDeadlineSeconds: task.deadlineSeconds,
      automountServiceAccountToken: false,
      ...task.identity,
      enableServiceLinks: false,
      tolerations: [{ key: GPU_RESOURCE, operator: 'Exists', effect: 'NoSchedule' }, ...workers.tolerations],
      ...(Object.keys(workers.nodeSelector).length === 0 ? {} : { nodeSelector: workers.nodeSelector }),
      ...(workers.priorityClassName === '' ? {} : { priorityClassName: workers.priorityClassName }),
      securityContext: {
        ...template.pod,
        // Otherwise, with fsGroup, the kubelet changes the owner of every file on the volume.
        ...(task.mayWrite && 'fsGroup' in template.pod ? { fsGroupChangePolicy: 'OnRootMismatch' } : {}),
        seccompProfile: { type: 'RuntimeDefault' },
      },
      ...(template.imagePullSecrets === undefined ? {} : { imagePullSecrets: template.imagePullSecrets }),
      ...affinity(context.node, task.otherThan ?? []),
      initContainers: launcher.initContainers,
      containers: [
        {
          name: CONTAINERS.trainer,
          image: (context.job && trainerImageOf(context.job.spec, context.runtime)) ?? context.launcherImage,
          command: [POD_PATHS.launcher, ...task.command],
          env: task.env,
          resources: task.resources,
          securityContext: { ...template.trainer, ...securityContext },
          terminationMessagePath: POD_PATHS.terminationMessage,
          terminationMessagePolicy: 'File',
          volumeMounts: [...launcher.mounts, ...task.mounts],
        },
      ],
      volumes: [...launcher.volumes, ...task.volumes],
    },
  };
  return withUnprivilegedUser(pod, context.runtime, context.user);
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
