import { type FabricOverride, NODE_LABELS } from '@coxswain/api-types';
import type { NodeFacts } from './fabric.ts';

/** The node with what an administrator says of it, before whatever its labels say. The same object where nothing is said. */
export function withOverrides(node: NodeFacts, overrides: readonly FabricOverride[]): NodeFacts {
  const labels: Record<string, string> = {};
  for (const override of overrides) if (isMeant(node, override)) Object.assign(labels, asLabels(override));
  return Object.keys(labels).length === 0 ? node : { ...node, overrides: labels };
}

/** Whether the names and labels of an entry in the Fabric's spec select the node. */
export function isMeant(
  node: Pick<NodeFacts, 'name' | 'labels'>,
  { nodes, nodeSelector = {} }: Pick<FabricOverride, 'nodes' | 'nodeSelector'>,
): boolean {
  const selects = Object.entries(nodeSelector);
  if (nodes === undefined && selects.length === 0) return false;
  return (nodes?.includes(node.name) ?? true) && selects.every(([key, value]) => node.labels[key] === value);
}

/** In the words of our own labels, which are believed first. */
function asLabels(override: FabricOverride): Readonly<Record<string, string>> {
  const { nvlinkDomain, island, nicType, nicSpeedGbps, nicCount, gpuType, switches = [] } = override;
  const labels: Readonly<Record<string, string | number | undefined>> = {
    [NODE_LABELS.nvlinkDomain]: nvlinkDomain,
    [NODE_LABELS.nicIsland]: island,
    [NODE_LABELS.nicType]: nicType,
    [NODE_LABELS.nicSpeedGbps]: nicSpeedGbps,
    [NODE_LABELS.nicCount]: nicCount,
    [NODE_LABELS.gpuType]: gpuType,
    ...Object.fromEntries(switches.map((name, tier) => [`${NODE_LABELS.switchTierPrefix}${tier}`, name])),
  };
  return Object.fromEntries(
    Object.entries(labels).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]])),
  );
}
