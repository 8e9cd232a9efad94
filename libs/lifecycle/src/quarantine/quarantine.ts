/**
 * Which nodes are kept from every job, because they were seen to be ill? What is decided here is written as a taint on the Node, with the evidence in an annotation beside it:
 * so it outlives every operator, and whoever takes the taint away has the last word on that evidence.
 */
import { type AvoidedNode, type AvoidedNodeReason, CRASH_CLASSES, NODE_MARKS } from '@coxswain/api-types';
import { classifyCrash, type NodeCondition } from '@coxswain/health';
import { safeText } from '@coxswain/safe-text';
import { z } from 'zod';

/** A node as it is judged. */
export interface JudgedNode {
  readonly name: string;
  readonly gpus: number;
  /** Which boot of which Node this is. */
  readonly bootId: string;
  readonly conditions: readonly NodeCondition[];
  /** It carries our taint. */
  readonly isQuarantined: boolean;
  /** What stands in our annotation; absent where there is none. */
  readonly note?: string | undefined;
}

/** What a job's status says of nodes that it avoids, and whose job it is. */
export interface Witness {
  readonly namespace: string;
  readonly job: string;
  readonly avoided: readonly AvoidedNode[];
}

/** What is written on the Node beside the taint, as JSON. */
export const QuarantineNote = z.object({
  since: z.string().max(64),
  bootId: z.string().max(128),
  /** What showed it, each told apart from others of its kind; none of it counts again in this boot. */
  evidence: z.array(z.string().max(512)).max(16),
});
export type QuarantineNote = z.infer<typeof QuarantineNote>;

/** What is to be done to a Node, on a live read of it. */
export type QuarantineAction =
  | { readonly kind: 'quarantine'; readonly node: string; readonly note: QuarantineNote }
  /** It was booted again or replaced since. */
  | { readonly kind: 'release'; readonly node: string };

export interface Judgement {
  readonly actions: readonly QuarantineAction[];
  /** Nodes that would be quarantined if not so many were already. */
  readonly heldBack: readonly string[];
}

/** Of the nodes with GPUs, and one at least. If more are ill at once, the likelier cause is none of theirs. */
export const MOST_QUARANTINED_SHARE = 0.1;

/** What jobs saw of a node that is the node's own doing. What came of its being slow or out of reach, and what users' rules say, is left to their own memory. */
const OF_THE_NODE: readonly AvoidedNodeReason[] = ['Condemned', 'PreflightFailed'];

/** Jobs of so many namespaces: whoever owns one owns all its jobs, and what ranks tell of each other may be a lie. */
const WITNESSES = 2;

/** Whose word keeps a node from every job. */
export const QUARANTINE_MODES = {
  Off: 'Nobody’s: taints of ours stay as they are.',
  Conditions:
    'That of whoever watches nodes: a condition of the Node that says that its hardware or system is at fault.',
  ConditionsAndJobs:
    'That, and of jobs of two namespaces that were held up by the same boot of it. Who owns two namespaces has two voices.',
} as const satisfies Record<string, string>;
export type QuarantineMode = keyof typeof QUARANTINE_MODES;

/** The same nodes, witnesses and moment give the same answer. */
export function judgeQuarantine(nodes: readonly JudgedNode[], witnesses: readonly Witness[], now: Date): Judgement {
  const withGpus = nodes.filter(({ gpus }) => gpus > 0);
  const released = nodes.filter((node) => node.isQuarantined && isAnotherBoot(node)).map(({ name }) => name);
  const staying = nodes.filter((node) => node.isQuarantined && !released.includes(node.name)).length;
  const said = saidOf(witnesses);
  const ill = withGpus
    .filter(({ isQuarantined }) => !isQuarantined)
    .flatMap((node) => illness(node, said.get(node.name) ?? [], now) ?? [])
    .toSorted((one, other) => (one.node < other.node ? -1 : 1));
  const room = Math.max(0, Math.max(1, Math.floor(withGpus.length * MOST_QUARANTINED_SHARE)) - staying);
  return {
    actions: [...released.map((node) => ({ kind: 'release' as const, node })), ...ill.slice(0, room)],
    heldBack: ill.slice(room).map(({ node }) => node),
  };
}

/** Whether that action is still right of the Node as it was just read. */
export function isStillDue(action: QuarantineAction, node: JudgedNode): boolean {
  return action.kind === 'release'
    ? node.isQuarantined && isAnotherBoot(node)
    : !node.isQuarantined && node.bootId === action.note.bootId;
}

/** The note of a Node; undefined where there is none that can be read. */
export function noteOf({ note }: Pick<JudgedNode, 'note'>): QuarantineNote | undefined {
  if (note === undefined) return undefined;
  try {
    return QuarantineNote.safeParse(JSON.parse(note)).data;
  } catch {
    return undefined;
  }
}

/** Without a note nobody knows which boot was meant: whoever tainted it by hand takes the taint away by hand. */
function isAnotherBoot(node: JudgedNode): boolean {
  const note = noteOf(node);
  return note !== undefined && note.bootId !== node.bootId;
}

function illness(
  node: JudgedNode,
  said: readonly Said[],
  now: Date,
): Extract<QuarantineAction, { kind: 'quarantine' }> | undefined {
  const before = noteOf(node);
  // Somebody took the taint away: what was known then counts no more, as long as the machine is the same.
  const known = new Set(before?.bootId === node.bootId ? before.evidence : []);
  const evidence = [...conditionsOf(node), ...testimonyOf(node, said)].filter((one) => !known.has(one));
  if (evidence.length === 0) return undefined;
  const all = [...known, ...evidence].slice(-16);
  return {
    kind: 'quarantine',
    node: node.name,
    note: { since: now.toISOString(), bootId: node.bootId, evidence: all },
  };
}

/** Its own condition, of those that say that its hardware or system is at fault, needs no second witness: who watches nodes writes it, and tenants cannot. */
function conditionsOf({ conditions }: JudgedNode): readonly string[] {
  return conditions.flatMap((condition) => {
    if (PRESSURES.includes(condition.type)) return [];
    const { class: name, evidence } = classifyCrash({ lastLines: [], nodeConditions: [condition] });
    const isNodes = name !== 'Unknown' && name !== 'MaintenanceDue' && CRASH_CLASSES[name].blame === 'node';
    return isNodes ? [safeText(`condition ${condition.type}: ${evidence}`, 400)] : [];
  });
}

/** They may come of what pods do. */
const PRESSURES: readonly string[] = ['NetworkUnavailable', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

interface Said extends AvoidedNode {
  readonly namespace: string;
  readonly job: string;
}

function saidOf(witnesses: readonly Witness[]): ReadonlyMap<string, readonly Said[]> {
  const all = witnesses.flatMap(({ namespace, job, avoided }) =>
    avoided.filter(({ reason }) => OF_THE_NODE.includes(reason)).map((entry) => ({ ...entry, namespace, job })),
  );
  return Map.groupBy(all, ({ node }) => node);
}

/** Jobs of two namespaces that avoid this very boot of it. */
function testimonyOf({ bootId }: JudgedNode, said: readonly Said[]): readonly string[] {
  const ofThisBoot = said.filter((one) => one.bootId === bootId);
  if (new Set(ofThisBoot.map(({ namespace }) => namespace)).size < WITNESSES) return [];
  return ofThisBoot
    .map(({ namespace, job, reason, since }) => `job ${namespace}/${job}: ${reason} at ${since}`)
    .toSorted();
}

/** The taint that keeps new pods away; what runs goes on. */
export const QUARANTINE_TAINT = { key: NODE_MARKS.quarantine, value: 'ill', effect: 'NoSchedule' } as const;
