import {
  DEFAULT_MICRO_BATCH_SIZE,
  type EffectiveSpec,
  type ObjectReference,
  type PassedOverCheckpoint,
  formatRanks,
  isSameLayout,
  type PlacementSpec,
  ranksOfPod,
  referencesOf,
  type ResumeFrom,
  type RuntimeSnapshot,
  placementName,
} from '@coxswain/api-types';
import { acrossIslandsOf, capacityToReplace, type PlacedGang } from '@coxswain/fabric';
import { capacityWithout, type FoundNodes, foundNow, type NodeSearch, searchNodes } from '@coxswain/job-planning';
import { isSameDivision, layoutToLoad } from '@coxswain/checkpoint';
import { worldSize } from '@coxswain/layout';
import { cutText } from '@coxswain/safe-text';
import { nodesByRank, nodesOfStandbys, standbysOnClaim } from './nodes-of-standbys.ts';
import type { Acceptance } from './acceptance.ts';
import { type Start, startAt } from '../conversion/start-at.ts';
import { type GangRequest, isLongSearch, placementSha256 } from '@coxswain/scheduling';
import { standingClaim } from '../observation/claims.ts';
import { type Facts, isLive } from '../observation/facts.ts';
import type { JobRecord } from '../record/job-record.ts';
import { missingPriorityClass } from './job-priority.ts';
import { isGangWanted, type Planning } from './planning.ts';
import { nodeDemandOf } from '@coxswain/runtime';
import { referenceStanding } from '../observation/reference-standing.ts';
import { beforeBeginning, beforePlacing, type WaitingForQuota } from './quota-gate.ts';
import { demandOfQuota } from '../observation/quota-rules.ts';
import { runtimeStanding } from './runtime-standing.ts';
import { restartDelayMs } from '../failure/restart-budget.ts';
import { type SaveInterval, saveInterval } from './save-interval.ts';
import { passedOverBy, type UsablePoint } from '../failure/resume-point.ts';
import { resumedFromOf } from '../failure/resumed-from.ts';
import { areCheckpointsDue } from '../failure/unmade-checkpoints.ts';
import { isOver, type Wait } from '../observation/waits.ts';

/** What the job needs before its next epoch; `notNeeded` while an attempt runs or none is wanted. */
export type NextEpoch =
  | { readonly kind: 'notNeeded' }
  | { readonly kind: 'refused' }
  /** The planner knows too little about the cluster yet. */
  | { readonly kind: 'unplanned'; readonly message: string }
  /** The planner was asked, or will be asked again. */
  | { readonly kind: 'planning'; readonly message: string }
  /** The job's runtime was not read yet. */
  | { readonly kind: 'readingRuntime'; readonly message: string }
  | { readonly kind: 'afterPreviousEpoch'; readonly message: string }
  /** No checkpoint is usable: a user has to choose where to resume. */
  | { readonly kind: 'unresumable'; readonly message: string }
  /** A pod converts the checkpoint before nodes are chosen. */
  | {
      readonly kind: 'converting';
      readonly message: string;
      readonly conversion: (Start & { readonly kind: 'converting' })['conversion'];
    }
  | { readonly kind: 'delayed' }
  /**
   * `refused` is the request that was refused now; absent if an earlier refusal still holds. `wanted`: what the job would be placed with; absent until
   * the layout is known.
   */
  | {
      readonly kind: 'waiting' | 'unsatisfiable';
      readonly message: string;
      readonly refused?: GangRequest;
      readonly wanted?: { readonly placing: Placing; readonly request: GangRequest };
    }
  | WaitingForQuota
  /** Another process searches nodes; `ask` if that search was not started yet, or must be made again. */
  | { readonly kind: 'choosingNodes'; readonly ask?: NodeSearch }
  /** There is room, and the known version of the runtime is too old to begin with. */
  | { readonly kind: 'readingRuntimeAgain' }
  /** An object that the job names does not exist or cannot be used. */
  | { readonly kind: 'objectMissing'; readonly message: string }
  /** The job names a PriorityClass that does not exist, so it has no place in the order. */
  | { readonly kind: 'priorityClassMissing'; readonly message: string }
  /** There is room, and the objects that the job names were not read a moment ago. */
  | { readonly kind: 'readingReferences' }
  /** There is room, and a dry run has not shown yet whether the cluster accepts such pods. */
  | { readonly kind: 'probing'; readonly name: string; readonly spec: PlacementSpec }
  /** The cluster refuses such pods, with its message. */
  | { readonly kind: 'podsRefused'; readonly message: string }
  /** `answers`: the user's request that it follows. `where`: a sentence on why its ranks are placed there; empty for one node. */
  | {
      readonly kind: 'placing';
      readonly where: string;
      /** A sentence on how often its ranks save and why; absent: as the job states. */
      readonly saves?: string;
      readonly name: string;
      readonly spec: PlacementSpec;
      readonly answers?: ResumeFrom;
      /** Suspect checkpoints that are newer than the one that it begins from. */
      readonly passedOver?: readonly PassedOverCheckpoint[];
    };

/** What the next attempt depends on. */
interface Standing {
  readonly facts: Facts;
  readonly record: JobRecord;
  readonly planning: Planning;
  readonly acceptance: Acceptance;
  readonly now: Date;
}

/** An attempt that is to be placed. */
export interface Placing {
  readonly spec: EffectiveSpec;
  readonly epoch: number;
  readonly from: UsablePoint;
  /** Absent: the job states its interval. */
  readonly saves?: SaveInterval | undefined;
  /** Absent: the attempt is recorded already. */
  readonly now?: Date;
}

/** What the job needs before its next epoch, or its placement. */
export function nextEpoch({ record, facts, planning, acceptance, now }: Standing): NextEpoch {
  if (!isGangWanted(record, facts)) return { kind: 'notNeeded' };
  if (acceptance.kind === 'refused') return { kind: 'refused' };
  const runtime = runtimeStanding(facts);
  // The runtime decides which nodes may be used.
  if (runtime.kind === 'unread') return { kind: 'readingRuntime', message: runtime.message };
  if (acceptance.kind === 'unplanned') return planning.kind === 'nothingToAsk' ? NO_GPUS : planningMessage(planning);
  const live = facts.pods.filter((pod) => isLive(facts, pod)).length;
  if (live > 0) {
    return { kind: 'afterPreviousEpoch', message: 'Pods of an earlier attempt are still terminating.' };
  }
  const from = startAt(record, facts, { layout: acceptance.spec.layout, now });
  if (from.kind === 'converting') return from;
  if (from.kind === 'none') return { kind: 'unresumable', message: from.message };
  const delay = restartDelay(record, facts);
  if (delay !== undefined && !isOver(facts, delay)) return { kind: 'delayed' };
  // Before the search for nodes: a job that cannot start takes no GPUs, and its user need not wait for room to learn why.
  const references = referenceStanding(facts, referencesNow(facts));
  if (references.kind === 'unusable') return { kind: 'objectMissing', message: references.message };
  const priority = missingPriorityClass(record, facts);
  if (priority !== undefined) return { kind: 'priorityClassMissing', message: priority };
  if (planning.kind === 'asking')
    return { kind: 'planning', message: 'The planner predicts what the layout will need.' };
  const { spec } = acceptance;
  const epoch = nextEpochNumber(record, facts);
  const placing = { spec, epoch, from, saves: saveInterval(record, spec, epoch), now };
  const request = requestOf(record, facts, placing);
  const withoutQuota = beforePlacing(facts, request);
  if (withoutQuota !== undefined) return withoutQuota;
  const next = placeOnClaim(record, facts, placing) ?? place(record, facts, placing);
  // Only an attempt that would begin now waits, so that a job that waits for something else has a stable message.
  if (next.kind === 'placing' && areCheckpointsDue(record, facts)) {
    return { kind: 'afterPreviousEpoch', message: 'Checkpoints of an earlier attempt are being recorded.' };
  }
  if (next.kind === 'placing' && runtime.kind === 'usable' && !runtime.isFresh) return { kind: 'readingRuntimeAgain' };
  if (next.kind === 'placing' && !(references.kind === 'usable' && references.isFresh))
    return { kind: 'readingReferences' };
  return beforeBeginning(probed(next, facts), facts.observed.quota, request);
}

/** The objects that pods of the next attempt need, as far as its runtime is known. */
export function referencesNow(facts: Facts): readonly ObjectReference[] {
  const { spec } = facts;
  const runtime = runtimeStanding(facts);
  const template = runtime.kind === 'usable' ? runtime.snapshot.template : undefined;
  return spec === undefined ? [] : referencesOf(spec, template);
}

/** Begins no attempt whose pods the cluster would refuse: a dry run of the first pod checks that without side effects. */
function probed(next: NextEpoch, { observed: { podProbe } }: Facts): NextEpoch {
  if (next.kind !== 'placing' || podProbe?.kind === 'accepted') return next;
  return podProbe === undefined
    ? { kind: 'probing', name: next.name, spec: next.spec }
    : { kind: 'podsRefused', message: podProbe.message };
}

const NO_GPUS = { kind: 'unplanned', message: 'The layout is chosen when the cluster has a node with GPUs.' } as const;

function planningMessage(planning: Planning): NextEpoch {
  const message =
    planning.kind === 'askingLater'
      ? `The planner could not choose a layout and is asked again: ${planning.problem}`
      : 'The planner searches for a layout.';
  return { kind: 'planning', message };
}

/** How far a leftover object's epoch may exceed the recorded one. A larger number is nonsense, and would use up epoch numbers. */
export const MAX_LOST_EPOCHS = 10_000;

/**
 * The number after the last epoch that any object shows. If the status was lost, checkpoints and Placements of an epoch outlive its pods.
 */
function nextEpochNumber(record: JobRecord, facts: Facts): number {
  const { placements, checkpoints } = facts.observed;
  const epochs = [...placements, ...checkpoints].map(({ spec }) => spec?.epoch);
  const plausible = epochs.filter((epoch) => Number.isSafeInteger(epoch) && epoch <= record.epoch + MAX_LOST_EPOCHS);
  return Math.max(record.epoch, ...plausible) + 1;
}

/** What the status of an attempt holds of it. */
const MAX_WHERE_CHARACTERS = 512;

/** Places that attempt of the job, if possible. The same observation gives the same placement. */
export function place(record: JobRecord, facts: Facts, placing: Placing): NextEpoch {
  const { spec } = placing;
  const before = gangBefore(facts, placing);
  const request = requestOf(record, facts, placing);
  const standing = facts.observed.standingRefusal?.(request);
  const wanted = { placing, request };
  if (standing !== undefined) return { ...standing, wanted };
  const found = foundNodes(facts, {
    spec,
    request,
    avoided: record.avoidedNodes,
    ...(before === undefined ? {} : { before }),
  });
  if (found.kind === 'choosingNodes') return found;
  if (found.kind !== 'placed') return { ...found, refused: request, wanted };
  const standbys = nodesOfStandbys(record, facts, { spec: placing.spec, gang: found });
  const gang = { ...found, nodes: [...found.nodes, ...standbys.nodes] };
  const where = cutText([found.where, standbys.why ?? ''].join(' ').trim(), MAX_WHERE_CHARACTERS);
  return asPlaced(record, facts, { placing, placement: placementSpec(facts, placing, gang), where });
}

/** What the gang asks for. */
function requestOf(record: JobRecord, facts: Facts, placing: Placing): GangRequest {
  const { spec } = placing;
  const { gpusPerNode } = spec.resources;
  const runtime = runtimeStanding(facts);
  const demand =
    runtime.kind === 'usable' ? nodeDemandOf(runtime.snapshot.template) : demandOfQuota(facts.observed.quota);
  return {
    layout: spec.layout,
    acrossIslands: acrossIslandsOf(spec.resources),
    ...(gpusPerNode === undefined ? {} : { gpusPerNode }),
    ...batchOf(spec),
    ...stageGpusOf(record, spec),
    ...(spec.standby === undefined ? {} : { standbys: spec.standby }),
    ...(demand === undefined ? {} : { demand }),
    ...(mayHaveReserve(record, facts, gangBefore(facts, placing)) ? { replacing: facts.job.metadata.uid } : {}),
  };
}

/**
 * The placement of the standing claim, once no other pod is on its nodes. undefined: they are not free yet, or the attempt would differ from the claimed one
 * by now (another checkpoint, another version of the runtime). Then it is placed like any other, on nodes that are still held for it.
 */
function placeOnClaim(record: JobRecord, facts: Facts, placing: Placing): NextEpoch | undefined {
  const claim = standingClaim(record);
  const { claimed, observed } = facts;
  if (claim?.state !== 'Asking' || claimed === undefined) return undefined;
  const { nodes, ranksPerPod = 1 } = claimed.spec;
  const ofClaim = { ...placing, epoch: claim.epoch };
  const placement = placementSpec(facts, ofClaim, { nodes, ranksPerPod });
  if (placementSha256(placement) !== claim.placementSha256 || observed.isReservable?.(placement) === false)
    return undefined;
  return asPlaced(record, facts, { placing: ofClaim, placement, where: standbysOnClaim(placing.spec) });
}

/** The attempt with that placement. */
function asPlaced(
  record: JobRecord,
  facts: Facts,
  about: { readonly placing: Placing; readonly placement: PlacementSpec; readonly where: string },
): NextEpoch & { readonly kind: 'placing' } {
  const { placing, placement, where } = about;
  const { epoch, from, now } = placing;
  const { name, uid } = facts.job.metadata;
  const { answers } = from;
  const passedOver = passedOverBy(from, record, { facts, ...(now === undefined ? {} : { now }) });
  return {
    kind: 'placing',
    name: placementName({ name, uid }, { epoch, sha256: placementSha256(placement) }),
    spec: placement,
    ...(placing.saves === undefined ? {} : { saves: placing.saves.says }),
    where,
    ...(answers === undefined ? {} : { answers }),
    ...(passedOver.length === 0 ? {} : { passedOver }),
  };
}

/** Searches nodes; long searches run in another process if there is one. */
function foundNodes(facts: Facts, search: NodeSearch): FoundNodes | (NextEpoch & { readonly kind: 'choosingNodes' }) {
  const { nodeSearch } = facts.observed;
  const capacity = facts.capacity();
  if (nodeSearch === undefined || !isLongSearch(search.request, capacity.fabric)) return searchNodes(search, capacity);
  const observed = nodeSearch(search);
  switch (observed.kind) {
    case 'unasked':
      return { kind: 'choosingNodes', ask: search };
    case 'searching':
      return { kind: 'choosingNodes' };
    case 'found':
      return foundNow(search, observed, capacity) ?? { kind: 'choosingNodes', ask: search };
  }
}

/** The GPU type of each pipeline stage as the planner chose it; none for a layout that the planner did not choose. */
function stageGpusOf({ plan }: JobRecord, { layout }: EffectiveSpec): Pick<GangRequest, 'stageGpus'> {
  const { stageGpus } = plan ?? {};
  const isChosen = plan?.chosenBy === 'Planner' && isSameLayout(plan.layout, layout);
  return stageGpus === undefined || !isChosen ? {} : { stageGpus };
}

function batchOf({ training }: EffectiveSpec): Pick<GangRequest, 'batch'> {
  const { globalBatchSize, microBatchSize = DEFAULT_MICRO_BATCH_SIZE } = training ?? {};
  return globalBatchSize === undefined ? {} : { batch: { globalBatchSize, microBatchSize } };
}

/** The spec of the Placement of a gang on these nodes, pod by pod. */
export function placementSpec(
  facts: Facts,
  { spec, epoch, from, saves }: Placing,
  { nodes, ranksPerPod }: { readonly nodes: readonly string[]; readonly ranksPerPod: number },
): PlacementSpec {
  const { job } = facts;
  const runtime = runtimeStanding(facts);
  const microBatchSize = spec.training?.microBatchSize;
  const resume = from.kind === 'checkpoint' ? from.checkpoint : undefined;
  const layout = resume === undefined ? spec.layout : layoutToLoad(spec.layout, resume.spec.format);
  return {
    jobName: job.metadata.name,
    jobUid: job.metadata.uid,
    epoch,
    layout,
    ...(microBatchSize === undefined ? {} : { microBatchSize }),
    ...(saves === undefined ? {} : { saveEverySteps: saves.everySteps }),
    worldSize: worldSize(layout),
    // The previous release reads this field and not `ranks`.
    ranksPerPod,
    nodes: [...nodes],
    ranks: consecutiveRanks({ nodes, ranksPerPod }, worldSize(layout)),
    ...networkOf(facts, spec, nodes),
    ...(resume === undefined ? {} : { resume: resumedFromOf(resume, spec) }),
    ...(runtime.kind === 'usable'
      ? { ...nicClassesOf(facts, runtime.snapshot, nodes), runtime: runtime.snapshot }
      : {}),
  };
}

/**
 * Sockets for every rank, if the gang spans several islands and may use sockets: a rank that used its own NICs would reach no other island.
 */
function networkOf(
  facts: Facts,
  { resources }: EffectiveSpec,
  nodes: readonly string[],
): Pick<PlacementSpec, 'network'> {
  if (acrossIslandsOf(resources) !== 'anyGroup') return {};
  const islands = new Map(facts.capacity().fabric.nodes.map(({ name, island }) => [name, island]));
  return new Set(nodes.map((node) => islands.get(node))).size > 1 ? { network: 'Sockets' } : {};
}

/**
 * NIC class of each node, if the runtime depends on it. It is recorded because labels may change while a gang runs, and pods of a gang are
 * created alike.
 */
function nicClassesOf(
  facts: Facts,
  { nicEnvironments }: RuntimeSnapshot,
  nodes: readonly string[],
): Pick<PlacementSpec, 'nicClasses'> {
  if (nicEnvironments === undefined) return {};
  const classes = new Map(facts.capacity().fabric.nodes.map(({ name, nicType }) => [name, nicType]));
  return { nicClasses: nodes.map((node) => classes.get(node)?.toLowerCase() ?? '') };
}

/** The job's last gang of the same layout, with its nodes. */
function gangBefore(facts: Facts, { spec, epoch }: Placing): PlacedGang | undefined {
  const earlier = facts.placements
    .filter((placement) => placement.spec.epoch < epoch)
    .map((placement) => placement.spec);
  const last = earlier.toSorted((one, other) => one.epoch - other.epoch).at(-1);
  if (last?.ranksPerPod === undefined || !isSameDivision(last.layout, spec.layout)) return undefined;
  return { nodes: nodesByRank(last), ranksPerPod: last.ranksPerPod };
}

/** Whether reserved nodes may replace nodes that the last gang lost. */
function mayHaveReserve({ avoidedNodes }: JobRecord, facts: Facts, before: PlacedGang | undefined): boolean {
  const capacity = facts.capacity();
  if (before === undefined || capacity.reserve === undefined) return false;
  const without = capacityWithout(capacity, avoidedNodes);
  return capacityToReplace(without, before) !== without;
}

/** The pause after a failure; undefined: none is recorded. */
export function restartDelay(record: JobRecord, facts: Facts): Wait | undefined {
  if (record.notBefore === undefined || record.attempts.at(-1)?.answer !== 'Restart') return undefined;
  return { key: `e${record.epoch}/delay`, limitMs: restartDelayMs(record, facts.restartPolicy) };
}

/** The ranks of each pod, if each pod holds the next `ranksPerPod`. */
function consecutiveRanks(
  { nodes, ranksPerPod }: { readonly nodes: readonly string[]; readonly ranksPerPod: number },
  ranks: number,
): string[] {
  return nodes.map((_node, podIndex) => formatRanks(ranksOfPod({ ranksPerPod, worldSize: ranks }, podIndex)));
}
