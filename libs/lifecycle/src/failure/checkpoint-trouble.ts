/** What did the launchers of an attempt report of the checkpoint that they were to load? */
import {
  type Attempt,
  type AttemptReason,
  type CheckpointFaultOnNode,
  MAX_FAULTS_OF_ATTEMPT,
  memberCount,
  type TerminationCause,
} from '@coxswain/api-types';
import { type Facts, placementOf } from '../observation/facts.ts';
import { podsOf } from '../observation/gang.ts';
import { fenceOf, resumedFromOf } from '../observation/incarnation.ts';
import type { Avoidance } from './avoided-nodes.ts';

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

/** The suspect checkpoint that a launcher of the attempt verified; undefined: none. A name that the attempt did not pass over does not count. */
export function verifiedCheckpointOf(facts: Facts, attempt: Attempt): string | undefined {
  const wanted = new Set(attempt.passedOver?.map(({ checkpoint }) => checkpoint));
  const causes = podsOf(facts, attempt.epoch).flatMap(({ exit }) => exit?.cause ?? []);
  return causes.find((cause) => isOfSameCheckpoint(cause, attempt) && wanted.has(cause.verifiedCheckpoint ?? ''))
    ?.verifiedCheckpoint;
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
 * Nodes to avoid: those that could not read the checkpoint, unless they are most of the gang or a bucket did not answer: then the fault is not theirs. Also a
 * single node that read different content, so that a second node is tried.
 */
export function nodesToAvoid(facts: Facts, { epoch, checkpointFaults = [] }: Attempt): readonly Avoidance[] {
  const nodesOf = (isMeant: (kind: CheckpointFaultOnNode['kind']) => boolean): readonly string[] => [
    ...new Set(checkpointFaults.flatMap(({ kind, node }) => (isMeant(kind) ? [node] : []))),
  ];
  const differing = nodesOf((kind) => kind === 'ContentDiffers');
  const isAnswerMissing = (kind: CheckpointFaultOnNode['kind']): boolean =>
    kind === 'MountBroken' && isOfBucket(facts, 'CheckpointIoError');
  const unable = nodesOf((kind) => kind !== 'ContentDiffers' && !isAnswerMissing(kind));
  const placement = placementOf(facts, epoch)?.spec;
  const gangNodes = placement === undefined ? 0 : memberCount(placement);
  const areMost = unable.length > 1 && unable.length * 2 > gangNodes;
  return [
    { nodes: areMost ? [] : unable, reason: 'CheckpointIoError', epoch },
    { nodes: differing.length > 1 ? [] : differing, reason: 'ContentDiffers', epoch },
  ];
}

/** Whether an attempt ended because a bucket could not be read. It is the same for every node. */
export function isOfBucket({ spec }: Pick<Facts, 'spec'>, reason: AttemptReason): boolean {
  return reason === 'CheckpointIoError' && spec?.checkpoint?.bucket !== undefined;
}

const CHECKPOINT_KINDS: readonly string[] = ['checkpointUnreadable', 'checkpointIoError'];
