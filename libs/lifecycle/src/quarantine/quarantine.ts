/**
 * Which faulty nodes are kept from every job? The decision is written as a taint on the Node, with its evidence in an annotation. So it
 * outlives every operator, and an administrator who removes the taint overrules that evidence.
 */
import { type AvoidedNode, type AvoidedNodeReason, CRASH_CLASSES, NODE_MARKS } from '@coxswain/api-types';
import { classifyCrash, type NodeCondition } from '@coxswain/health';
import { safeText } from '@coxswain/safe-text';
import { z } from 'zod';

/** A node to be judged. */
export interface JudgedNode {
  readonly name: string;
  readonly gpus: number;
  /** The node's boot ID. */
  readonly bootId: string;
  readonly conditions: readonly NodeCondition[];
  /** Whether the node has our taint. */
  readonly isQuarantined: boolean;
  /** Value of our annotation; absent: there is none. */
  readonly note?: string | undefined;
}

/** The nodes that a job avoids according to its status, and the job's name. */
export interface Witness {
  readonly namespace: string;
  readonly job: string;
  readonly avoided: readonly AvoidedNode[];
}

/** How evidence begins that is a condition of the Node. */
const CONDITION = 'condition ';
/** Entries of evidence in a note. It bounds what is shown: whether a node is quarantined again never depends on it. */
const MAX_EVIDENCE = 16;

/** The evidence on the Node beside the taint, as JSON. */
export const QuarantineNote = z.object({
  since: z.string().max(64),
  bootId: z.string().max(128),
  /** The evidence, one entry per occurrence, conditions first. */
  evidence: z.array(z.string().max(512)).max(MAX_EVIDENCE),
  /** When the operator saw that a person had removed the taint. What was known by then does not count again within this boot. */
  overruledAt: z.string().max(64).optional(),
});
/** See {@link QuarantineNote}, the schema. */
export type QuarantineNote = z.infer<typeof QuarantineNote>;

/** What to do to a Node, after a live read of it. */
export type QuarantineAction =
  | { readonly kind: 'quarantine'; readonly node: string; readonly note: QuarantineNote }
  /** A person removed the taint: the note records when. */
  | { readonly kind: 'overrule'; readonly node: string; readonly note: QuarantineNote }
  /** The node was rebooted or replaced since its quarantine. */
  | { readonly kind: 'release'; readonly node: string };

/** What to do to the nodes now. */
export interface Judgement {
  readonly actions: readonly QuarantineAction[];
  /** Nodes that would be quarantined if the limit were not reached. */
  readonly heldBack: readonly string[];
}

/** Largest share of GPU nodes in quarantine, at least one node. If more nodes are faulty at once, a common cause is likelier. */
export const MOST_QUARANTINED_SHARE = 0.1;

/**
 * Reasons that count as the node's own fault. Slow or unreachable nodes, and nodes named by users' rules, are avoided by the reporting job
 * alone.
 */
const OF_THE_NODE: readonly AvoidedNodeReason[] = ['Condemned', 'PreflightFailed'];

/** Number of namespaces whose jobs must agree. One tenant owns all jobs of its namespace, and its ranks may report false evidence. */
const WITNESSES = 2;

/** Which evidence quarantines a node. */
export const QUARANTINE_MODES = {
  Off: 'None: existing taints of Coxswain stay as they are.',
  Conditions: 'Conditions of the Node which state that its hardware or system is at fault; node monitors write them.',
  ConditionsAndJobs:
    'Conditions, and jobs of two namespaces that failed on the same boot of the node. A tenant with two namespaces counts twice.',
} as const satisfies Record<string, string>;
/** Which evidence quarantines a node. */
export type QuarantineMode = keyof typeof QUARANTINE_MODES;

/** Decides which nodes to quarantine or release. Pure: equal arguments give an equal result. */
export function judgeQuarantine(nodes: readonly JudgedNode[], witnesses: readonly Witness[], now: Date): Judgement {
  const withGpus = nodes.filter(({ gpus }) => gpus > 0);
  const released = nodes.filter((node) => node.isQuarantined && isAnotherBoot(node)).map(({ name }) => name);
  const staying = nodes.filter((node) => node.isQuarantined && !released.includes(node.name)).length;
  const testimonies = testimonyByNode(witnesses);
  const free = withGpus.filter(({ isQuarantined }) => !isQuarantined);
  const overruled = free.filter(isOverruledUnrecorded);
  const ill = free
    .filter((node) => !overruled.includes(node))
    .flatMap((node) => illness(node, testimonies.get(node.name) ?? [], now) ?? [])
    .toSorted((one, other) => (one.node < other.node ? -1 : 1));
  const room = Math.max(0, Math.max(1, Math.floor(withGpus.length * MOST_QUARANTINED_SHARE)) - staying);
  return {
    actions: [
      ...released.map((node) => ({ kind: 'release' as const, node })),
      ...overruled.map((node) => overrule(node, now)),
      ...ill.slice(0, room),
    ],
    heldBack: ill.slice(room).map(({ node }) => node),
  };
}

/** Whether the action still applies to the Node as it was just read. */
export function isStillDue(action: QuarantineAction, node: JudgedNode): boolean {
  if (action.kind === 'release') return node.isQuarantined && isAnotherBoot(node);
  if (node.isQuarantined || node.bootId !== action.note.bootId) return false;
  // A person who removes the taint after the judgement has the last word.
  return isOverruledUnrecorded(node) === (action.kind === 'overrule');
}

/** The note of a Node; undefined: there is none, or it cannot be read. */
export function noteOf({ note }: Pick<JudgedNode, 'note'>): QuarantineNote | undefined {
  if (note === undefined) return undefined;
  try {
    return QuarantineNote.safeParse(JSON.parse(note)).data;
  } catch {
    return undefined;
  }
}

/** Whether the node has rebooted since its note. Without a note the taint was set by hand, and it has to be removed by hand. */
function isAnotherBoot(node: JudgedNode): boolean {
  const note = noteOf(node);
  return note !== undefined && note.bootId !== node.bootId;
}

/** Whether a person removed the taint of this boot's quarantine, and the note does not say so yet. */
function isOverruledUnrecorded(node: JudgedNode): boolean {
  const note = noteOf(node);
  return !node.isQuarantined && note?.bootId === node.bootId && note.overruledAt === undefined;
}

/** Records that the quarantine was overruled, with the node's conditions of now: they are known as well. */
function overrule(node: JudgedNode, now: Date): QuarantineAction {
  const { since = now.toISOString(), bootId = node.bootId, evidence = [] } = noteOf(node) ?? {};
  const known = [...new Set([...conditionsOf(node), ...evidence])].slice(0, MAX_EVIDENCE);
  return {
    kind: 'overrule',
    node: node.name,
    note: { since, bootId, evidence: known, overruledAt: now.toISOString() },
  };
}

function illness(
  node: JudgedNode,
  testimonies: readonly Testimony[],
  now: Date,
): Extract<QuarantineAction, { kind: 'quarantine' }> | undefined {
  const note = noteOf(node);
  const before = note?.bootId === node.bootId ? note : undefined;
  const conditions = conditionsOf(node).filter((condition) => !isKnown(condition, before));
  const jobs = testimonyOf(node, testimonies.filter(isLaterThan(before?.overruledAt)));
  if (conditions.length + jobs.length === 0) return undefined;
  const all = [...conditions, ...(before?.evidence ?? []), ...jobs].slice(0, MAX_EVIDENCE);
  return {
    kind: 'quarantine',
    node: node.name,
    note: { since: now.toISOString(), bootId: node.bootId, evidence: all },
  };
}

/** Whether the note has the condition. A note full of conditions has no room to say more, so it knows them all. */
function isKnown(condition: string, note: QuarantineNote | undefined): boolean {
  const evidence = note?.evidence ?? [];
  const isFull = evidence.length === MAX_EVIDENCE && evidence.every((one) => one.startsWith(CONDITION));
  return isFull || evidence.includes(condition);
}

/** Whether a job's testimony is from after the time; all are where there is no time. */
function isLaterThan(time: string | undefined): (testimony: Testimony) => boolean {
  return ({ since }) => time === undefined || Date.parse(since) > Date.parse(time);
}

/**
 * Conditions of the Node that show a fault of its hardware or system. They need no second witness, because node monitors write them and
 * tenants cannot.
 */
function conditionsOf({ conditions }: JudgedNode): readonly string[] {
  return conditions.flatMap((condition) => {
    if (PRESSURES.includes(condition.type)) return [];
    const { class: name, evidence } = classifyCrash({ lastLines: [], nodeConditions: [condition] });
    const isNodes = name !== 'Unknown' && name !== 'MaintenanceDue' && CRASH_CLASSES[name].blame === 'node';
    return isNodes ? [safeText(`${CONDITION}${condition.type}: ${evidence}`, 400)] : [];
  });
}

/** Conditions that pods may cause. */
const PRESSURES: readonly string[] = ['NetworkUnavailable', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

interface Testimony extends AvoidedNode {
  readonly namespace: string;
  readonly job: string;
}

function testimonyByNode(witnesses: readonly Witness[]): ReadonlyMap<string, readonly Testimony[]> {
  const all = witnesses.flatMap(({ namespace, job, avoided }) =>
    avoided.filter(({ reason }) => OF_THE_NODE.includes(reason)).map((entry) => ({ ...entry, namespace, job })),
  );
  return Map.groupBy(all, ({ node }) => node);
}

/** Evidence from jobs of two namespaces that avoid this boot of the node; none if fewer do. */
function testimonyOf({ bootId }: JudgedNode, testimonies: readonly Testimony[]): readonly string[] {
  const ofThisBoot = testimonies.filter((one) => one.bootId === bootId);
  if (new Set(ofThisBoot.map(({ namespace }) => namespace)).size < WITNESSES) return [];
  return ofThisBoot
    .map(({ namespace, job, reason, since }) => `job ${namespace}/${job}: ${reason} at ${since}`)
    .toSorted();
}

/** The taint of quarantined nodes. It keeps new pods away; running pods continue. */
export const QUARANTINE_TAINT = { key: NODE_MARKS.quarantine, value: 'ill', effect: 'NoSchedule' } as const;
