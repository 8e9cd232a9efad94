/** Is a checkpoint usable, suspect or damaged, and by which evidence? */
import {
  type Attempt,
  type Checkpoint,
  type CheckpointEvidence,
  type CheckpointFaultOnNode,
  type CheckpointResourceStatus,
  type CheckpointSuspicion,
  describeFault,
  MAX_EVIDENCE,
  type PassedOverCheckpoint,
} from '@coxswain/api-types';
import type { JobRecord } from '../record/job-record.ts';

/** Why a checkpoint must not be used, with the evidence. */
export type Condemnation = NonNullable<CheckpointResourceStatus['condemnation']>;

/** What is known against a checkpoint. */
export type CheckpointStanding =
  | { readonly kind: 'usable' }
  /** `isPassedOver`: it could not be read so often that an older one is tried. */
  | { readonly kind: 'suspect'; readonly suspicion: CheckpointSuspicion; readonly isPassedOver: boolean }
  /** `condemnation` is absent if a user, or a release that recorded none, has marked it. */
  | { readonly kind: 'damaged'; readonly condemnation?: Condemnation };

/** The standing of a checkpoint by its name and its object's status; undefined: its object was not observed. */
export type Standings = (name: string, status?: CheckpointResourceStatus) => CheckpointStanding;

/** A run of the ranks that began from a checkpoint, or a launcher that verified it. */
interface Try {
  readonly epoch: number;
  readonly faults: readonly CheckpointFaultOnNode[];
  /** The run trained on from the checkpoint, or the launcher found it well. */
  readonly isGood: boolean;
  /** The engine could not load it, and nothing was reported about the files. */
  readonly isRefused: boolean;
}

const USABLE: CheckpointStanding = { kind: 'usable' };

/**
 * The standing of each checkpoint by the attempts that status records and by the findings that its object keeps. A file that cannot be read makes a
 * checkpoint suspect, however many nodes report it: storage may be away. Content that differs condemns it if two nodes report it, because the memory,
 * cache or mount of one may be faulty. A gang that trained on from a checkpoint, or a launcher that verified it, refutes earlier findings.
 */
export function standingsOf(record: JobRecord): Standings {
  const tries = triesByName(record.attempts);
  return (name, status) => {
    // Files can be missing, whatever was found before.
    if (status?.deletion !== undefined) return { kind: 'damaged' };
    const ofName = tries.get(name) ?? [];
    const isUnmarked = status?.state !== 'Damaged' && status?.suspect === undefined;
    if (ofName.length === 0 && isUnmarked) return USABLE;
    return standing(ofName, status, record.resumeFrom?.from === name ? record.resumeFrom.epoch : undefined);
  };
}

/** The standing of an observed checkpoint. */
export function standingOf({ metadata, status }: Checkpoint, standings: Standings): CheckpointStanding {
  return standings(metadata.name, status);
}

/** `namedIn`: the attempt that answered a user's request for this checkpoint. */
function standing(
  tries: readonly Try[],
  status: CheckpointResourceStatus | undefined,
  namedIn: number | undefined,
): CheckpointStanding {
  const lastGood = tries.findLastIndex(({ isGood }) => isGood);
  const goodIn = tries[lastGood]?.epoch ?? -1;
  const later = tries.slice(lastGood + 1);
  // A condemnation beside another state is what a user left who corrected the state.
  const kept = (status?.state === 'Damaged' ? status.condemnation : status?.suspect)?.evidence ?? [];
  const evidence = merged([
    ...kept.filter(({ epoch }) => epoch > goodIn),
    ...later.flatMap(({ epoch, faults }) => faults.map((fault) => ({ epoch, ...fault }))),
  ]);
  const condemnation = condemnationBy(evidence);
  if (condemnation !== undefined) return { kind: 'damaged', condemnation };
  const wasPassedOver = status?.condemnation?.by === 'TwoNodes' && status.state === 'Damaged';
  if (status?.state === 'Damaged' && !wasPassedOver && !isTakenBack(kept, { goodIn, namedIn })) {
    return { kind: 'damaged', ...(status.condemnation === undefined ? {} : { condemnation: status.condemnation }) };
  }
  const wasRefused = lastGood < 0 && status?.suspect?.reason === 'EngineRefused';
  const isRefused = wasRefused || later.some((one) => one.isRefused);
  if (evidence.length === 0 && !isRefused) return USABLE;
  return {
    kind: 'suspect',
    suspicion: { reason: suspicionBy(evidence, isRefused), evidence: strongest(evidence) },
    isPassedOver: isPassedOver(evidence),
  };
}

/** Whether a run trained from the condemned checkpoint after the last finding, or as a user asked. */
function isTakenBack(
  kept: readonly CheckpointEvidence[],
  { goodIn, namedIn }: { readonly goodIn: number; readonly namedIn: number | undefined },
): boolean {
  if (namedIn !== undefined && goodIn >= namedIn) return true;
  return kept.length > 0 && kept.every(({ epoch }) => epoch < goodIn);
}

function triesByName(attempts: readonly Attempt[]): ReadonlyMap<string, readonly Try[]> {
  const tries = new Map<string, Try[]>();
  for (const [name, one] of attempts.flatMap(triesOf)) tries.set(name, [...(tries.get(name) ?? []), one]);
  return tries;
}

/** Splits an attempt into its runs. Faults belong to the newest incarnation; earlier ones have trained, or reported none. */
function triesOf(attempt: Attempt): readonly (readonly [string, Try])[] {
  const { epoch, incarnations = [], checkpointFaults: faults = [], reason, verifiedCheckpoint } = attempt;
  const tries: (readonly [string, Try])[] = [];
  for (const run of incarnations) {
    // Ranks that began from memory have not read the checkpoint.
    if (run.resumedFrom === undefined || run.memorySave !== undefined) continue;
    tries.push([run.resumedFrom.checkpoint, { epoch, faults: [], isGood: hasTrained(run), isRefused: false }]);
  }
  if (attempt.resumedFrom !== undefined && attempt.memorySave === undefined) {
    const isRefused = isCheckpointReason(reason) && faults.length === 0 && verifiedCheckpoint === undefined;
    const isGood = faults.length === 0 && hasTrained(attempt);
    tries.push([attempt.resumedFrom.checkpoint, { epoch, faults, isGood, isRefused }]);
  }
  if (verifiedCheckpoint !== undefined) {
    tries.push([verifiedCheckpoint, { epoch, faults: [], isGood: true, isRefused: false }]);
  }
  return tries;
}

/** Whether the run got beyond its checkpoint. */
function hasTrained({
  resumedFrom,
  lastStep = 0,
  firstStep,
}: Pick<Attempt, 'resumedFrom' | 'lastStep' | 'firstStep'>): boolean {
  return resumedFrom !== undefined && Math.max(lastStep, firstStep?.step ?? 0) > resumedFrom.step;
}

/** Whether the attempt ended because of the checkpoint that it resumed from. */
export function isCheckpointReason(reason: Attempt['reason']): boolean {
  return reason === 'CheckpointUnreadable' || reason === 'CheckpointIoError';
}

/** Each finding once, oldest first. */
function merged(findings: readonly CheckpointEvidence[]): readonly CheckpointEvidence[] {
  const known = new Map<string, CheckpointEvidence>();
  for (const finding of findings) {
    const key = `${finding.epoch} ${finding.node} ${finding.kind}`;
    if (!known.has(key)) known.set(key, finding);
  }
  return [...known.values()].toSorted((one, other) => one.epoch - other.epoch);
}

const BY_WEIGHT: readonly CheckpointEvidence['kind'][] = ['ContentDiffers', 'FileUnreadable', 'MountBroken'];

/** As many findings as an object keeps. */
function strongest(evidence: readonly CheckpointEvidence[]): CheckpointEvidence[] {
  return evidence
    .toSorted((one, other) => BY_WEIGHT.indexOf(one.kind) - BY_WEIGHT.indexOf(other.kind))
    .slice(0, MAX_EVIDENCE);
}

function suspicionBy(evidence: readonly CheckpointEvidence[], isRefused: boolean): CheckpointSuspicion['reason'] {
  if (evidence.some(({ kind }) => kind === 'ContentDiffers')) return 'ContentDiffers';
  if (evidence.some(({ kind }) => kind === 'FileUnreadable')) return 'Unreadable';
  return isRefused ? 'EngineRefused' : 'StorageUnavailable';
}

function condemnationBy(evidence: readonly CheckpointEvidence[]): Condemnation | undefined {
  const [differing, ...others] = evidence.filter(({ kind }) => kind === 'ContentDiffers');
  const another = others.find(({ node }) => node !== differing?.node);
  if (differing === undefined || another === undefined) return undefined;
  return { by: 'Content', evidence: [differing, another] };
}

/** Attempts in which one node alone cannot read a file, after which an older checkpoint is tried. */
const ATTEMPTS_OF_ONE_NODE = 3;

/**
 * Whether two nodes could not read it, in two attempts: two nodes of one attempt may have met the same short disturbance. Where no second node is available,
 * whether one could not in three. A mount that does not work counts for nothing, because an older checkpoint could not be read either.
 */
function isPassedOver(evidence: readonly CheckpointEvidence[]): boolean {
  const unreadable = evidence.filter(({ kind }) => kind !== 'MountBroken');
  const byTwo = unreadable.some((first) =>
    unreadable.some(({ node, epoch }) => node !== first.node && epoch !== first.epoch),
  );
  const epochs = evidence.flatMap(({ kind, epoch }) => (kind === 'FileUnreadable' ? [epoch] : []));
  return byTwo || new Set(epochs).size >= ATTEMPTS_OF_ONE_NODE;
}

/** `its content is not what was saved: attempt 3 on node-a: /c/a has 7 bytes, not 8 bytes` */
export function describeCondemnation({ by, evidence }: Condemnation): string {
  const why = by === 'Content' ? 'its content is not what was saved' : 'two nodes could not read it';
  return `${why}: ${describeEvidence(evidence)}`;
}

/** `two nodes could not read it: attempt 3 on node-a: /c/a cannot be read (EIO), though its mount works; ...` */
export function describeSuspicion({ reason, evidence }: CheckpointSuspicion, isPassedOver: boolean): string {
  if (evidence.length === 0) return 'the engine could not load it and does not say what differs';
  const { size: nodes } = new Set(evidence.flatMap(({ kind, node }) => (kind === 'MountBroken' ? [] : [node])));
  const often = nodes > 1 ? 'two nodes could not read it' : 'it could not be read in several attempts';
  const why = isPassedOver ? often : SUSPICION_SENTENCES[reason];
  return `${why}: ${describeEvidence(evidence.slice(0, SHOWN_FINDINGS))}`;
}

/** Which newer step an attempt does not begin from, why, and when it is used again. */
export function describePassedOver({ checkpoint, step, why }: PassedOverCheckpoint): string {
  return `Step ${step} (checkpoint ${checkpoint}) is passed over, because ${why}. It is verified before the ranks start, and used if it verifies.`;
}

const SHOWN_FINDINGS = 2;
const SUSPICION_SENTENCES: Readonly<Record<CheckpointSuspicion['reason'], string>> = {
  ContentDiffers: 'one node found other content',
  Unreadable: 'it could not be read',
  EngineRefused: 'the engine could not load it and does not say what differs',
  StorageUnavailable: 'its claim could not be read',
};

function describeEvidence(evidence: readonly CheckpointEvidence[]): string {
  return evidence.map(({ epoch, node, ...fault }) => `attempt ${epoch} on ${node}: ${describeFault(fault)}`).join('; ');
}
