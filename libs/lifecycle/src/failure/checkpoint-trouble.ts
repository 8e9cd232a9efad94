/** What is known against a checkpoint: is it condemned, and by whose evidence? */
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

export type Condemnation = NonNullable<CheckpointResourceStatus['condemnation']>;

/** What the attempt's launchers and engines have told of the checkpoint that they were to load, one of each node and kind. */
export function checkpointFaultsOf(facts: Facts, attempt: Attempt): readonly CheckpointFaultOnNode[] {
  if (attempt.resumedFrom === undefined) return [];
  const found = new Map(attempt.checkpointFaults?.map((fault) => [`${fault.node} ${fault.kind}`, fault]));
  for (const { exit, nodeName, podIndex } of podsOf(facts, attempt.epoch)) {
    const { cause } = exit ?? {};
    const fault = isOfSameCheckpoint(cause, attempt) ? cause?.checkpointFault : undefined;
    if (cause === undefined || fault === undefined || !TELLING_KINDS.includes(cause.kind)) continue;
    // The pod's node as the cluster knows it, not as the pod says.
    const node = nodeName ?? placementOf(facts, attempt.epoch)?.spec.nodes[podIndex] ?? cause.node;
    const key = `${node} ${fault.kind}`;
    if (!found.has(key) && found.size < MAX_FAULTS_OF_ATTEMPT) found.set(key, { node, ...fault });
  }
  return [...found.values()];
}

/** Checkpoint that the incarnation which ended so was to load, the newest where it does not say which; undefined: none. */
export function checkpointLoadedBy(cause: TerminationCause | undefined, attempt: Attempt): string | undefined {
  const { incarnation } = fenceOf(cause?.epoch === attempt.epoch ? cause : attempt);
  return resumedFromOf(attempt, incarnation)?.checkpoint;
}

/** Whether what the cause says of a checkpoint is about the one that the attempt's newest incarnation began from. */
export function isOfSameCheckpoint(cause: TerminationCause | undefined, attempt: Attempt): boolean {
  if (cause?.epoch !== attempt.epoch) return false;
  const loaded = checkpointLoadedBy(cause, attempt);
  return loaded !== undefined && loaded === attempt.resumedFrom?.checkpoint;
}

/**
 * The nodes that could not read the checkpoint, unless they are most of the gang: what most nodes meet is no fault of theirs. And the one that
 * alone read other content than was saved, so that a second one is asked.
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

const TELLING_KINDS: readonly string[] = ['checkpointUnreadable', 'checkpointIoError'];

/**
 * The checkpoints that attempts have condemned, by name. Nothing is condemned by one node: its memory or its cache may be bad, or its mount.
 * Content that differs condemns when two nodes say so. A file that cannot be read condemns when two nodes say so in two attempts: two in one
 * attempt may have met the same short trouble. A mount that does not work condemns nothing, and neither does an engine that refuses a
 * checkpoint without saying what differs. A gang that has trained on from a checkpoint disproves what was said of it before.
 */
export function condemnedCheckpoints(record: JobRecord): ReadonlyMap<string, Condemnation> {
  const condemned = new Map<string, Condemnation>();
  for (const name of new Set(record.attempts.flatMap(({ resumedFrom }) => resumedFrom?.checkpoint ?? []))) {
    const condemnation = condemnationBy(evidenceAgainst(record, name));
    if (condemnation !== undefined) condemned.set(name, condemnation);
  }
  return condemned;
}

/** A run of the ranks that began from a checkpoint, and what was said of that. */
interface Try extends Pick<Attempt, 'epoch' | 'resumedFrom' | 'lastStep'> {
  readonly faults: readonly CheckpointFaultOnNode[];
}

function evidenceAgainst({ attempts }: JobRecord, checkpoint: string): readonly CheckpointEvidence[] {
  const tries = attempts.flatMap(triesOf).filter(({ resumedFrom }) => resumedFrom?.checkpoint === checkpoint);
  return tries
    .slice(tries.findLastIndex(hasLoaded) + 1)
    .flatMap(({ epoch, faults }) => faults.map((fault) => ({ epoch, ...fault })));
}

/** What an attempt tells of a checkpoint is of the one that its newest incarnation began from; those before it have trained, or told nothing. */
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
  const looks = evidence.map(({ epoch, node, ...fault }) => `epoch ${epoch} on ${node}: ${describeFault(fault)}`);
  return `${why}: ${looks.join('; ')}`;
}
