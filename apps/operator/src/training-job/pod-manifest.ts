import {
  ANNOTATIONS,
  bucketVariables,
  type CheckpointBucket,
  type CheckpointLocation,
  CONTAINERS,
  DEFAULT_PREFLIGHT,
  EngineRun,
  GPU_RESOURCE,
  hostMemoryPerGpu,
  LABELS,
  memorySaveBounds,
  memorySaveBytesPerGpu,
  POD_ENV,
  POD_FINALIZER,
  POD_PATHS,
  REPORT_TOKEN_AUDIENCE,
  SCHEDULING_GATE,
  formatRanks,
  gpusOfPod,
  placeOf,
  ranksOfPod,
  type KeptLogBounds,
  type Placement,
  type SecretFile,
  type SecretVariable,
  type TrainingJob,
  gangOfPod,
} from '@coxswain/api-types';
import type { RenderedEngine } from '@coxswain/engines';
import { withUnprivilegedUser, withSocketTransport, podWithRuntime, trainerImageOf } from '@coxswain/runtime';
import { launcherDelivery } from './launcher-delivery.ts';
import { ownedBy } from './owner.ts';
import { timesCpu, timesMemory } from '../cluster/quantity.ts';
import { cachesOf, scratchOf } from './pod-scratch.ts';
import { OFFLINE, trackersOf } from './pod-libraries.ts';
import { sharedMemory, threadsOfRank, UNDISTURBED } from './pod-needs.ts';

/** Inputs of a pod beside job and placement; the same for every pod of a gang. */
export interface PodContext {
  readonly launcherImage: string;
  /** Base URLs of the report endpoint. */
  readonly reportUrls: readonly string[];
  /** PEM bundle that signs the report endpoint's certificate. */
  readonly reportCaPem: string;
  /** User ID of containers that the runtime gives none; undefined: the user of the image. */
  readonly user: number | undefined;
  /** How much of the ranks' logs is kept beside the checkpoints. Absent: nothing. */
  readonly keptLogs?: KeptLogBounds;
  /** As the engine's adapter rendered it. */
  readonly engine: RenderedEngine;
  readonly name: string;
  /** Reads the archive of the job's code for some time. Absent: the job has none, or no bucket is known. */
  readonly codeUrl?: string;
  /** PriorityClass of the pod, which never preempts. Absent: that of the runtime, else the default of the cluster. */
  readonly priorityClassName?: string;
}

const TOKEN_VOLUME = 'coxswain-token';
const CHECKPOINT_VOLUME = 'coxswain-checkpoints';
const DATA_VOLUME = 'coxswain-data';
const WEIGHTS_VOLUME = 'coxswain-weights';
const ADOPTED_VOLUME = 'coxswain-adopted';
const CODE_VOLUME = 'coxswain-code';
const SECRETS_VOLUME = 'coxswain-secrets';
/** Shortest that keeps a token fresh without asking the API server often: the kubelet renews it at 80 %. */
const TOKEN_LIFETIME_SECONDS = 3600;

/**
 * Tolerates the taint of GPU nodes and, without a limit, those of nodes that do not answer. Without the latter, the API server adds them with 300 s.
 * After that the controller-manager would delete the pods of a gang that may be training well. Only the operator judges that. Both are NoExecute
 * alone: the NoSchedule taints of the same names keep new pods away from such a node.
 */
const TOLERATIONS = [
  { key: GPU_RESOURCE, operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
] as const;

/**
 * One pod of a gang, complete: a gated pod's environment cannot change any more and its affinity can be set only once.
 * It waits behind {@link SCHEDULING_GATE}, and the scheduler can bind it to its node alone.
 */
export function toPod(
  gang: { readonly job: TrainingJob; readonly placement: Pick<Placement, 'spec'> },
  podIndex: number,
  context: PodContext,
): Record<string, unknown> {
  const { job, placement } = gang;
  const { name, namespace } = job.metadata;
  const ranks = ranksOfPod(placement.spec, podIndex);
  const securityContext = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
  const launcher = launcherDelivery({ launcherImage: context.launcherImage, securityContext });
  const secretFiles = job.spec.engine.secretFiles ?? [];
  const gpus = gpusOfPod(placement.spec, podIndex);
  const limits = limitsOf(job, gpus);
  const scratch = scratchOf(job.spec.scratch);
  const shared = sharedMemory(limits['memory'], memorySaveBytesPerGpu(job.spec) * gpus);
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: context.name,
      namespace,
      labels: {
        [LABELS.jobUid]: job.metadata.uid,
        [LABELS.jobName]: name,
        [LABELS.epoch]: String(placement.spec.epoch),
        [LABELS.podIndex]: String(podIndex),
      },
      annotations: { [ANNOTATIONS.ranks]: formatRanks(ranks), ...UNDISTURBED },
      ownerReferences: [ownedBy(job)],
      finalizers: [POD_FINALIZER],
    },
    spec: {
      restartPolicy: 'Never',
      schedulingGates: [{ name: SCHEDULING_GATE }],
      ...(context.priorityClassName === undefined ? {} : { priorityClassName: context.priorityClassName }),
      affinity: affinityTo(placement.spec.nodes[podIndex] ?? ''),
      tolerations: TOLERATIONS,
      terminationGracePeriodSeconds: job.spec.terminationGracePeriodSeconds,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      // The launcher is Node, which reaps only its own children; with a shared PID namespace the pause container reaps the others.
      shareProcessNamespace: true,
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      initContainers: launcher.initContainers,
      containers: [
        {
          name: CONTAINERS.trainer,
          ...(job.spec.engine.image === undefined ? {} : { image: job.spec.engine.image }),
          command: [POD_PATHS.launcher, 'run', '--', ...context.engine.command.map(literally)],
          env: environment(gang, { podIndex, context }),
          resources: { requests: limits, limits },
          securityContext,
          terminationMessagePath: POD_PATHS.terminationMessage,
          terminationMessagePolicy: 'File',
          volumeMounts: [
            ...launcher.mounts,
            shared.mount,
            { name: TOKEN_VOLUME, mountPath: POD_PATHS.tokenDirectory, readOnly: true },
            ...(job.spec.checkpoint === undefined
              ? []
              : [{ name: CHECKPOINT_VOLUME, mountPath: POD_PATHS.checkpoints }]),
            ...(job.spec.data?.claimName === undefined
              ? []
              : [{ name: DATA_VOLUME, mountPath: POD_PATHS.data, readOnly: true }]),
            ...scratch.mounts,
            ...(job.spec.code === undefined ? [] : [{ name: CODE_VOLUME, mountPath: POD_PATHS.code }]),
            ...(job.spec.initialWeights === undefined
              ? []
              : [{ name: WEIGHTS_VOLUME, mountPath: POD_PATHS.initialWeights, readOnly: true }]),
            ...(placement.spec.resume?.claimName === undefined
              ? []
              : [{ name: ADOPTED_VOLUME, mountPath: POD_PATHS.adoptedCheckpoint, readOnly: true }]),
            ...(secretFiles.length === 0
              ? []
              : [{ name: SECRETS_VOLUME, mountPath: POD_PATHS.secrets, readOnly: true }]),
          ],
        },
      ],
      volumes: [
        ...launcher.volumes,
        shared.volume,
        {
          name: TOKEN_VOLUME,
          projected: {
            sources: [
              {
                serviceAccountToken: {
                  audience: REPORT_TOKEN_AUDIENCE,
                  expirationSeconds: TOKEN_LIFETIME_SECONDS,
                  path: POD_PATHS.token.slice(POD_PATHS.tokenDirectory.length + 1),
                },
              },
            ],
          },
        },
        ...checkpointVolume(job.spec.checkpoint),
        ...claimVolume(DATA_VOLUME, job.spec.data?.claimName),
        ...scratch.volumes,
        ...(job.spec.code === undefined ? [] : [{ name: CODE_VOLUME, emptyDir: {} }]),
        ...claimVolume(WEIGHTS_VOLUME, job.spec.initialWeights?.claimName),
        ...claimVolume(ADOPTED_VOLUME, placement.spec.resume?.claimName),
        ...secretsVolume(secretFiles),
      ],
    },
  };
  const { runtime, nicClasses } = placement.spec;
  const gangs = { gang: gangOfPod(context.name), nicClass: nicClasses?.[podIndex] };
  const joined = runtime === undefined ? pod : podWithRuntime(pod, runtime, gangs);
  const whole = placement.spec.network === 'Sockets' ? withSocketTransport(joined) : joined;
  return withUnprivilegedUser(whole, runtime, context.user);
}

/** Exactly that node: a name is matched as a field, because a node's hostname label may differ from its name. */
function affinityTo(node: string): Record<string, unknown> {
  const onNode = { matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] };
  return {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [onNode] } },
  };
}

/** Saves on their way to a bucket, and from it, are on a disk of the node. */
function checkpointVolume(checkpoint: CheckpointLocation | undefined): readonly Record<string, unknown>[] {
  return checkpoint?.bucket === undefined
    ? claimVolume(CHECKPOINT_VOLUME, checkpoint?.claimName)
    : [{ name: CHECKPOINT_VOLUME, emptyDir: {} }];
}

function claimVolume(name: string, claimName: string | undefined): readonly Record<string, unknown>[] {
  return claimName === undefined ? [] : [{ name, persistentVolumeClaim: { claimName } }];
}

/** One source per key, because only a whole source can be optional. */
function secretsVolume(files: readonly SecretFile[]): readonly Record<string, unknown>[] {
  if (files.length === 0) return [];
  const sources = files.map((file) => ({
    secret: { name: file.secret, items: [{ key: file.key, path: placeOf(file) }], optional: file.optional },
  }));
  return [{ name: SECRETS_VOLUME, projected: { sources } }];
}

/** The kubelet reads the Secret; the operator never does. */
function secretVariable({ name, secret, key, optional }: SecretVariable): Record<string, unknown> {
  return { name, valueFrom: { secretKeyRef: { name: secret, key, optional } } };
}

/** Requests are the same: a pod whose memory or processors others may take is a straggler. */
function limitsOf(job: TrainingJob, gpus: number): Readonly<Record<string, string>> {
  const { cpuPerGpu } = job.spec.resources;
  const memoryPerGpu = hostMemoryPerGpu(job.spec);
  return {
    [GPU_RESOURCE]: String(gpus),
    ...(cpuPerGpu === undefined ? {} : { cpu: timesCpu(cpuPerGpu, gpus) }),
    ...(memoryPerGpu === undefined ? {} : { memory: timesMemory(memoryPerGpu, gpus) }),
  };
}

/** Makes NCCL fail instead of waiting forever if nodes have different numbers of NICs (NVIDIA/nccl issue 2428). */
const EQUAL_NICS = { NCCL_IGNORE_NET_MISMATCH: '0' };

/** Ours come last: the kubelet lets the later of two equal names win, so a user's variable can never replace one of them. */
function environment(
  gang: { readonly job: TrainingJob; readonly placement: Pick<Placement, 'spec'> },
  pod: { readonly podIndex: number; readonly context: PodContext },
): readonly Record<string, unknown>[] {
  const { job, placement } = gang;
  const { context, podIndex } = pod;
  const { preloadPyTorch } = job.spec.restartPolicy;
  const memorySaves = memorySaveBounds(job.spec);
  const preflight = job.spec.preflight ?? placement.spec.runtime?.preflight ?? DEFAULT_PREFLIGHT;
  const value = (name: string, text: string): Record<string, unknown> => ({ name, value: text });
  const field = (name: string, fieldPath: string): Record<string, unknown> => ({
    name,
    valueFrom: { fieldRef: { fieldPath } },
  });
  const written = [
    value(POD_ENV.jobName, job.metadata.name),
    value(POD_ENV.jobUid, job.metadata.uid),
    value(POD_ENV.namespace, job.metadata.namespace ?? ''),
    field(POD_ENV.podName, 'metadata.name'),
    field(POD_ENV.podUid, 'metadata.uid'),
    field(POD_ENV.podIp, 'status.podIP'),
    field(POD_ENV.nodeName, 'spec.nodeName'),
    value(POD_ENV.podIndex, String(podIndex)),
    value(POD_ENV.epoch, String(placement.spec.epoch)),
    value(POD_ENV.reportUrls, context.reportUrls.join(',')),
    value(POD_ENV.reportCa, context.reportCaPem),
    value(POD_ENV.tokenFile, POD_PATHS.token),
    value(POD_ENV.gracePeriodSeconds, String(job.spec.terminationGracePeriodSeconds)),
    value(POD_ENV.engineRun, literally(JSON.stringify(EngineRun.parse(context.engine)))),
    value(POD_ENV.preflight, preflight.level),
    value(POD_ENV.preflightTimeoutSeconds, String(preflight.timeoutSeconds)),
    ...(memorySaves === undefined ? [] : [value(POD_ENV.memorySaves, JSON.stringify(memorySaves))]),
    ...(preloadPyTorch === undefined ? [] : [value(POD_ENV.preloadPyTorch, preloadPyTorch)]),
    ...(job.spec.checkpoint === undefined ? [] : [value(POD_ENV.checkpointMount, POD_PATHS.checkpoints)]),
    ...keptLogsEnvironment(job, context),
    ...bucketEnvironment(job.spec.checkpoint?.bucket),
    ...codeEnvironment(job, context.codeUrl).map(([name, text]) => value(name, literally(text))),
  ];
  const names = new Set(written.map((entry) => entry['name']));
  const threads = threadsOfRank(job.spec.resources.cpuPerGpu);
  const image = trainerImageOf(job.spec, placement.spec.runtime) ?? '';
  const wanted: Record<string, string> = {
    OMP_NUM_THREADS: String(threads),
    ...(placement.spec.nodes.length > 1 ? EQUAL_NICS : {}),
    ...cachesOf(job.spec.scratch, image),
    ...(job.spec.offline === true ? OFFLINE : {}),
    ...trackersOf(job, placement.spec.epoch),
    ...context.engine.env,
  };
  for (const { name, value: text } of job.spec.engine.env ?? []) wanted[name] = text;
  const users = Object.entries(wanted).filter(([name]) => !names.has(name) && !name.startsWith('COXSWAIN_'));
  const secrets = (job.spec.engine.secretEnv ?? []).map(secretVariable);
  return [...users.map(([name, text]) => value(name, literally(text))), ...secrets, ...written];
}

/** What a launcher needs to keep logs beside the checkpoints, and to mask the values of Secrets in all logs. */
function keptLogsEnvironment({ spec }: TrainingJob, { keptLogs }: PodContext): readonly Record<string, unknown>[] {
  const { secretEnv = [] } = spec.engine;
  const isKept = spec.checkpoint !== undefined && keptLogs !== undefined && keptLogs.rankBytes > 0;
  const secrets = secretEnv.map(({ name }) => name).join(',');
  return [
    ...(isKept ? [{ name: POD_ENV.keptLogs, value: JSON.stringify(keptLogs) }] : []),
    ...(secrets === '' ? [] : [{ name: POD_ENV.secretVariables, value: secrets }]),
  ];
}

/** What the launcher fetches before it starts a rank. The URL reads this archive alone, so the pod needs no credentials. */
function codeEnvironment({ spec }: TrainingJob, url: string | undefined): readonly (readonly [string, string])[] {
  if (spec.code === undefined) return [];
  return [
    [POD_ENV.codeSha256, spec.code.sha256],
    [POD_ENV.codeDirectory, POD_PATHS.code],
    ...(url === undefined ? [] : [[POD_ENV.codeUrl, url] as const]),
  ];
}

/** How a launcher reaches the bucket. The kubelet reads the credentials. */
export function bucketEnvironment(bucket: CheckpointBucket | undefined): readonly Record<string, unknown>[] {
  if (bucket === undefined) return [];
  const { credentialsSecret: _, ...access } = bucket;
  return [{ name: POD_ENV.bucket, value: JSON.stringify(access) }, ...bucketVariables(bucket).map(secretVariable)];
}

/** The kubelet replaces `$(NAME)` and halves `$$`; a program is to be started with what the user wrote. */
export function literally(text: string): string {
  return text.replaceAll('$', '$$$$');
}
