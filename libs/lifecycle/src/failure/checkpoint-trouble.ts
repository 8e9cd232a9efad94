/** Is a checkpoint condemned, and by which evidence? */
import {
  type CheckpointEvidence,
  type CheckpointFaultOnNode,
  type CheckpointResourceStatus,
  describeFault,
  MAX_FAULTS_OF_ATTEMPT,
  type Attempt,
  type TerminationCause,
} from '@coxswain/api-types';
import { type Facts, placementOf } from '../observation/facts.ts';
import { podsOf } from '../observation/gang.ts';
import { fenceOf, resumedFromOf } from '../observation/incarnation.ts';
import type { JobRecord } from '../record/job-record.ts';
import type { Avoidance } from './avoided-nodes.ts';

/** Why a checkpoint must not be used, with the evidence. */
export type Condemnation = NonNullable<CheckpointResourceStatus['condemnation']>;

/** The faults that the attempt's launchers and engines reported for the checkpoint that they loaded, one per node and kind. */
export function checkpointFaultsOf(facts: Facts, attempt: Attempt): readonly CheckpointFaultOnNode[] {
  if (attempt.resumedFrom === undefined) return [];
  const found = new Map(attempt.checkpointFaults?.map((fault) => [`${fault.node} ${fault.kind}`, fault]));
  for (const { exit, nodeName, podIndex } of podsOf(facts, attempt.epoch)) {
    const { cause } = exit ?? {};
    const fault = isOfSameCheckpoint(cause, attempt) ? cause?.checkpointFault : undefined;
    if (cause === undefined || fault === undefined || !CHECKPOINT_KINDS.includes(cause.kind)) continue;
    // The pod's node according to the cluster, not according to the pod.
    const node = nodeName ?? placementOf(facts, attempt.epoch)?.spec.nodes[podIndex] ?? cause.node;
    const key = `${node} ${fault.kind}`;
    if (!found.has(key) && found.size < MAX_FAULTS_OF_ATTEMPT) found.set(key, { node, ...fault });
  }
  return [...found.values()];
}

/** The checkpoint that the ended incarnation loaded, or the newest incarnation if the cause names none; undefined: none. */
export function checkpointLoadedBy(cause: TerminationCause | undefined, attempt: Attempt): string | undefined {
  const { incarnation } = fenceOf(cause?.epoch === attempt.epoch ? cause : attempt);
  return resumedFromOf(attempt, incarnation)?.checkpoint;
}

/** Whether the cause is about the checkpoint that the attempt's newest incarnation began from. */
export function isOfSameCheckpoint(cause: TerminationCause | undefined, attempt: Attempt): boolean {
  if (cause?.epoch !== attempt.epoch) return false;
  const loaded = checkpointLoadedBy(cause, attempt);
  return loaded !== undefined && loaded === attempt.resumedFrom?.checkpoint;
}

/**
 * Nodes to avoid: those that could not read the checkpoint, unless they are most of the gang. In that case the fault is not theirs. Also a single
 * node that read different content, so that a second node is tried.
 */
export function nodesToAvoid(facts: Facts, { epoch, checkpointFaults = [] }: Attempt): readonly Avoidance[] {
  const nodesOf = (isMeant: (kind: CheckpointFaultOnNode['kind']) => boolean): readonly string[] => [
    ...new Set(checkpointFaults.flatMap(({ kind, node }) => (isMeant(kind) ? [node] : []))),
  ];
  const differing = nodesOf((kind) => kind === 'ContentDiffers');
  const unable = nodesOf((kind) => kind !== 'ContentDiffers');
  const gangNodes = placementOf(facts, epoch)?.spec.nodes.length ?? 0;
  const areMost = unable.length > 1 && unable.length * 2 > gangNodes;
  return [
    { nodes: areMost ? [] : unable, reason: 'CheckpointIoError', epoch },
    { nodes: differing.length > 1 ? [] : differing, reason: 'ContentDiffers', epoch },
  ];
}

const CHECKPOINT_KINDS: readonly string[] = ['checkpointUnreadable', 'checkpointIoError'];

/**
 * The condemned checkpoints, by name. One node condemns nothing, because its memory, cache or mount may be faulty. Different content
 * condemns a checkpoint if two nodes report it. An unreadable file condemns it if two nodes report it in two attempts, because two nodes of
 * one attempt may have met the same short disturbance. A broken mount condemns nothing, and neither does an engine that refuses a
 * checkpoint without saying what differs. A gang that trained on from a checkpoint clears it of earlier reports.
 */
export function condemnedCheckpoints(record: JobRecord): ReadonlyMap<string, Condemnation> {
  const condemned = new Map<string, Condemnation>();
  for (const name of new Set(record.attempts.flatMap(({ resumedFrom }) => resumedFrom?.checkpoint ?? []))) {
    const condemnation = condemnationBy(evidenceAgainst(record, name));
    if (condemnation !== undefined) condemned.set(name, condemnation);
  }
  return condemned;
}

/** A run of the ranks that began from a checkpoint, and the faults that it reported. */
interface Try extends Pick<Attempt, 'epoch' | 'resumedFrom' | 'lastStep'> {
  readonly faults: readonly CheckpointFaultOnNode[];
}

function evidenceAgainst({ attempts }: JobRecord, checkpoint: string): readonly CheckpointEvidence[] {
  const tries = attempts.flatMap(triesOf).filter(({ resumedFrom }) => resumedFrom?.checkpoint === checkpoint);
  return tries
    .slice(tries.findLastIndex(hasLoaded) + 1)
    .flatMap(({ epoch, faults }) => faults.map((fault) => ({ epoch, ...fault })));
}

/** Splits an attempt into its runs. Faults belong to the newest incarnation; earlier ones have trained, or reported none. */
function triesOf({ epoch, incarnations = [], resumedFrom, lastStep, checkpointFaults = [] }: Attempt): readonly Try[] {
  const ended = incarnations.map((one) => ({
    epoch,
    resumedFrom: one.resumedFrom,
    lastStep: one.lastStep,
    faults: [],
  }));
  return [...ended, { epoch, resumedFrom, lastStep, faults: checkpointFaults }];
}

function hasLoaded({ resumedFrom, lastStep = 0, faults }: Try): boolean {
  return faults.length === 0 && resumedFrom !== undefined && lastStep > resumedFrom.step;
}

function condemnationBy(evidence: readonly CheckpointEvidence[]): Condemnation | undefined {
  const [differing, ...others] = evidence.filter(({ kind }) => kind === 'ContentDiffers');
  const another = others.find(({ node }) => node !== differing?.node);
  if (differing !== undefined && another !== undefined) return { by: 'Content', evidence: [differing, another] };
  const unreadable = evidence.filter(({ kind }) => kind !== 'MountBroken');
  for (const first of unreadable) {
    const second = unreadable.find(({ node, epoch }) => node !== first.node && epoch !== first.epoch);
    if (second !== undefined) return { by: 'TwoNodes', evidence: [first, second] };
  }
  return undefined;
}

/** `its content is not what was saved: epoch 3 on node-a: /c/a has 7 bytes, not 8 bytes` */
export function describeCondemnation({ by, evidence }: Condemnation): string {
  const why = by === 'Content' ? 'its content is not what was saved' : 'two nodes could not read it';
  const findings = evidence.map(({ epoch, node, ...fault }) => `attempt ${epoch} on ${node}: ${describeFault(fault)}`);
  return `${why}: ${findings.join('; ')}`;
}
