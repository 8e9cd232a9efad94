import { NODE_LABELS } from '@coxswain/api-types';
import { FABRIC_LABELS, factsOfNode, type NodeFacts } from '@coxswain/fabric';
import type { NodeCondition } from '@coxswain/health';
import type { KubeObject } from '@coxswain/kube';
import { cutText } from '@coxswain/safe-text';

/** What the operator keeps of a Node. */
export interface CachedNode extends KubeObject {
  readonly facts: NodeFacts;
  /** Which boot of which Node object this is, as far as its kubelet said; another one means another start of the machine. */
  readonly bootId: string;
  /** Conditions that are True, without Ready: what a failure there may have come of. */
  readonly conditions: readonly NodeCondition[];
}

/** The part of a Node that is kept; never throws, whatever is not of the expected shape counts as absent. */
export function toCachedNode(node: KubeObject): CachedNode {
  const { name, uid, resourceVersion } = node.metadata;
  const facts = factsOfNode(node);
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
    conditions: conditionsOf((node as { status?: { conditions?: unknown } | null }).status?.conditions),
    facts: { ...facts, labels: bounded(facts.labels) },
  };
}

/** A healthy node has none; whoever watches GPUs adds some twenty, of which few hold at a time. */
const MOST_CONDITIONS = 16;
const MAX_MESSAGE_CHARACTERS = 512;

function conditionsOf(raw: unknown): readonly NodeCondition[] {
  const all: readonly unknown[] = Array.isArray(raw) ? raw : [];
  const held = all.flatMap((one): readonly NodeCondition[] => {
    const { type, status, message } = (one ?? {}) as { type?: unknown; status?: unknown; message?: unknown };
    if (typeof type !== 'string' || status !== 'True' || type === 'Ready') return [];
    const said = typeof message === 'string' ? { message: cutText(message, MAX_MESSAGE_CHARACTERS) } : {};
    return [{ type: type.slice(0, 316), status, ...said }];
  });
  return held.slice(0, MOST_CONDITIONS);
}

/** A kubelet that reports no boot still has a Node of its own. */
function bootIdOf(uid: string | undefined, boot: unknown): string {
  return (typeof boot === 'string' && boot !== '' ? boot : (uid ?? '')).slice(0, 128);
}

/** Feature discovery writes some 150; a kubelet may write as many as its Node object holds. At most 200 kB are kept, 20 kB as a rule. */
const MOST_LABELS = 512;
const OF_FABRIC: ReadonlySet<string> = new Set([
  ...FABRIC_LABELS.switchDialects.flatMap(({ tiers }) => tiers.flat()),
  ...FABRIC_LABELS.placeLabels,
  ...FABRIC_LABELS.nvlinkDomainKeys,
  ...FABRIC_LABELS.nvlinkSubDomainKeys,
  ...FABRIC_LABELS.gpuTypeKeys,
  ...FABRIC_LABELS.nicTypeKeys,
  ...Object.values(NODE_LABELS),
]);

/** Those that say where the node sits before all others, for what nobody reads may go. */
function bounded(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const keys = Object.keys(labels);
  if (keys.length <= MOST_LABELS) return labels;
  const kept = [...keys.filter((key) => OF_FABRIC.has(key)), ...keys.filter((key) => !OF_FABRIC.has(key))];
  return Object.fromEntries(kept.slice(0, MOST_LABELS).map((key) => [key, labels[key] ?? '']));
}

/** A node says that it lives every few seconds; only what decisions look at is a change. */
export function sameFacts(one: CachedNode, other: CachedNode): boolean {
  return JSON.stringify(one.facts) === JSON.stringify(other.facts);
}
