import { areSameFacts, factsOfNode, type NodeFacts, withBoundedLabels } from '@coxswain/fabric';
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
    facts: withBoundedLabels(factsOfNode(node)),
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

export function sameFacts(one: CachedNode, other: CachedNode): boolean {
  return areSameFacts(one.facts, other.facts);
}
