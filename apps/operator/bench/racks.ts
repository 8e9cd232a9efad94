/** Racks that are NVLink domains below leaf and spine switches, and in how many of them a gang runs. */
import { API_GROUP_VERSION, FABRIC_NAME, LABELS } from '@coxswain/api-types';
import { isAlreadyExists, type KubeObject } from '@coxswain/kube';
import { fewestPlaces, topographLabels, type Place } from '../src/testing/scattered-nodes.ts';
import type { BenchCluster } from './bench-cluster.ts';
import { podsOf } from './strangers.ts';

const FABRICS = `/apis/${API_GROUP_VERSION}/fabrics`;

/** A cluster of racks of equally many nodes. */
export interface RackCluster {
  readonly racks: number;
  readonly nodesPerRack: number;
  readonly racksPerSpine: number;
  /** Nodes of each rack that are kept free for gangs whose nodes fail. */
  readonly spares: number;
}

/** Where each node is, by its name. */
export type Places = ReadonlyMap<string, Place>;

/** Places of the nodes in the order of their indices, rack after rack. */
export function placesOf({ racks, nodesPerRack, racksPerSpine }: RackCluster): readonly Place[] {
  return Array.from({ length: racks * nodesPerRack }, (_, index) => {
    const rack = Math.floor(index / nodesPerRack);
    return { rack: `rack-${rack}`, block: `spine-${Math.floor(rack / racksPerSpine)}` };
  });
}

/** Labels of a node of that place, as topograph (0.x) writes them: NVLink domain, leaf, spine, core. */
export function rackLabels(place: Place): Readonly<Record<string, string>> {
  return { ...topographLabels(place), 'network.topology.nvidia.com/accelerator': `nvl-${place.rack}` };
}

/** Simulated nodes of the cluster and a Fabric that keeps the spares of each rack free. */
export async function makeRacks(cluster: BenchCluster, racks: RackCluster, namePrefix: string): Promise<Places> {
  const places = placesOf(racks);
  const labels = (index: number): Readonly<Record<string, string>> => {
    const place = places[index];
    return place === undefined ? {} : rackLabels(place);
  };
  const names = await cluster.addNodes({ nodes: places.length, namePrefix, labels });
  await stateReserve(cluster, racks.spares);
  return new Map(names.flatMap((name, index) => (places[index] === undefined ? [] : [[name, places[index]] as const])));
}

/** Nodes of each NVLink domain that the Fabric keeps free; 0: none. */
export async function stateReserve(cluster: BenchCluster, nodesPerNvlinkDomain: number): Promise<void> {
  const spec = { reserve: nodesPerNvlinkDomain === 0 ? null : { nodesPerNvlinkDomain } };
  const fabric = { apiVersion: API_GROUP_VERSION, kind: 'Fabric', metadata: { name: FABRIC_NAME }, spec: {} };
  // The operator makes it too, when it first starts.
  await cluster.client.create(FABRICS, fabric).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
  await cluster.client.patch(`${FABRICS}/${FABRIC_NAME}`, { spec }, { type: 'merge' });
}

/** The fewest racks of the fewest spines that can hold the gang beside the spares, where `taken` nodes are taken. */
export function fewestRacks(
  places: Places,
  { pods, spares, taken = new Set() }: { pods: number; spares: number; taken?: ReadonlySet<string> },
): number {
  const free = [...places].filter(([name]) => !taken.has(name)).map(([, place]) => place);
  const open = [...Map.groupBy(free, ({ rack }) => rack).values()].flatMap((rack) => rack.slice(spares));
  return fewestPlaces(open, pods).racks;
}

/** Nodes of the first `racks` racks change places: of each rack one node goes to each of the others, so that no rack keeps its nodes. */
export function dealtAnew(places: Places, racks: number): Places {
  const [...entries] = places;
  const inRacks = [...Map.groupBy(entries, ([, { rack }]) => rack).values()].slice(0, racks);
  const dealt = inRacks.flatMap((members, rack) =>
    members.map(([name, place], index) => {
      const [target] = inRacks[(rack + index) % inRacks.length] ?? [];
      return [name, target?.[1] ?? place] as const;
    }),
  );
  return new Map([...entries, ...dealt]);
}

/** The node of each pod of that attempt. Throws unless the scheduler bound the pods as they were placed. */
export async function boundNodes(cluster: BenchCluster, namespace: string, epoch: number): Promise<readonly string[]> {
  const { spec } = await cluster.readPlacement(namespace, epoch);
  const { items } = await cluster.client.list<BoundPod>(podsOf(namespace), {
    labelSelector: `${LABELS.epoch}=${epoch}`,
  });
  const bound = items.map(({ spec: { nodeName = 'none' } }) => nodeName).toSorted();
  if (bound.join() !== spec.nodes.toSorted().join())
    throw new Error(`pods of attempt ${epoch} run on other nodes than they were placed on`);
  return spec.nodes;
}

/** In how many racks these nodes are. */
export function racksOf(nodes: readonly string[], places: Places): number {
  return new Set(nodes.map((node) => places.get(node)?.rack)).size;
}

interface BoundPod extends KubeObject {
  readonly spec: { readonly nodeName?: string };
}
