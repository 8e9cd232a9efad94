import { NODE_LABELS } from '@coxswain/api-types';
import { FABRIC_LABELS, factsOfNode, type NodeFacts } from '@coxswain/fabric';
import type { KubeObject } from '@coxswain/kube';

/** What the operator keeps of a Node. */
export interface CachedNode extends KubeObject {
  readonly facts: NodeFacts;
  /** Which boot of which Node object this is, as far as its kubelet said; another one means another start of the machine. */
  readonly bootId: string;
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
    facts: { ...facts, labels: bounded(facts.labels) },
  };
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
