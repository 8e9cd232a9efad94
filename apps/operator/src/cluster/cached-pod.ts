import {
  API_GROUP,
  CONTAINERS,
  LABELS,
  MAX_TERMINATION_MESSAGE_BYTES,
  POD_FINALIZER,
  SCHEDULING_GATE,
  TerminationCause,
  podOfName,
} from '@coxswain/api-types';
import { useOfPod } from '@coxswain/fabric';
import type { KubeObject } from '@coxswain/kube';
import type { ObservedExit, ObservedPod } from '@coxswain/lifecycle';
import { parseForeignJson, safeText } from '@coxswain/safe-text';

/**
 * The part of a pod that the operator keeps: 0.4 kB for a foreign pod (only its GPUs count), and about 1 kB for a gang's pod. A whole pod is 25 kB,
 * and there may be 100,000.
 */
export interface CachedPod extends KubeObject {
  /** GPUs that it takes on its node while it is not terminal. */
  readonly gpus: number;
  readonly nodeName?: string;
  readonly terminal: boolean;
  /** Only for pods that belong to a job by their owner, carry a job's UID label or our finalizer, or were read because they bear a gang's name. */
  readonly gang?: GangFacts;
}

interface GangFacts {
  /** UID of the owning job; without an owner, UID from the label, or empty. Labels are untrusted, because any editor of the pod can change them. */
  readonly jobUid: string;
  /** No owner and no label names the job of `jobUid`, so its existence cannot be checked. */
  readonly nameless?: true;
  readonly epoch: number;
  readonly podIndex: number;
  /** UID of the job that is its controlling owner. Another kind of owner may bear a job's UID, and the chart's admission policy lets anybody write it. */
  readonly ownerUid?: string;
  /** Position of our finalizer among the pod's; absent once the pod is let go of. */
  readonly finalizerPosition?: number;
  /** Position of our scheduling gate among the pod's gates; absent once it is lifted. */
  readonly gatePosition?: number;
  readonly phase: ObservedPod['phase'];
  readonly lingers?: true;
  readonly running: boolean;
  readonly pullsImage?: true;
  readonly containerWaiting?: NonNullable<ObservedPod['containerWaiting']>;
  readonly exit?: ObservedExit;
  readonly disruption?: string;
  readonly statusReason?: string;
  readonly statusMessage?: string;
  readonly schedulingMessage?: string;
}

/**
 * Reduces a pod to the kept part. Never throws, because pods are untrusted input: fields of another shape count as absent, and texts are made safe.
 * `asGang` keeps the gang's facts of a pod without our label too.
 */
export function toCachedPod(pod: KubeObject, options: { readonly asGang?: boolean } = {}): CachedPod {
  const spec = record(field(pod, 'spec'));
  const status = record(field(pod, 'status'));
  const { name, namespace, uid, resourceVersion, deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  const labels = record(pod.metadata.labels);
  const phase = phaseOf(status);
  const { gpus, nodeName, isOver } = useOfPod(pod);
  const isGang = options.asGang === true || text(labels[LABELS.jobUid]) !== undefined || isHeldOrOwned(pod);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      ...optional('namespace', namespace),
      ...optional('uid', uid),
      ...optional('resourceVersion', resourceVersion),
      ...optional('deletionTimestamp', deletionTimestamp),
      ...optional('deletionGracePeriodSeconds', deletionGracePeriodSeconds),
    },
    gpus,
    ...optional('nodeName', nodeName),
    terminal: isOver,
    ...(isGang ? { gang: gangFacts({ pod, spec, status, labels, phase }) } : {}),
  };
}

/** Memo by cached pod, which is immutable: a gang's pods are read often and rarely change. */
const observedPods = new WeakMap<CachedPod, { readonly jobUid: string; readonly pod: ObservedPod }>();

/** The pod as input for decisions. A pod with a job's label but another owner is foreign, and its labels are not trusted. */
export function toObservedPod(pod: CachedPod, jobUid: string): ObservedPod {
  const known = observedPods.get(pod);
  if (known?.jobUid === jobUid) return known.pod;
  const observed = observedPod(pod, jobUid);
  observedPods.set(pod, { jobUid, pod: observed });
  return observed;
}

function observedPod(pod: CachedPod, jobUid: string): ObservedPod {
  const { gang } = pod;
  // The owner counts, not the labels.
  const ours = gang !== undefined && gang.ownerUid === jobUid;
  return {
    name: pod.metadata.name,
    uid: pod.metadata.uid ?? '',
    ...optional('resourceVersion', pod.metadata.resourceVersion),
    epoch: ours ? gang.epoch : 0,
    podIndex: ours ? gang.podIndex : 0,
    ...optional('nodeName', pod.nodeName),
    gated: gang?.gatePosition !== undefined,
    phase: gang?.phase ?? 'Unknown',
    ...optional('lingers', gang?.lingers),
    ...optional('deletionTimestamp', pod.metadata.deletionTimestamp),
    ...optional('deletionGracePeriodSeconds', pod.metadata.deletionGracePeriodSeconds),
    held: gang?.finalizerPosition !== undefined,
    running: gang?.running ?? false,
    ...optional('pullsImage', gang?.pullsImage),
    ours,
    ...optional('containerWaiting', gang?.containerWaiting),
    ...optional('exit', gang?.exit),
    ...optional('disruption', gang?.disruption),
    ...optional('statusReason', gang?.statusReason),
    ...optional('statusMessage', gang?.statusMessage),
    ...optional('schedulingMessage', gang?.schedulingMessage),
  };
}

interface RawPod {
  readonly pod: KubeObject;
  readonly spec: Fields;
  readonly status: Fields;
  readonly labels: Fields;
  readonly phase: ObservedPod['phase'];
}

/** UID of the controlling owner, where that is a job. */
function ownerUidOf(pod: KubeObject): string | undefined {
  const owner = list(pod.metadata.ownerReferences).find((reference) => reference['controller'] === true);
  const isJob = owner?.['kind'] === 'TrainingJob' && text(owner['apiVersion'])?.startsWith(`${API_GROUP}/`) === true;
  return isJob ? text(owner['uid']) : undefined;
}

function finalizersOf({ metadata: { finalizers } }: KubeObject): readonly unknown[] {
  return Array.isArray(finalizers) ? finalizers : [];
}

function isHeldOrOwned(pod: KubeObject): boolean {
  return finalizersOf(pod).includes(POD_FINALIZER) || ownerUidOf(pod) !== undefined;
}

function gangFacts({ pod, spec, status, labels, phase }: RawPod): GangFacts {
  const ownerUid = ownerUidOf(pod);
  const { epoch, podIndex } = podOfName(pod.metadata.name) ?? {
    epoch: wholeNumber(labels[LABELS.epoch]),
    podIndex: wholeNumber(labels[LABELS.podIndex]),
  };
  const gatePosition = list(spec['schedulingGates']).findIndex((gate) => gate['name'] === SCHEDULING_GATE);
  const finalizerPosition = finalizersOf(pod).indexOf(POD_FINALIZER);
  const conditions = list(status['conditions']);
  const main = list(status['containerStatuses']);
  const trainer = main.find((container) => container['name'] === CONTAINERS.trainer);
  const starting = list(status['initContainerStatuses']);
  // Sidecars that start before the trainer; their exit codes do not count.
  const sidecars = new Set(
    list(spec['initContainers'])
      .filter((container) => container['restartPolicy'] === 'Always')
      .map(({ name }) => name),
  );
  const trainers = trainer === undefined ? [] : [trainer];
  const containers = [...starting, ...trainers];
  const exit = exitOf([...starting.filter(({ name }) => !sidecars.has(name)), ...trainers]);
  const beside = main.filter((container) => container !== trainer).map(exitCodeOf);
  const unscheduled = conditions.find((one) => one['type'] === 'PodScheduled' && one['status'] === 'False');
  const disruption = conditions.find((one) => one['type'] === 'DisruptionTarget' && one['status'] === 'True');
  const jobUid = ownerUid ?? text(labels[LABELS.jobUid]) ?? '';
  const isNamed =
    text(labels[LABELS.jobName]) !== undefined ||
    list(pod.metadata.ownerReferences).some(({ uid, name }) => uid === jobUid && text(name) !== undefined);
  return {
    jobUid,
    ...(isNamed ? {} : { nameless: true }),
    epoch,
    podIndex,
    ...optional('ownerUid', ownerUid),
    ...(gatePosition < 0 ? {} : { gatePosition }),
    ...(finalizerPosition < 0 ? {} : { finalizerPosition }),
    ...judgedByTrainer({ phase, reason: status['reason'], trainer: exitCodeOf(trainer), beside }),
    running: trainer !== undefined && record(record(trainer['state'])['running'])['startedAt'] !== undefined,
    ...(isPullingImage(conditions, trainer) ? { pullsImage: true } : {}),
    ...optional(
      'containerWaiting',
      containers.map(waitingOf).find((waiting) => waiting !== undefined),
    ),
    ...optional('exit', exit),
    ...optional('disruption', disruption === undefined ? undefined : (short(disruption['reason']) ?? 'Disrupted')),
    ...optional('statusReason', short(status['reason'])),
    ...optional('statusMessage', short(status['message'])),
    ...optional('schedulingMessage', gatePosition < 0 ? short(unscheduled?.['message']) : undefined),
  };
}

/**
 * The phase by the trainer container alone; Kubernetes waits for sidecars and counts their failures. If no container runs, the kubelet's phase is awaited:
 * until it has cleaned up it reports neither phase nor reason, for instance of an eviction.
 */
function judgedByTrainer(seen: {
  readonly phase: ObservedPod['phase'];
  readonly reason: unknown;
  readonly trainer: number | undefined;
  readonly beside: readonly (number | undefined)[];
}): Pick<GangFacts, 'phase' | 'lingers'> {
  const { phase, reason, trainer, beside } = seen;
  if (trainer === undefined || phase === 'Succeeded') return { phase };
  if (phase !== 'Failed') {
    return beside.includes(undefined) ? { phase: trainer === 0 ? 'Succeeded' : 'Failed', lingers: true } : { phase };
  }
  const isFailureOfOthers = trainer === 0 && reason === undefined && beside.some((code) => code !== 0);
  return { phase: isFailureOfOthers ? 'Succeeded' : phase };
}

/**
 * The kubelet mounts volumes before the first container of a pod, so once all init containers are done the trainer waits for its image alone. A pull that
 * has failed has a reason of its own, which stays while it is tried again.
 */
function isPullingImage(conditions: readonly Fields[], trainer: Fields | undefined): boolean {
  const isInitialized = conditions.some((one) => one['type'] === 'Initialized' && one['status'] === 'True');
  const waiting = record(trainer?.['state'])['waiting'];
  return isInitialized && waiting !== undefined && trainer !== undefined && waitingOf(trainer) === undefined;
}

function exitCodeOf(container: Fields | undefined): number | undefined {
  const exitCode = record(record(container?.['state'])['terminated'])['exitCode'];
  return typeof exitCode === 'number' ? exitCode : undefined;
}

function waitingOf(container: Fields): ObservedPod['containerWaiting'] {
  const waiting = record(record(container['state'])['waiting']);
  const reason = short(waiting['reason']);
  if (reason === undefined || reason === 'PodInitializing' || reason === 'ContainerCreating') return undefined;
  return { reason, message: short(waiting['message']) ?? '', image: short(container['image']) ?? '' };
}

/** The first init container that failed, else the trainer's end. */
function exitOf(containers: readonly Fields[]): ObservedExit | undefined {
  for (const container of containers) {
    const terminated = record(record(container['state'])['terminated']);
    const exitCode = terminated['exitCode'];
    if (typeof exitCode !== 'number') continue;
    const isTrainer = container['name'] === CONTAINERS.trainer;
    if (!isTrainer && exitCode === 0) continue;
    const signal = terminated['signal'];
    return {
      exitCode,
      ...(typeof signal === 'number' && signal > 0 ? { signal } : {}),
      reason: short(terminated['reason']) ?? '',
      ...optional('finishedAt', text(terminated['finishedAt'])),
      ...optional('cause', isTrainer ? terminationCause(terminated['message']) : undefined),
    };
  }
  return undefined;
}

/** The cause that a launcher left in its termination message; undefined when it is missing, cut off or something else. */
export function terminationCause(message: unknown): TerminationCause | undefined {
  if (typeof message !== 'string' || message.length > MAX_TERMINATION_MESSAGE_BYTES) return undefined;
  try {
    return TerminationCause.safeParse(parseForeignJson(message)).data;
  } catch {
    return undefined;
  }
}

const PHASES = new Set<unknown>(['Pending', 'Running', 'Succeeded', 'Failed']);

function phaseOf(status: Fields): ObservedPod['phase'] {
  const phase = status['phase'];
  if (phase === undefined) return 'Pending';
  return PHASES.has(phase) ? (phase as ObservedPod['phase']) : 'Unknown';
}

type Fields = Readonly<Record<string, unknown>>;
const NOTHING: Fields = {};
/** Messages of kubelet and scheduler are for one sentence of a person's; the rest is in the pod itself. */
const MAX_SHORT = 512;

function field(object: object, name: string): unknown {
  return (object as Fields)[name];
}

function record(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : NOTHING;
}

function list(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(record) : [];
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function short(value: unknown): string | undefined {
  const written = text(value);
  return written === undefined ? undefined : safeText(written, MAX_SHORT);
}

function wholeNumber(value: unknown): number {
  const number = typeof value === 'string' && /^[0-9]{1,9}$/.test(value) ? Number(value) : 0;
  return number;
}

function optional<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: V });
}
