import { areSameFacts, factsOfNode, type NodeFacts, publishedOf, withBoundedLabels } from '@coxswain/fabric';
import { type DisruptionNoticeRule, NODE_MARKS } from '@coxswain/api-types';
import { type NodeCondition, signsOfFailure } from '@coxswain/health';
import type { KubeObject } from '@coxswain/kube';
import { dueNotice, type NodeNotice, type NodeState, NOTICE_RULES, noticesOfNode } from '@coxswain/lifecycle';
import { cutText } from '@coxswain/safe-text';

/** The part of a node that the operator keeps. */
export interface CachedNode extends KubeObject {
  readonly facts: NodeFacts;
  /** Boot ID that the kubelet reported, with the UID of the node; a different value means that the machine was restarted. */
  readonly bootId: string;
  /** Time since when condition Ready is True; absent if it is not True or has no time. */
  readonly readySince?: string;
  /** Conditions that are True, without Ready; they may explain a failure on the node. */
  readonly conditions: readonly NodeCondition[];
  /** The notice that the node is about to go away. */
  readonly notices: readonly NodeNotice[];
  /** Our annotation about its quarantine. */
  readonly quarantineNote?: string;
  /** Our own inferred labels on it; absent if there are none. */
  readonly published?: Readonly<Record<string, string>>;
}

/** Reduces a node to the kept part. Never throws; fields of an unexpected shape count as absent. */
export function toCachedNode(
  node: KubeObject,
  noticeRules: readonly DisruptionNoticeRule[] = NOTICE_RULES,
): CachedNode {
  const { name, uid, resourceVersion } = node.metadata;
  const notices = noticesOfNode(node, noticeRules);
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    bootId: bootIdOf(
      uid,
      (node as { status?: { nodeInfo?: { bootID?: unknown } | null } | null }).status?.nodeInfo?.bootID,
    ),
    conditions: conditionsOf(rawConditionsOf(node)),
    ...readySinceOf(rawConditionsOf(node)),
    notices,
    ...quarantineNoteOf(node),
    ...publishedPartOf(node),
    facts: asAnnounced(withBoundedLabels(factsOfNode(node)), notices),
  };
}

/** As much as is ever written. */
const MAX_NOTE_CHARACTERS = 10_000;

function quarantineNoteOf(node: KubeObject): Pick<CachedNode, 'quarantineNote'> {
  const annotations = (node.metadata as { annotations?: Readonly<Record<string, unknown>> | null }).annotations;
  const note = annotations?.[NODE_MARKS.quarantine];
  return typeof note === 'string' ? { quarantineNote: note.slice(0, MAX_NOTE_CHARACTERS) } : {};
}

function publishedPartOf(node: KubeObject): Pick<CachedNode, 'published'> {
  const published = publishedOf(node.metadata.labels ?? {});
  return Object.keys(published).length === 0 ? {} : { published };
}

/** Of this node, by these notices at that moment; gone: there is none. */
export function nodeStateOf(
  node: CachedNode | undefined,
  now: Date,
  notices: readonly NodeNotice[] = node?.notices ?? [],
): NodeState {
  if (node === undefined) return 'gone';
  if (!node.facts.ready) return 'notReady';
  return dueNotice(notices, now) === undefined ? 'ready' : 'leaving';
}

/** A node that is about to go away takes no more gangs, even if they tolerate its taints. Notices of a future time apply from that time on. */
function asAnnounced(facts: NodeFacts, notices: readonly NodeNotice[]): NodeFacts {
  const goesNow = notices.some(({ beginsAtMs }) => beginsAtMs === undefined);
  return goesNow ? { ...facts, schedulable: false, isCordoned: true } : facts;
}

/** Limit of kept conditions, signs of a failure first. A healthy node has none. GPU monitors add about twenty; few of them are True at a time. */
const MOST_CONDITIONS = 16;
const MAX_MESSAGE_CHARACTERS = 512;

function rawConditionsOf(node: KubeObject): readonly unknown[] {
  const raw = (node as { status?: { conditions?: unknown } | null }).status?.conditions;
  return Array.isArray(raw) ? raw : [];
}

/** Longer than any time is. */
const MAX_TIME_CHARACTERS = 40;

function readySinceOf(all: readonly unknown[]): Pick<CachedNode, 'readySince'> {
  for (const one of all) {
    const { type, status, lastTransitionTime } = (one ?? {}) as Readonly<Record<string, unknown>>;
    if (type !== 'Ready' || status !== 'True' || typeof lastTransitionTime !== 'string') continue;
    return { readySince: lastTransitionTime.slice(0, MAX_TIME_CHARACTERS) };
  }
  return {};
}

function conditionsOf(all: readonly unknown[]): readonly NodeCondition[] {
  const held = all.flatMap((one): readonly NodeCondition[] => {
    const { type, status, message } = (one ?? {}) as { type?: unknown; status?: unknown; message?: unknown };
    if (typeof type !== 'string' || status !== 'True' || type === 'Ready') return [];
    const detail = typeof message === 'string' ? { message: cutText(message, MAX_MESSAGE_CHARACTERS) } : {};
    return [{ type: type.slice(0, 316), status, ...detail }];
  });
  const signs = new Set(signsOfFailure(held).map(({ type }) => type));
  const isSign = ({ type }: NodeCondition): number => (signs.has(type) ? 0 : 1);
  return held.toSorted((one, other) => isSign(one) - isSign(other)).slice(0, MOST_CONDITIONS);
}

/** A kubelet that reports no boot still has a Node of its own. */
function bootIdOf(uid: string | undefined, boot: unknown): string {
  return (typeof boot === 'string' && boot !== '' ? boot : (uid ?? '')).slice(0, 128);
}

/** Whether two versions of a node have the same facts for placement. */
export function sameFacts(one: CachedNode, other: CachedNode): boolean {
  return areSameFacts(one.facts, other.facts) && JSON.stringify(one.notices) === JSON.stringify(other.notices);
}

/** Whether the conditions show the same faults. Pressure conditions change often and are ignored. */
export function sameFaults(one: CachedNode, other: CachedNode): boolean {
  const signs = ({ conditions }: CachedNode): string => JSON.stringify(signsOfFailure(conditions));
  return signs(one) === signs(other);
}
