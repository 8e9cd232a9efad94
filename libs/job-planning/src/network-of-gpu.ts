/** What does each GPU of a node have of the network between nodes? */
import type { FabricNode } from '@coxswain/fabric';
import { NIC_KINDS, type PlanIsland } from '@coxswain/planner';

/** Gb/s of a label in the GB/s of the planner. */
export const GBPS_PER_GB_PER_S = 8;

/** The planner's name for a class of NICs. */
export function nicKindOf(nicType: string): NonNullable<PlanIsland['nicKind']> {
  return NIC_KINDS.find((known) => known === nicType.toLowerCase()) ?? 'other';
}

/**
 * GB/s per GPU; undefined where nobody says how fast a NIC is, and of a node whose GPUs are not there yet. GPUs share NICs where there are fewer of them, and a node that does not say how many it has
 * has one per GPU. More than that are functions of one port that several pods share, but on EFA, where a GPU sends over several cards.
 */
export function scaleOutGbPerSOf({
  nicType,
  nicSpeedGbps,
  nicCount,
  gpus,
}: Pick<FabricNode, 'nicType' | 'nicSpeedGbps' | 'nicCount' | 'gpus'>): number | undefined {
  if (nicSpeedGbps === undefined || gpus === 0) return undefined;
  const perGpu = (nicCount ?? gpus) / gpus;
  const used = nicKindOf(nicType ?? '') === 'efa' ? perGpu : Math.min(1, perGpu);
  return (nicSpeedGbps * used) / GBPS_PER_GB_PER_S;
}
