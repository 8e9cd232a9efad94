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
import { type Facts, placementOf } from '../look/facts.ts';
import { podsOf } from '../look/gang.ts';
import { fenceOf, resumedFromOf } from '../look/incarnation.ts';
import type { JobRecord } from '../record/job-record.ts';

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

/** The nodes that could not read the checkpoint, unless they are most of the gang: what most nodes meet is no fault of theirs. */
export function nodesToAvoid(facts: Facts, { epoch, checkpointFaults = [] }: Attempt): readonly string[] {
  const nodes = new Set(checkpointFaults.flatMap(({ kind, node }) => (kind === 'ContentDiffers' ? [] : [node])));
  const gangNodes = placementOf(facts, epoch)?.spec.nodes.length ?? 0;
  return nodes.size > 1 && nodes.size * 2 > gangNodes ? [] : [...nodes];
}

const TELLING_KINDS: readonly string[] = ['checkpointUnreadable', 'checkpointIoError'];

/**
 * The checkpoints that attempts have condemned, by name. Content condemns by one look. A file that cannot be read condemns when two nodes say so
 * in two attempts: one of them alone may have a bad mount, and two in one attempt may have met the same short trouble. A mount that does not
 * work condemns nothing, and neither does an engine that refuses a checkpoint without saying what differs.
 */
export function condemnedCheckpoints(record: JobRecord): ReadonlyMap<string, Condemnation> {
  const condemned = new Map<string, Condemnation>();
  for (const name of new Set(record.attempts.flatMap(({ resumedFrom }) => resumedFrom?.checkpoint ?? []))) {
    const condemnation = condemnationBy(evidenceAgainst(record, name));
    if (condemnation !== undefined) condemned.set(name, condemnation);
  }
  return condemned;
}

function evidenceAgainst({ attempts }: JobRecord, checkpoint: string): readonly CheckpointEvidence[] {
  return attempts
    .filter(({ resumedFrom }) => resumedFrom?.checkpoint === checkpoint)
    .flatMap(({ epoch, checkpointFaults }) => (checkpointFaults ?? []).map((fault) => ({ epoch, ...fault })));
}

function condemnationBy(evidence: readonly CheckpointEvidence[]): Condemnation | undefined {
  const differing = evidence.find(({ kind }) => kind === 'ContentDiffers');
  if (differing !== undefined) return { by: 'Content', evidence: [differing] };
  const unreadable = evidence.filter(({ kind }) => kind === 'FileUnreadable');
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
