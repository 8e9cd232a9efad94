import type { ForecastInput, ForecastNode, RestedTime, RunningGang } from './forecast-input.ts';

/** What a gang holds of one node. */
interface Holder {
  readonly gang: RunningGang;
  readonly gpus: number;
}

/** Nodes that one gang holds alone, by count. */
interface HeldAlone {
  readonly end: RestedTime;
  /** Nodes that are empty once the gang has ended. */
  nodes: number;
  /** GPUs that its end adds to those of partly taken nodes. */
  gpus: number;
}

/** A node that several gangs share. */
export interface SharedNode {
  readonly node: ForecastNode;
  readonly holders: readonly Holder[];
}

/** Who holds the GPUs of one type, the same for every assumption about ends. */
export interface Occupancy {
  readonly gpusPerNode: number;
  /** Empty nodes now, and free GPUs of partly taken nodes. */
  readonly nodes: number;
  readonly gpus: number;
  readonly heldAlone: readonly HeldAlone[];
  readonly shared: readonly SharedNode[];
}

/** Who holds what, by type of GPU. */
export function occupancyOf({ nodes, running, otherUse = new Map() }: ForecastInput): ReadonlyMap<string, Occupancy> {
  const holders = new Map<string, Holder[]>();
  for (const gang of running) {
    for (const { node, gpus } of gang.pods) {
      const others = holders.get(node);
      if (others === undefined) holders.set(node, [{ gang, gpus }]);
      else others.push({ gang, gpus });
    }
  }
  return new Map(
    [...Map.groupBy(nodes, ({ type }) => type)].map(([type, ofType]) => [
      type,
      occupancyOfType(ofType, holders, otherUse.get(type) ?? 0),
    ]),
  );
}

function occupancyOfType(
  ofType: readonly ForecastNode[],
  holders: ReadonlyMap<string, readonly Holder[]>,
  otherGpus: number,
): Occupancy {
  const gpusPerNode = ofType.reduce((most, { gpus }) => Math.max(most, gpus), 1);
  const heldAlone = new Map<RunningGang, HeldAlone>();
  const shared: SharedNode[] = [];
  let [nodes, gpus] = [0, 0];
  for (const node of ofType) {
    const held = holders.get(node.name);
    const isWhole = node.gpus === gpusPerNode;
    if (held === undefined) {
      if (isWhole) nodes += 1;
      else gpus += node.gpus;
      continue;
    }
    const free = freeOn(node, held);
    gpus += free;
    const gang = onlyGang(held);
    if (gang === undefined) {
      shared.push({ node, holders: held });
      continue;
    }
    const known = heldAlone.get(gang) ?? { end: gang.end, nodes: 0, gpus: 0 };
    heldAlone.set(gang, known);
    if (isWhole) known.nodes += 1;
    known.gpus += isWhole ? -free : node.gpus - free;
  }
  return {
    gpusPerNode,
    ...withoutOthers({ nodes, gpus, gpusPerNode }, otherGpus),
    heldAlone: [...heldAlone.values()],
    shared,
  };
}

/** GPUs of the node that none of them holds. */
export function freeOn({ gpus }: ForecastNode, held: readonly Holder[]): number {
  let free = gpus;
  for (const holder of held) free -= holder.gpus;
  return Math.max(0, free);
}

function onlyGang(held: readonly Holder[]): RunningGang | undefined {
  const gang = held[0]?.gang;
  return held.every((holder) => holder.gang === gang) ? gang : undefined;
}

/** Pods of other owners are on unknown nodes: they are taken to fill nodes that are in use before empty ones. */
function withoutOthers(
  free: { readonly nodes: number; readonly gpus: number; readonly gpusPerNode: number },
  otherGpus: number,
): { readonly nodes: number; readonly gpus: number } {
  const ofEmpty = Math.max(0, otherGpus - free.gpus);
  const nodes = Math.min(free.nodes, Math.ceil(ofEmpty / free.gpusPerNode));
  return { nodes: free.nodes - nodes, gpus: Math.max(0, free.gpus + nodes * free.gpusPerNode - otherGpus) };
}
