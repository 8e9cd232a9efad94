/** What is read of a pod that another controller made and a user wants observed. */
import { OBSERVE_ANNOTATIONS, type ObservedJob } from '@coxswain/api-types';
import { useOfPod } from '@coxswain/fabric';
import type { KubeObject } from '@coxswain/kube';
import { safeText } from '@coxswain/safe-text';
import { z } from 'zod';

/** A job as its pods name it. */
export interface ObservedOwner {
  readonly kind: ObservedJob['kind'];
  readonly name: string;
  readonly uid: string;
}

/** A pod with the label for observation. */
export interface ObservedPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly node?: string;
  readonly phase: string;
  /** When its node accepted it; undefined before. */
  readonly beganAtMs?: number;
  readonly gpus: number;
  readonly isOver: boolean;
  readonly owner: ObservedOwner;
  readonly attempt: number;
  /** Exit codes of containers that ended. */
  readonly exitCodes: readonly number[];
  /** Why the admission policy left the pod as it was; undefined: it wrapped the command of a container. */
  readonly notWrapped?: string;
}

const texts = z.record(z.string(), z.string()).catch({});
const ended = z.object({ state: z.object({ terminated: z.object({ exitCode: z.int() }) }) });
/** Any editor of the pod can write these: what has another shape counts as absent. */
const PodShape = z.object({
  metadata: z.object({
    labels: texts,
    annotations: texts,
    ownerReferences: z
      .array(
        z.object({
          kind: z.string(),
          name: z.string(),
          uid: z.string(),
          controller: z.boolean().optional().catch(undefined),
        }),
      )
      .catch([]),
  }),
  status: z
    .object({
      phase: z.string().catch('Unknown'),
      startTime: z.string().optional().catch(undefined),
      containerStatuses: z.array(z.unknown()).catch([]),
    })
    .catch({ phase: 'Unknown', containerStatuses: [] }),
});

const LABELS_OF_OTHERS = {
  jobSetName: 'jobset.sigs.k8s.io/jobset-name',
  jobSetUid: 'jobset.sigs.k8s.io/jobset-uid',
  restartAttempt: 'jobset.sigs.k8s.io/restart-attempt',
  pyTorchJobName: 'training.kubeflow.org/job-name',
} as const;
/** Kubeflow Trainer makes a JobSet of each TrainJob, under its name. A pod without its labels counts as one of that JobSet. */
const TRAINER_PREFIX = 'trainer.kubeflow.org/';
const NEITHER =
  'the admission policy did not see this pod: it was created before the policy, or the policy failed. Create the pod again';
const MAX_REASON = 512;

/** Of a DNS subdomain, as the API server has it for names. References to owners are not checked by it. */
const MAX_NAME = 253;
const MAX_UID = 64;
const MAX_EXIT_CODES = 64;

/** Never throws. */
export function toObservedPod(pod: KubeObject): ObservedPod | undefined {
  const parsed = PodShape.safeParse(pod);
  const { uid, namespace, name } = pod.metadata;
  if (!parsed.success || uid === undefined || namespace === undefined) return undefined;
  const { metadata, status } = parsed.data;
  const { gpus, nodeName, isOver } = useOfPod(pod);
  const beganAtMs = Date.parse(status.startTime ?? '');
  const wrapped = metadata.annotations[OBSERVE_ANNOTATIONS.wrapped];
  const why = metadata.annotations[OBSERVE_ANNOTATIONS.notWrapped] ?? NEITHER;
  return {
    uid,
    namespace,
    name,
    ...(nodeName === undefined ? {} : { node: nodeName }),
    phase: safeText(status.phase, 32),
    ...(Number.isNaN(beganAtMs) ? {} : { beganAtMs }),
    gpus,
    isOver,
    owner: boundedOwner(ownerOf(metadata, { name, uid })),
    attempt: attemptOf(metadata.labels[LABELS_OF_OTHERS.restartAttempt]),
    exitCodes: status.containerStatuses
      .slice(0, MAX_EXIT_CODES)
      .flatMap((one) => ended.safeParse(one).data?.state.terminated.exitCode ?? []),
    ...(wrapped === undefined ? { notWrapped: safeText(why, MAX_REASON) } : {}),
  };
}

function boundedOwner({ kind, name, uid }: ObservedOwner): ObservedOwner {
  return { kind, name: safeText(name, MAX_NAME), uid: safeText(uid, MAX_UID) };
}

function ownerOf(
  { labels, ownerReferences }: z.infer<typeof PodShape>['metadata'],
  pod: { readonly name: string; readonly uid: string },
): ObservedOwner {
  const controller = ownerReferences.find((one) => one.controller === true);
  const jobSet = labels[LABELS_OF_OTHERS.jobSetName];
  if (jobSet !== undefined) {
    const isTrainJob = Object.keys(labels).some((label) => label.startsWith(TRAINER_PREFIX));
    return { kind: isTrainJob ? 'TrainJob' : 'JobSet', name: jobSet, uid: labels[LABELS_OF_OTHERS.jobSetUid] ?? '' };
  }
  if (controller?.kind === 'PyTorchJob' || labels[LABELS_OF_OTHERS.pyTorchJobName] !== undefined) {
    const name = labels[LABELS_OF_OTHERS.pyTorchJobName] ?? controller?.name ?? pod.name;
    return { kind: 'PyTorchJob', name, uid: controller?.uid ?? '' };
  }
  return controller?.kind === 'Job'
    ? { kind: 'Job', name: controller.name, uid: controller.uid }
    : { kind: 'Pod', name: pod.name, uid: pod.uid };
}

function attemptOf(label: string | undefined): number {
  return label !== undefined && /^\d{1,6}$/.test(label) ? Number(label) : 0;
}
