import {
  FINALIZER,
  type Placement,
  type PlacementSpec,
  ranksProblem,
  seatedPlacement,
  TrainingJobSpec,
  type Attempt,
  type Checkpoint,
  type TrainingJob,
  mayBePodOf,
  gangName,
} from '@coxswain/api-types';
import type { FabricCapacity } from '@coxswain/fabric';
import type { MeasuredGpus } from '@coxswain/job-planning';
import { type JobRecord, recordOf } from '../record/job-record.ts';
import type { NodeState, Observed, ObservedPod, RefusedWrite } from './observed.ts';
import { isRecordedPlacement, once } from '@coxswain/scheduling';
import { isOfClaim } from './claims.ts';
import { DEFAULT_RETENTION, type Retention } from './retention.ts';
import { DEFAULT_TIMEOUTS, type Timeouts } from './timeouts.ts';
import { isOver, type Wait } from './waits.ts';

/** How long after its grace period a deleted pod is given up if its node does not answer. */
export const FENCE_AFTER_MS = 30_000;

/** A placement that status records, or is about to record, and that is not created yet. */
export interface UnwrittenPlacement {
  readonly name: string;
  readonly spec: PlacementSpec;
}

/** An observation as the rules use it, without nonsensical values. */
export interface Facts {
  readonly job: TrainingJob;
  readonly generation: number;
  readonly deleting: boolean;
  readonly hasFinalizer: boolean;
  /** undefined: the spec is unreadable; see `specProblem`. */
  readonly spec: TrainingJobSpec | undefined;
  readonly specProblem: string | undefined;
  readonly suspend: boolean;
  readonly cancel: boolean;
  readonly gracePeriodSeconds: number;
  readonly restartPolicy: {
    readonly maxRestarts: number;
    readonly delaySeconds: number;
    readonly sameTraceback?: 'Fail' | 'Restart' | undefined;
  };
  /** The job's own pods of every epoch: by owner, label and name. */
  readonly pods: readonly ObservedPod[];
  /** Names of observed pods that are not the job's. */
  readonly foreignPodNames: ReadonlySet<string>;
  /** Placements that the status records, with the ranks in the pods that hold them now. */
  readonly placements: readonly Placement[];
  /** Placements that name this job and are not in its status: left over or forged. They have no effect. */
  readonly unrecordedPlacements: readonly Placement[];
  /** The Placement that the job's standing claim records; undefined: it does not exist, or no claim stands. */
  readonly claimed: Placement | undefined;
  readonly unwritten?: UnwrittenPlacement;
  readonly checkpoints: readonly Checkpoint[];
  /** Attempts in the status, oldest first. */
  readonly attempts: readonly Attempt[];
  /** The observation was read live: what it lacks does not exist. */
  readonly isProven: boolean;
  /** The status is the newest version. */
  readonly isStatusProven: boolean;
  /** Checkpoints were read live: the job has no others. */
  readonly areCheckpointsProven: boolean;
  readonly refusedPods: ReadonlyMap<string, string>;
  readonly refusedCheckpoints: ReadonlyMap<string, RefusedWrite>;
  readonly elapsedMs: ReadonlyMap<string, number>;
  readonly timeouts: Timeouts;
  readonly retention: Retention;
  readonly measuredGpus: MeasuredGpus;
  /** The observed capacity; computed at most once. */
  readonly capacity: () => FabricCapacity;
  readonly observed: Observed;
}

/** Derives the facts of an observation. `attempts` and `claim`: those of the job's status, if the caller has read them. */
export function factsOf(
  observed: Observed,
  { attempts, claim }: Pick<JobRecord, 'attempts' | 'claim'> = recordOf(observed.job),
): Facts {
  const { job } = observed;
  const { spec, specProblem } = specOf(job);
  const { uid } = job.metadata;
  const isSound = ({ spec }: Placement): boolean => spec?.jobUid === uid && isUsable(spec);
  const isOurs = (placement: Placement): boolean =>
    isSound(placement) && attempts.some((attempt) => isRecordedPlacement(placement, attempt));
  const isClaimed = (placement: Placement): boolean => isSound(placement) && isOfClaim(placement, { claim });
  const gangs = new Map(attempts.map(({ epoch, placement }) => [epoch, gangName(job.metadata, { epoch, placement })]));
  return {
    job,
    generation: isCount(job.metadata.generation) ? job.metadata.generation : 0,
    deleting: job.metadata.deletionTimestamp !== undefined,
    hasFinalizer: job.metadata.finalizers?.includes(FINALIZER) ?? false,
    spec,
    specProblem,
    // `suspend` and `cancel` are read even from a spec that cannot run.
    suspend: rawField(job, 'suspend') === true,
    cancel: rawField(job, 'cancel') === true,
    gracePeriodSeconds: spec?.terminationGracePeriodSeconds ?? 60,
    restartPolicy: spec?.restartPolicy ?? { maxRestarts: 0, delaySeconds: 5 },
    pods: observed.pods.filter(
      (pod) => pod.ours && isCount(pod.epoch) && isCount(pod.podIndex) && isNamed(job, gangs, pod),
    ),
    foreignPodNames: new Set(observed.pods.filter((pod) => !pod.ours).map((pod) => pod.name)),
    placements: observed.placements.filter(isOurs).map((placement) => seatedIn(placement, attempts)),
    unrecordedPlacements: observed.placements.filter((placement) => !isOurs(placement) && !isClaimed(placement)),
    claimed: observed.placements.find((placement) => !isOurs(placement) && isClaimed(placement)),
    attempts,
    checkpoints: observed.checkpoints.filter((checkpoint) => checkpoint.spec?.jobUid === uid),
    isProven: observed.isProven ?? false,
    isStatusProven: observed.isStatusProven ?? observed.isProven ?? false,
    areCheckpointsProven: observed.areCheckpointsProven ?? observed.isProven ?? false,
    refusedPods: observed.refusedPods ?? new Map(),
    refusedCheckpoints: observed.refusedCheckpoints ?? new Map(),
    elapsedMs: observed.elapsedMs ?? new Map(),
    timeouts: { ...DEFAULT_TIMEOUTS, ...observed.timeouts },
    retention: { ...DEFAULT_RETENTION, ...observed.retention },
    measuredGpus: observed.measuredGpus ?? {},
    capacity: once(observed.capacity),
    observed,
  };
}

/** The placement with the ranks in the pods that hold them now. */
function seatedIn(placement: Placement, attempts: readonly Attempt[]): Placement {
  const attempt = attempts.find(({ epoch }) => epoch === placement.spec.epoch);
  if (attempt?.replacements === undefined) return placement;
  return { ...placement, spec: seatedPlacement(placement.spec, attempt) };
}

/** The recorded placement of that attempt, with the ranks in the pods that hold them now; undefined: it does not exist. */
export function placementOf(facts: Facts, epoch: number): Placement | undefined {
  return facts.placements.find((placement) => placement.spec.epoch === epoch);
}

/** The spec of that placement as it was recorded: the ranks are in the pods that held them at first, and each pod requests as many GPUs. */
export function recordedSpecOf(facts: Facts, epoch: number): PlacementSpec | undefined {
  const name = placementOf(facts, epoch)?.metadata.name;
  return facts.observed.placements.find(({ metadata, spec }) => metadata.name === name && spec?.epoch === epoch)?.spec;
}

/** The spec of that placement, also if it is still to be created. */
export function placementSpecOf(facts: Facts, epoch: number): PlacementSpec | undefined {
  const { unwritten } = facts;
  return placementOf(facts, epoch)?.spec ?? (unwritten?.spec.epoch === epoch ? unwritten.spec : undefined);
}

/** Number of pods of a placement, with standbys. */
export function podCount(placement: PlacementSpec): number {
  const { ranks, ranksPerPod = 1, nodes, worldSize } = placement;
  return ranks === undefined ? Math.min(nodes.length, Math.ceil(worldSize / ranksPerPod)) : nodes.length;
}

/** Whether all containers of the pod have ended. */
export function isTerminal(pod: ObservedPod): boolean {
  return pod.phase === 'Succeeded' || pod.phase === 'Failed';
}

/** State of the node; ready if it was not observed or not named. */
export function nodeStateOf(facts: Facts, nodeName: string | undefined): NodeState {
  return nodeName === undefined ? 'ready' : (facts.observed.nodeStates.get(nodeName) ?? 'ready');
}

/** Whether the node's kubelet answers. */
export function doesAnswer(state: NodeState): boolean {
  return state === 'ready' || state === 'leaving';
}

/**
 * The wait for a deleted pod beyond its grace period. After it the pod is fenced. Reports, rendezvous and checkpoints of its epoch are rejected, and
 * its save directory belongs to that attempt alone. Its GPUs count as taken until it ends. undefined: the pod has ended, will never run, or is not
 * deleted.
 */
export function fenceWait(facts: Facts, pod: ObservedPod): Wait | undefined {
  if (isTerminal(pod) || willNeverRun(pod) || pod.deletionTimestamp === undefined) return undefined;
  const graceSeconds = pod.deletionGracePeriodSeconds ?? facts.gracePeriodSeconds;
  return {
    key: fenceKey(pod, graceSeconds),
    limitMs:
      graceSeconds * 1000 + (doesAnswer(nodeStateOf(facts, pod.nodeName)) ? facts.timeouts.stoppingMs : FENCE_AFTER_MS),
  };
}

/** Thousands of pods are asked several times in each reconcile, and a new text is hashed again each time. */
const fenceKeys = new WeakMap<ObservedPod, { readonly graceSeconds: number; readonly key: string }>();

function fenceKey(pod: ObservedPod, graceSeconds: number): string {
  const known = fenceKeys.get(pod);
  if (known?.graceSeconds === graceSeconds) return known.key;
  const key = `deleted/${pod.uid}/${graceSeconds}`;
  fenceKeys.set(pod, { graceSeconds, key });
  return key;
}

/** Whether the pod was deleted before it had a node. The API server binds no pod that is being deleted, so it will never run. */
export function willNeverRun(pod: ObservedPod): boolean {
  return pod.deletionTimestamp !== undefined && pod.nodeName === undefined;
}

/** Whether the pod may still compute or write: it is neither terminal nor fenced. */
export function isLive(facts: Facts, pod: ObservedPod): boolean {
  if (isTerminal(pod) || willNeverRun(pod)) return false;
  const wait = fenceWait(facts, pod);
  return wait === undefined || !isOver(facts, wait);
}

/** Parsed specs, which live as long as the raw spec: every reconciliation reads it. */
const readSpecs = new WeakMap<object, Pick<Facts, 'spec' | 'specProblem'>>();

function specOf({ spec }: TrainingJob): Pick<Facts, 'spec' | 'specProblem'> {
  const raw: unknown = spec;
  if (typeof raw !== 'object' || raw === null) return readSpec(raw);
  const read = readSpecs.get(raw) ?? readSpec(raw);
  readSpecs.set(raw, read);
  return read;
}

function readSpec(raw: unknown): Pick<Facts, 'spec' | 'specProblem'> {
  const result = TrainingJobSpec.safeParse(raw);
  if (result.success) return { spec: result.data, specProblem: undefined };
  const [issue] = result.error.issues;
  const field = ['spec', ...(issue?.path ?? [])].join('.');
  return { spec: undefined, specProblem: `${field}: ${issue?.message ?? 'cannot be read'}` };
}

function rawField(job: TrainingJob, field: 'suspend' | 'cancel'): unknown {
  const spec: unknown = job.spec;
  return typeof spec === 'object' && spec !== null ? Reflect.get(spec, field) : undefined;
}

/** Whether the spec has every field that pods are created from. A view may show a stranger's placement incompletely. */
export function isUsable(spec: PlacementSpec | null | undefined): boolean {
  return (
    typeof spec === 'object' &&
    spec !== null &&
    isCount(spec.epoch) &&
    Array.isArray(spec.nodes) &&
    spec.nodes.length > 0 &&
    isCount(spec.worldSize) &&
    (spec.ranks === undefined ? isCount(spec.ranksPerPod) && spec.ranksPerPod > 0 : hasSoundRanks(spec)) &&
    typeof spec.layout === 'object'
  );
}

/**
 * Whether the pod has the name that its gang's record gives it. A user who may create pods can write any label and owner, but a name is
 * taken once, and a gang's name is unknown before it is recorded. For attempts that the status no longer holds, any of the job's names is
 * accepted.
 */
function isNamed({ metadata }: TrainingJob, gangs: ReadonlyMap<number, string>, pod: ObservedPod): boolean {
  const gang = gangs.get(pod.epoch);
  return gang === undefined ? mayBePodOf(metadata, pod.name) : pod.name === `${gang}-${pod.podIndex}`;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** Results by placement: every reconciliation asks, and checking the ranks takes a step per rank. */
const soundRanks = new WeakMap<PlacementSpec, boolean>();

function hasSoundRanks(spec: PlacementSpec): boolean {
  const known = soundRanks.get(spec);
  if (known !== undefined) return known;
  const { ranks } = spec;
  const isSound =
    Array.isArray(ranks) && ranks.every((one) => typeof one === 'string') && ranksProblem(spec) === undefined;
  soundRanks.set(spec, isSound);
  return isSound;
}
