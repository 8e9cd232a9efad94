/** Which labels of a node are worth keeping, where every node of a large cluster is held in memory? */
import { type FabricOverride, NODE_LABELS } from '@coxswain/api-types';
import { FABRIC_LABELS } from './dialects.ts';
import type { NodeFacts } from './fabric.ts';

/** Feature discovery writes some 150; a kubelet may write as many as its Node object holds. At most 200 kB are kept, 20 kB as a rule. */
const MOST_LABELS = 512;

const OF_FABRIC: ReadonlySet<string> = new Set([
  ...FABRIC_LABELS.switchDialects.flatMap(({ tiers, roots }) => [...tiers.flat(), ...roots]),
  ...FABRIC_LABELS.placeLabels,
  ...FABRIC_LABELS.nvlinkDomainKeys,
  ...FABRIC_LABELS.nvlinkSubDomainKeys,
  ...FABRIC_LABELS.gpuTypeKeys,
  ...FABRIC_LABELS.nicTypeKeys,
  ...Object.values(NODE_LABELS),
]);

/** For readers that also match node selectors: all labels of a usual node. Of nodes with too many, labels of the fabric are kept before others. */
export function withBoundedLabels(facts: NodeFacts): NodeFacts {
  const keys = Object.keys(facts.labels);
  if (keys.length <= MOST_LABELS) return facts;
  const kept = [...keys.filter((key) => OF_FABRIC.has(key)), ...keys.filter((key) => !OF_FABRIC.has(key))];
  return withLabels(facts, kept.slice(0, MOST_LABELS));
}

/** For pictures of the fabric: only the labels of the fabric, and those of `alsoKeys`. */
export function withFabricLabels(facts: NodeFacts, alsoKeys: ReadonlySet<string>): NodeFacts {
  return withLabels(
    facts,
    Object.keys(facts.labels).filter((key) => OF_FABRIC.has(key) || alsoKeys.has(key)),
  );
}

/** Labels that overrides choose nodes by. */
export function selectedKeys(
  overrides: readonly Pick<FabricOverride, 'nodeSelector' | 'nodes'>[],
): ReadonlySet<string> {
  return new Set(overrides.flatMap(({ nodeSelector = {} }) => Object.keys(nodeSelector)));
}

function withLabels(facts: NodeFacts, keys: readonly string[]): NodeFacts {
  return { ...facts, labels: Object.fromEntries(keys.map((key) => [key, facts.labels[key] ?? ''])) };
}

/** Whether two looks at a node say the same. A node says that it lives every few seconds; only what decisions look at is a change. */
export function areSameFacts(one: NodeFacts, other: NodeFacts): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
