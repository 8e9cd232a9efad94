import type { ParallelLayout } from '@coxswain/layout';
import type { FabricCapacity } from './fabric.ts';

/** A gang to be placed. */
export interface GangRequest {
  readonly layout: ParallelLayout;
  /** Ranks per pod; default: as many as the nodes have GPUs, at most the world size. */
  readonly gpusPerNode?: number;
}

/**
 * waiting: an empty cluster would hold it; unsatisfiable: not even an empty one would. Messages name counts and what to change.
 * Pod `i` goes to `nodes[i]` and holds the ranks `[i * ranksPerPod, (i + 1) * ranksPerPod)`, the last one perhaps fewer.
 */
export type PlacementOutcome =
  | { readonly kind: 'placed'; readonly nodes: readonly string[]; readonly ranksPerPod: number }
  | { readonly kind: 'waiting'; readonly message: string }
  | { readonly kind: 'unsatisfiable'; readonly message: string };

/** Nodes for every rank of the gang. Deterministic, whatever the order of the fabric's nodes. */
export function placeGang(request: GangRequest, capacity: FabricCapacity): PlacementOutcome {
  void request;
  void capacity;
  return { kind: 'waiting', message: '' };
}
